"""`zlens catalog import`: converts downloaded record pages to a layout pack.

IBM publishes a record page for every monitor record of every z/VM release; the catalog itself contains the
layouts of one old release. Every page is checked for consistency, and inconsistencies are reported. A page
that cannot be used is skipped with the reason; the others are imported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from zlens.catalog import layouts
from zlens.errors import CatalogError
from zlens.record_pages import packs, page_files
from zlens.record_pages import table as page_table
from zlens.record_pages.packs import PageEntry
from zlens.record_pages.page_files import PageFile, Skipped
from zlens.record_pages.page_layout import BuiltLayout, build
from zlens.schema.plain_text import format_count, replace_controls
from zlens.schema.wording import phrase


class ImportReport(Struct, frozen=True):
    """The result of an import. `packs` are the folders written, empty after a dry run."""

    imported: tuple[BuiltLayout, ...]
    skipped: tuple[Skipped, ...]
    packs: tuple[Path, ...]
    user: tuple[str, ...]
    dry_run: bool

    @property
    def release(self) -> str:
        """The imported release, or several separated by commas."""
        return ", ".join(dict.fromkeys(record.release for record in self.imported))

    @property
    def fields(self) -> int:
        """Number of named fields of all records."""
        return sum(record.fields for record in self.imported)

    @property
    def new_fields(self) -> tuple[str, ...]:
        """Fields that were missing from the catalog, as `D0R2 NAME`."""
        return tuple(f"{record.record} {name}" for record in self.imported for name in record.new)

    @property
    def unknown_kinds(self) -> tuple[str, ...]:
        """Fields of unknown kind, as `D0R2 NAME`; they stay raw."""
        return tuple(f"{record.record} {name}" for record in self.imported for name in record.unknown)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Inconsistencies of the pages, as `D0R2: sentence`."""
        return tuple(f"{record.record}: {finding}" for record in self.imported for finding in record.findings)

    def text(self, *, full: bool = False) -> str:
        """Return the report for a terminal; `full` lists everything, otherwise long lists are truncated."""
        return "\n".join(_report(self, None if full else 20)) + "\n"


