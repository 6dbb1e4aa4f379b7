"""Layout packs: imported record pages, one folder per z/VM release.

A pack is in the user's data folder (`ZLENS_DATA`, else the system's default) and contains record files in the
format of the built-in catalog, plus two more files:

`pack.toml` records what was imported, when, from which pages, and their inconsistencies.

`user.toml` has the user's settings for fields, which take precedence over the page and the catalog. A new
pack has one with comments that explain its format; zlens never writes it again, and further imports preserve
it. `apply_user_settings` applies it after a change. The imported version of a record that it changes is under
`imported/`.

A pack is changed by building the new one next to it and exchanging the folders, so an interrupted import
leaves the old pack unchanged.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from zlens.catalog import layouts, user_roles
from zlens.catalog.layouts import DIRECTIONS, KINDS, MonitorField, MonitorSection, RecordFile, RecordLayout
from zlens.errors import CatalogError
from zlens.record_pages import record_file_writer
from zlens.schema import document
from zlens.schema.toml import line_of

PACK_FILE = "pack.toml"
USER_FILE = "user.toml"
IMPORTED = "imported"
_RELEASE = re.compile(r"(?:z/?VM\s*)?V?(\d{1,2})(?:\.|R)(\d{1,2})(?:\.\d{1,2})?", re.IGNORECASE)
_USER_TEMPLATE = """\
# Your settings where this pack's pages leave something open; they take precedence over pages and catalog.
# After a change: zlens catalog import --release {release}
# (with no pages named). Importing pages again keeps this file and applies it.
#
# The kind of a field: record and full field name, then any of these.
#
#     [D0R2.SYTPRP_PFXNEW]
#     kind = "counter"        # counter, timer, sampled, gauge, identifier, text, flags, time or unknown
#     direction = "up"        # of a counter or timer: up, down or learn
#     unit = "count"          # such as count, bytes, pages, us, tod (4096 are one microsecond), ebcdic, hex
#     text = "description"
#
# The subject of a record, if the catalog does not have it: counters are differenced only within one subject.
#
#     [D6R99]
#     subject = ["IODNEW_RDEVDEV"]
#     reset_on = []           # fields whose change means that the counters were reset
#     callevel = []           # bits of MTRSYS_CALLEVEL that are on for such records; 0 is the leftmost
#
# The offset of a section's entries: field names or numbers. And the fields that identify its entries.
#
#     [D0R16.section.CPUDATA]
#     offset = "SYTCUP_CALCPUOF"
#     stride = "SYTCUP_CALCPULN"
#     count = "SYTCUP_LCUPCPCT"
#     subject = ["SYTCUP_LCUCPUID"]
#
# The page's name of a field that the catalog has only under a zlens name (ZL...): zlens name = page's
# name. With all fields that the section `counters` of D5R13 needs, its records are joined.
#
#     [D5R13.names]
#     PRCMFC_ZLCPUAD = "PRCMFC_NEWFIELD"
"""
_RECORD = re.compile(r"D\d{1,2}R\d{1,5}")
_FOLDER = re.compile(r"\d{1,2}\.\d{1,2}")
_STAGING = ".new-"
_OLD = ".old-"
#: Maximum bit number of CALLEVEL; layouts name far lower ones.
_MAX_BIT = 511
_MAX_TOML = 4 * 1024 * 1024
_AGAIN = "import the pages again"


class PageEntry(Struct, frozen=True):
    """The result of one record page: a row of `pack.toml`."""

    record: str
    name: str
    file: str
    sha256: str
    when: str
    fields: int
    new: int
    unknown: int
    null: bool = False
    findings: tuple[str, ...] = ()


class LayoutPack(Struct, frozen=True):
    """A pack: its release and its record pages."""

    release: str
    path: Path
    pages: tuple[PageEntry, ...]

    @property
    def records(self) -> list[str]:
        """Ids of the records for which the pack has layouts."""
        return [page.record for page in self.pages if not page.null]

    @property
    def null_records(self) -> list[str]:
        """Ids of the records whose pages state that they are no longer produced."""
        return [page.record for page in self.pages if page.null]


def release_name(text: str) -> str:
    """Return a release as packs are named (7.3), from 7.3, 7.3.0 or V7R3.0."""
    match = _RELEASE.fullmatch(text.strip())
    if match is None:
        raise CatalogError(f"{text[:40]!r} is not a z/VM release", expected="a release such as 7.3")
    return f"{int(match[1])}.{int(match[2])}"


def installed_packs(base: Path | None = None) -> list[LayoutPack]:
    """Return the user's imported packs, oldest release first; other packs have no list of pages."""
    base_folder = layouts.pack_root() if base is None else base
    names = [name for name in layouts.packs(base_folder) if _FOLDER.fullmatch(name)]
    return [load(name, base_folder) for name in names if (base_folder / name / PACK_FILE).is_file()]


def load(release: str, base: Path | None = None) -> LayoutPack:
    """Return a pack with its list of pages."""
    name = release_name(release)
    pack_folder = (layouts.pack_root() if base is None else base) / name
    return LayoutPack(name, pack_folder, _pages(pack_folder))


def _pages(folder: Path) -> tuple[PageEntry, ...]:
    path = folder / PACK_FILE
    data = _toml(path, _AGAIN)
    try:
        return convert(data.get("page", []), tuple[PageEntry, ...])
    except ValidationError as error:
        raise CatalogError(f"an entry is incomplete: {error}", file=str(path), cure=_AGAIN) from error


def save(
    release: str,
    files: Iterable[RecordFile],
    pages: Iterable[PageEntry],
    *,
    base: Path | None = None,
    keep: bool = True,
) -> tuple[Path, list[str]]:
    """Write a pack; returns its folder and the problems in the user's settings.

    With `keep`, records that are not imported now are preserved; otherwise the pack is rebuilt. `user.toml`
    is preserved in either case.
    """
    base_folder = layouts.pack_root() if base is None else base
    name = release_name(release)
    with _locked(base_folder), _staged(base_folder, name, keep) as staging:
        entries: dict[str, PageEntry] = {}
        # If the list of pages is missing or broken, it restarts with the pages imported now.
        with contextlib.suppress(CatalogError):
            entries = {page.record: page for page in _pages(staging)} if keep else {}
        entries |= {page.record: page for page in pages}
        for record in [page.record for page in entries.values() if page.null]:
            _drop(staging, record)
        for file in files:
            _drop(staging, file.head.record)
            record_file_writer.save(file, staging / layouts.file_name(file.head.record))
        ordered = sorted(entries.values(), key=lambda page: layouts.record_key(page.record))
        (staging / PACK_FILE).write_text(_pack_text(name, ordered), encoding="utf-8")
        if not (staging / USER_FILE).exists():
            (staging / USER_FILE).write_text(_USER_TEMPLATE.format(release=name), encoding="utf-8")
        problems = _apply_user(staging)
    with contextlib.suppress(OSError):
        user_roles.write_template(base_folder.parent)
    layouts.clear_cache()
    return base_folder / name, problems


def apply_user_settings(release: str, base: Path | None = None) -> list[str]:
    """Apply a changed `user.toml`; returns its problems, one sentence each."""
    base_folder = layouts.pack_root() if base is None else base
    name = release_name(release)
    if not (base_folder / name).is_dir():
        message = f"there is no pack for {name}"
        raise CatalogError(message, file=str(base_folder / name), cure="import its pages first")
    with _locked(base_folder), _staged(base_folder, name, keep=True) as staging:
        problems = _apply_user(staging)
    layouts.clear_cache()
    return problems


def _drop(folder: Path, record: str) -> None:
    for path in (folder / layouts.file_name(record), folder / IMPORTED / layouts.file_name(record)):
        path.unlink(missing_ok=True)


def _pack_text(release: str, pages: list[PageEntry]) -> str:
    used = [page for page in pages if not page.null]
    counts = {
        "records": len(used),
        "null_records": len(pages) - len(used),
        "fields": sum(page.fields for page in used),
        "new_fields": sum(page.new for page in used),
        "unknown_kinds": sum(page.unknown for page in used),
        "disagreements": sum(len(page.findings) for page in pages),
    }
    pairs = record_file_writer.pairs
    lines = [
        "# Layouts imported from record pages. Made by `zlens catalog import`; change them in user.toml.",
        *pairs({"release": release, "when": max((page.when for page in pages), default="")}),
        "",
        "[counts]",
        *pairs(counts),
    ]
    for page in pages:
        values = {name: value for name, value in asdict(page).items() if name not in ("null", "findings")}
        lines += ["", "[[page]]", *pairs(values), *(["null = true"] if page.null else [])]
        if page.findings:
            listed = (f"    {record_file_writer.quote(finding)}," for finding in page.findings)
            lines += ["findings = [", *listed, "]"]
    return "\n".join(lines) + "\n"


def _toml(path: Path, cure: str) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CatalogError(f"cannot be read: {error.strerror}", file=str(path), cure=cure) from error
    if len(data) > _MAX_TOML:
        raise CatalogError("is too large", file=str(path), expected=f"at most {_MAX_TOML:,} bytes", cure=cure)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CatalogError(f"is not text: {error}", file=str(path), cure=cure) from error
    return document.parse_toml(text, str(path), cure=cure)


# The user's settings