def import_pages(
    paths: Sequence[Path],
    *,
    release: str | None = None,
    pack_root: Path | None = None,
    dry_run: bool = False,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Import record pages (files, folders or zip archives of them) into the pack of their release.

    `release` is for pages that do not state theirs, and takes precedence over the stated one. Records of the
    pack that are not among the pages are preserved, unless `replace` is set. Without paths, a release applies
    that pack's changed `user.toml`. `progress` is called with the pages read and in total.
    """
    requested_release = None if release is None else packs.release_name(release)
    if not paths:
        if requested_release is None:
            raise CatalogError("no pages are named", expected="saved record pages, folders or zips of them")
        problems = [] if dry_run else packs.apply_user_settings(requested_release, pack_root)
        pack = (pack_root or layouts.pack_root()) / requested_release
        return ImportReport((), (), () if dry_run else (pack,), tuple(problems), dry_run)
    files = page_files.gather(paths)
    with contextlib.closing(files):
        chosen, errors = _read_all(files, requested_release, pack_root, replace, progress)
    skipped = files.skipped
    if not chosen:
        raise _no_pages_error(errors, skipped)
    imported = sorted(chosen, key=lambda built: (built.release, layouts.record_key(built.record)))
    written: list[Path] = []
    user_problems: list[str] = []
    for name in () if dry_run else sorted({built.release for built in imported}):
        of_release = [built for built in chosen if built.release == name]
        files_of_release = [built.file for built in of_release if not built.null]
        entries = map(_entry, of_release)
        path, problems = packs.save(name, files_of_release, entries, base=pack_root, keep=not replace)
        written.append(path)
        user_problems += problems
    return ImportReport(tuple(imported), tuple(skipped), tuple(written), tuple(user_problems), dry_run)


def _read_all(
    files: page_files.PageFiles,
    requested_release: str | None,
    pack_root: Path | None,
    replace: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[BuiltLayout], list[CatalogError]]:
    """Return the page used for each record; files without a usable page are added to the skipped ones."""
    chosen: dict[tuple[str, str], BuiltLayout] = {}
    seen: dict[str, str] = {}
    errors: list[CatalogError] = []
    for done, source in enumerate(files.found):
        if progress:
            progress(done, len(files.found))
        try:
            built = _read(source, requested_release, seen)
            if not replace:
                _no_loss(built, pack_root, source.name)
            previous = chosen.get((built.release, built.record))
            chosen[built.release, built.record] = _choose_longer(built, previous, files.skipped)
        except CatalogError as error:
            errors.append(error)
            files.skip(source.name, _reason(error))
    if progress:
        progress(len(files.found), len(files.found))
    return list(chosen.values()), errors


def _read(source: PageFile, requested_release: str | None, seen: dict[str, str]) -> BuiltLayout:
    text = source.read()
    if text.sha256 in seen:
        raise CatalogError(f"the same page as {seen[text.sha256]}", file=source.name)
    page = page_table.parse(text)
    release = requested_release or page.release
    if release is None:
        raise CatalogError(
            f"the page of {page.record} does not state its z/VM release",
            file=source.name,
            expected="a last line with words such as `based on z/VM V7R3.0`",
            cure=phrase("import_release"),
        )
    built = build(page, release)
    seen[text.sha256] = source.name
    return built


def _no_loss(built: BuiltLayout, pack_root: Path | None, file: str) -> None:
    """Reject a truncated page if the pack already has the complete record."""
    pack_file = (pack_root or layouts.pack_root()) / built.release / layouts.file_name(built.record)
    if not built.file.layouts or built.file.layouts[0].complete or not pack_file.is_file():
        return
    existing, *_ = (*layouts.read(pack_file, built.release).layouts, None)
    if existing and existing.complete and len(existing.fields) > len(built.file.layouts[0].fields):
        message = f"the page describes a part of {built.record}, but the pack has the complete record"
        raise CatalogError(message, file=file, cure=phrase("import_replace"))


def _choose_longer(built: BuiltLayout, previous: BuiltLayout | None, skipped: list[Skipped]) -> BuiltLayout:
    """Return the page that describes more of the record, because service adds fields at the end."""
    if previous is None:
        return built
    longer, shorter = previous, built
    if (built.length, built.fields) > (previous.length, previous.fields):
        longer, shorter = built, previous
    reason = f"{longer.page.file} also describes {longer.record} of this release, and no less of it"
    skipped.append(Skipped(shorter.page.file, reason))
    return longer


def _reason(error: CatalogError) -> str:
    message = error.message + (f" (at byte {error.offset:,})" if error.offset is not None else "")
    expected = f"expected {error.expected}" if error.expected else None
    return "; ".join(filter(None, (message, expected, error.cure)))


def _no_pages_error(errors: list[CatalogError], skipped: list[Skipped]) -> CatalogError:
    if len(errors) == 1 and len(skipped) == 1:
        return errors[0]
    if len(skipped) == 1:
        message, file = skipped[0].reason, skipped[0].file
    else:
        shown = "; ".join(f"{skip.file}: {skip.reason}" for skip in skipped[:3])
        more = ", ..." if len(skipped) > 3 else ""
        message, file = f"none of {len(skipped):,} files provided a layout ({shown}{more})", None
    expected = "saved pages of z/VM monitor records (MRxxxxxx)"
    return CatalogError(message, file=file, expected=expected, cure="name the folder that they were saved in")


def _entry(built: BuiltLayout) -> PageEntry:
    page = built.page
    file = Path(page.file).name.encode("utf-8", "replace").decode("utf-8")
    return PageEntry(
        built.record, page.record, file, page.sha256, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        built.fields, len(built.new), len(built.unknown), page.null, tuple(built.findings),
    )  # fmt: skip


def _report(report: ImportReport, limit: int | None) -> Iterator[str]:
    used = [record for record in report.imported if not record.null]
    nulls = len(report.imported) - len(used)
    if report.imported:
        verb = "would import" if report.dry_run else "imported"
        yield (
            f"{verb} {format_count(len(used), 'record')} of z/VM {report.release}: "
            f"{format_count(report.fields, 'field')}, {len(report.new_fields):,} of them new, "
            f"{len(report.unknown_kinds):,} of unknown kind"
        )
        if nulls:
            yield f"{format_count(nulls, 'page')} of records that are no longer produced"
    for path in report.packs:
        yield f"pack: {path}" if report.imported else f"user.toml applied to the pack {path}"
    yield from _list("did not agree", report.disagreements, limit)
    unknown = "of unknown kind, stored raw until user.toml defines their kind"
    yield from _list(unknown, report.unknown_kinds, limit)
    yield from _list("not applied from user.toml", report.user, limit)
    skipped = [f"{skip.file}: {skip.reason}" for skip in report.skipped]
    yield from _list("skipped", skipped, limit)


def _list(title: str, lines: Sequence[str], limit: int | None) -> Iterator[str]:
    if not lines:
        return
    yield f"{title} ({len(lines):,}):"
    for line in lines[:limit]:
        yield f"  {replace_controls(line, '?')}"
    if limit is not None and len(lines) > limit:
        yield f"  and {len(lines) - limit:,} more"