def _apply_user(folder: Path) -> list[str]:
    """Replace every record file of a pack by the imported one with the user's settings applied.

    Returns the problems in these settings, one sentence each; invalid settings are skipped, the rest applies.
    """
    path = folder / USER_FILE
    user_table = _toml(path, "correct the file or remove it") if path.is_file() else {}
    imported = folder / IMPORTED
    for saved in sorted(imported.glob("*.toml")) if imported.is_dir() else ():
        saved.replace(folder / saved.name)
    problems: list[str] = []
    text = path.read_text(encoding="utf-8") if user_table else ""
    for record, table in user_table.items():
        target = folder / layouts.file_name(record) if _RECORD.fullmatch(record) else None
        if target is None or not target.is_file():
            problems.append(f"{_location(text, record)}the pack has no layout of {record[:40]!r}")
            continue
        if not isinstance(table, dict):
            problems.append(f"{_location(text, record)}{record} is not a table such as [{record}.FIELD]")
            continue
        file = layouts.parse(target.read_text(encoding="utf-8"), path=str(target))
        changed = _UserSettings(record, table, problems, text).record_file(file)
        imported.mkdir(exist_ok=True)
        target.replace(imported / target.name)
        record_file_writer.save(changed, target)
    with contextlib.suppress(OSError):
        imported.rmdir()
    return problems


def _location(text: str, where: str) -> str:
    """Return the location in the user's file: `user.toml:12: `."""
    line = line_of(text, where)
    return f"{USER_FILE}:{line}: " if line is not None else ""


class _UserSettings:
    """The user's settings for one record."""

    def __init__(self, record: str, table: dict[str, Any], wrong: list[str], text: str) -> None:
        self.record = record
        self.wrong = wrong
        self.text = text
        self.lists = {key: self.names(key, table[key]) for key in ("subject", "reset_on") if key in table}
        self.callevel = self.bits(table.get("callevel", []))
        sections = table.get("section", {})
        self.sections = self.tables("section ", sections if isinstance(sections, dict) else {"": sections})
        self.called = self.pairs(table.get("names", {}))
        own_keys = ("subject", "reset_on", "callevel", "section", "names")
        field_tables = {key: value for key, value in table.items() if key not in own_keys}
        self.fields = self.tables("", field_tables)
        self.used: set[str] = set()

    def refuse(self, problem: str, key: str) -> None:
        where = _location(self.text, f"{self.record}.{key}")
        self.wrong.append(f"{where}{self.record}: {problem}")

    def names(self, key: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return tuple(value)
        self.refuse(f"{key} is not a list of field names", key.replace(": ", ".").replace(" ", "."))
        return ()

    def bits(self, value: Any) -> tuple[int, ...] | None:
        """Return bit numbers; None if the list is empty or invalid."""
        if isinstance(value, list) and all(type(bit) is int and 0 <= bit <= _MAX_BIT for bit in value):
            return tuple(value) or None
        self.refuse(f"callevel is not a list of bit numbers up to {_MAX_BIT}", "callevel")
        return None

    def tables(self, prefix: str, tables: dict[str, Any]) -> dict[str, dict[str, Any]]:
        for name, value in tables.items():
            if not isinstance(value, dict):
                self.refuse(f"{prefix}{name} is not a table", prefix.replace(" ", ".") + (name or "section"))
        return {name: value for name, value in tables.items() if isinstance(value, dict)}

    def pairs(self, pairs: Any) -> dict[str, str]:
        if isinstance(pairs, dict) and all(isinstance(name, str) for name in pairs.values()):
            return dict(pairs)
        self.refuse("names is not a table of names", "names")
        return {}

    def record_file(self, file: RecordFile) -> RecordFile:
        if self.called:
            from zlens.record_pages.field_names import add_zlens_names

            layouts = [
                add_zlens_names(layout, self.called, lambda problem: self.refuse(problem, "names"))
                for layout in file.layouts
            ]
            subject = file.subject or (layouts[0].subject if layouts else ())
            file = replace(file, layouts=tuple(layouts), subject=subject)
        changed = tuple(self.layout(layout) for layout in file.layouts)
        for name in (*self.fields, *self.sections):
            if name not in self.used:
                self.refuse(f"there is no field or section {name}", name)
        for key, names in self.lists.items():
            fields = tuple(name for name in names if all(layout.field(name) for layout in changed))
            for name in names:
                if name not in fields:
                    self.refuse(f"{key} names {name}, which is not a field", key)
            file = replace(file, subject=fields) if key == "subject" else replace(file, reset_on=fields)
        return replace(file, layouts=changed)

    def layout(self, layout: RecordLayout) -> RecordLayout:
        return replace(
            layout,
            fields=tuple(self.field(old) for old in layout.fields),
            sections=tuple(self.section(old, layout) for old in layout.sections),
            callevel=layout.callevel if self.callevel is None else self.callevel,
        )

    def field(self, field: MonitorField, *, certain: bool = False) -> MonitorField:
        self.used.add(field.name)
        is_unsure = field.kind in layouts.DIFFERENCED and field.kind_status == "unknown"
        if is_unsure and (certain or self.lists.get("subject")):
            # It was not differenced only because the record's subject was unknown.
            field = replace(field, kind_status="inferred")
        settings = self.fields.get(field.name, {})
        changes = {key: value for key, value in settings.items() if self.allowed(field, key, value)}
        if not changes:
            return field
        changed = replace(field, **changes)
        if "kind" in changes:
            note = f"{field.note}; " if field.note else ""
            changed = replace(
                changed,
                kind_status="unknown" if changed.kind == "unknown" else "stated",
                note=f"{note}kind set by the user, imported as {field.kind}",
            )
        if changed.kind == "timer" and changed.direction is None:
            changed = replace(changed, direction="learn")
        return changed

    def allowed(self, field: MonitorField, key: str, value: Any) -> bool:
        values = {"kind": KINDS, "direction": DIRECTIONS, "unit": (), "text": ()}.get(key)
        if values is None:
            message = f"{field.name}: unknown key {key}; use kind, direction, unit or text"
            self.refuse(message, f"{field.name}.{key}")
        elif not isinstance(value, str) or (values and value not in values):
            expected = f"one of {', '.join(values)}" if values else "a string"
            self.refuse(f"{field.name}: {key} is {value!r}, not {expected}", f"{field.name}.{key}")
        else:
            return True
        return False

    def section(self, section: MonitorSection, layout: RecordLayout) -> MonitorSection:
        self.used.add(section.name)
        changes = dict(self.sections.get(section.name, {}))
        location = f"section {section.name}"
        subject = self.names(f"{location}: subject", changes.pop("subject")) if "subject" in changes else ()
        unknown = [name for name in subject if name not in {field.name for field in section.fields}]
        if unknown:
            message = f"{location}: subject names {unknown[0]}, which is not a field of an entry"
            self.refuse(message, f"section.{section.name}.subject")
            subject = ()
        for key, value in changes.items():
            is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4096
            if key not in ("offset", "stride", "count"):
                problem = f"unknown key {key}; use offset, stride, count or subject"
            elif not is_number and (not isinstance(value, str) or layout.field(value) is None):
                problem = f"{key} is {value!r}, neither a number nor a field of the record"
            else:
                continue
            self.refuse(f"{location}: {problem}", f"section.{section.name}")
            changes = {}
            break
        fields = tuple(self.field(old, certain=bool(subject)) for old in section.fields)
        changed = replace(section, fields=fields, subject=subject or section.subject)
        return replace(changed, **changes, note="offset set by the user") if changes else changed


# Atomic changes of a pack


@contextlib.contextmanager
def _locked(base: Path) -> Iterator[None]:
    """Prevent a second import from changing packs; the system releases the lock of a dead process."""
    try:
        base.mkdir(parents=True, exist_ok=True)
        handle = os.open(base / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _storage_error(base, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        _recover(base)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _staged(base: Path, name: str, keep: bool) -> Iterator[Path]:
    """Yield a copy of a pack to change, which replaces the pack at the end and is removed after an error."""
    target = base / name
    try:
        staging = Path(tempfile.mkdtemp(prefix=f"{_STAGING}{name}-", dir=base))
    except OSError as error:
        raise _storage_error(base, error) from error
    try:
        staging.chmod(0o755)
        if keep and target.is_dir():
            shutil.copytree(target, staging, dirs_exist_ok=True)
        elif (target / USER_FILE).is_file():
            shutil.copy2(target / USER_FILE, staging / USER_FILE)
        yield staging
        _swap_folders(staging, target)
    except OSError as error:
        raise _storage_error(target, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _swap_folders(staging: Path, target: Path) -> None:
    old = target.parent / f"{_OLD}{staging.name.removeprefix(_STAGING)}"
    try:
        if target.exists():
            target.rename(old)
        staging.rename(target)
    except BaseException:
        # After Ctrl-C between the two renames, restore the old pack.
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)


def _recover(base: Path) -> None:
    """Clean up after an import that was killed: restore an old pack without a new one."""
    for path in base.iterdir():
        name = path.name.removeprefix(_OLD).rsplit("-", 1)[0]
        is_old = path.name.startswith(_OLD)
        if is_old and _FOLDER.fullmatch(name) and not (base / name).exists():
            path.rename(base / name)
        elif is_old or path.name.startswith(_STAGING):
            shutil.rmtree(path, ignore_errors=True)


def _storage_error(path: Path, error: OSError) -> CatalogError:
    return CatalogError(
        f"the pack cannot be written: {error.strerror or error}",
        file=str(error.filename or path),
        cure="check the folder's permissions or free space, or name another folder in ZLENS_DATA",
    )
