"""Tests of roles that the user binds to fields: values without code, and errors with their line."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

import monwrite_builder as monwrite
import record_encoder
import zlens
import zlens.findings.evaluate  # binds rules.load before a test replaces it
from iterations import draws, iterations
from zlens import _native
from zlens.catalog import layouts, roles, rules, user_roles
from zlens.catalog.layouts import MonitorField, RecordLayout
from zlens.checks import records as check
from zlens.cli import main
from zlens.errors import CatalogError
from zlens.record_pages import importer as pages

NOWHERE = Path("/nonexistent")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder, empty."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ZLENS_DATA", str(folder))
    layouts.clear_cache()
    return folder


def say(data: Path, text: str) -> None:
    (data / "roles.toml").write_text(text, encoding="utf-8")


def activity() -> RecordLayout:
    """Return D4R3 with a field whose name is not public."""
    first = layouts.layouts("D4R3", NOWHERE)[-1]
    end = max(f.end for f in first.fields)
    fields = (
        *first.fields,
        MonitorField("*", end, 3),
        MonitorField("USEACT_MYWAIT", end + 3, 8, "character", text="what is waited"),
    )
    return replace(first, fields=fields, length=end + 11, complete=True)


def imported(tmp_path: Path) -> RecordLayout:
    layout = activity()
    page = tmp_path / "MRUSEACT.txt"
    page.write_text(page_render.page(layout), encoding="utf-8")
    pages.import_pages([page])
    return layout


def measured(tmp_path: Path, layout: RecordLayout) -> Path:
    """Write three samples of one guest that waits 6 seconds in each minute."""
    groups = [monwrite.configuration(monwrite.START_US, {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"})]
    for minute in range(3):
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        values = {
            "USEACT_VMDUSER": "LINUX1",
            "USEACT_MYWAIT": (5 + 6 * minute * monwrite.TOD_S).to_bytes(8, "big"),
        }
        tod = _native.tod_from_unix_us(end - 100)
        groups.append(monwrite.interval(end, [record_encoder.encode(layout, values, tod=tod)]))
    return monwrite.write(tmp_path / "guests.mon", groups)


def waits(file: Path) -> list[float | None]:
    query = "SELECT dispatch_wait FROM role.guest ORDER BY interval_end"
    with zlens.open([file]) as session:
        return [row[0] for row in session.sql(query).rows]


def user_times(tmp_path: Path, busy: float) -> list[tuple[float]]:
    """Return the user time of two processors in each minute at this utilization."""
    groups = [monwrite.configuration(monwrite.START_US), *monwrite.minutes(3, busy)]
    with zlens.open([monwrite.write(tmp_path / "x.mon", groups)]) as session:
        return session.sql("SELECT DISTINCT user_time FROM role.processor").rows


def test_user_role_binds_pack_field(tmp_path: Path, data: Path) -> None:
    file = measured(tmp_path, imported(tmp_path))
    assert set(waits(file)) == {None}
    say(data, '[guest]\ndispatch_wait = { field = "USEACT_MYWAIT", scale = "tod" }\n')
    assert waits(file)[-2:] == pytest.approx([6.0, 6.0])
    assert check.check_catalog() == []
    # Changes to the file apply immediately, including its removal.
    (data / "roles.toml").unlink()
    assert set(waits(file)) == {None}


def test_first_existing_field_name_wins(tmp_path: Path, data: Path) -> None:
    file = measured(tmp_path, imported(tmp_path))
    names = '["USEACT_NEWER", "useact_mywait"]'
    say(data, f'guest.dispatch_wait = {{ field = {names}, scale = "tod", table = "d4r3" }}\n')
    assert waits(file)[-1] == pytest.approx(6.0)


def test_user_role_has_field_name_per_release(tmp_path: Path, data: Path) -> None:
    old = next(one for one in layouts.layouts("D0R2", NOWHERE) if one.complete)
    renamed = tuple(replace(f, name=f.name.replace("PFXSPINC", "NEWSPINC")) for f in old.fields)
    new = replace(old, fields=(*renamed, MonitorField("*", old.length, 8)), length=old.length + 8)
    (tmp_path / "MRSYTPRP.txt").write_text(page_render.page(new), encoding="utf-8")
    pages.import_pages([tmp_path / "MRSYTPRP.txt"])
    files = []
    for layout, release, name in ((old, "5.3.0", "SYTPRP_PFXSPINC"), (new, "7.3.0", "SYTPRP_NEWSPINC")):
        config = {"MTRSYS_SYSTMID": f"V{release[0]}", "MTRSYS_HCPCPEID": release}
        groups = [monwrite.configuration(monwrite.START_US, config)]
        for minute in range(3):
            end = monwrite.START_US + minute * monwrite.MINUTE_US
            tod = _native.tod_from_unix_us(end - 100)
            groups.append(
                monwrite.interval(end, [record_encoder.encode(layout, {name: 6 * minute}, tod=tod)])
            )
        files.append(monwrite.write(tmp_path / f"{release}.mon", groups))
    say(data, '[processor]\nspins = { field = ["SYTPRP_NEWSPINC", "SYTPRP_PFXSPINC"] }\n')
    with zlens.open(files) as session:
        rows = session.sql("SELECT DISTINCT system, spins FROM role.processor ORDER BY system").rows
    assert rows == [("V5", 6.0), ("V7", 6.0)]


def test_role_of_missing_field_keeps_catalog_definition(tmp_path: Path, data: Path) -> None:
    say(data, '[processor]\nuser_time = { field = "SYTPRP_GHOST", scale = "tod" }\n')
    assert user_times(tmp_path, 0.5) == [(pytest.approx(30.0),)]


def test_user_role_overrides_catalog(tmp_path: Path, data: Path) -> None:
    say(data, '[processor]\nuser_time = { field = "SYTPRP_PFXTOTWT", scale = "tod" }\n')
    assert user_times(tmp_path, 0.25) == [(pytest.approx(45.0),)]


def test_plain_value_role_has_no_difference(data: Path) -> None:
    share, locked = '{ field = "USEACT_SHARE" }', '{ field = "USEACT_X", take = "value" }'
    say(data, f"[guest]\nrelative_share = {share}\nlocked = {locked}\n")
    origin = roles.entity("guest").origins[0]
    assert origin.roles["relative_share"].field == "USEACT_SHARE"
    assert origin.roles["relative_share"].take == "value"
    assert origin.roles["locked"].take == "value"
    assert origin.roles["locked"].fallback == roles.catalog_entity("guest").origins[0].roles["locked"]


def test_user_role_without_subject_has_no_difference(data: Path) -> None:
    say(data, '[guest]\ndispatch_wait = { field = "USEACT_MYWAIT", scale = "tod" }\n')
    layout = activity()
    taught = user_roles.bind_layout(layout).field("USEACT_MYWAIT")
    assert taught is not None
    assert (taught.kind, taught.unit) == ("timer", "tod")
    assert taught.note == f"by {data / 'roles.toml'}:2"
    alone = replace(layout, subject=(), subject_kind="user")
    assert user_roles.bind_layout(alone) == alone


def test_explain_shows_bound_field(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(data, '\n[processor]\nuser_time = { field = "SYTPRP_PFXTOTWT", scale = "tod" }\n')
    assert main(["explain", "processor.user_time"]) == 0
    said = capsys.readouterr().out
    assert (
        f"SYTPRP_PFXTOTWT, difference of two samples, times 2.44140625e-10, as {data / 'roles.toml'}:3"
        in (" ".join(said.split()))
    )
    assert "else" in said
    assert "SYTPRP_PFXUTIME" in said


def test_new_pack_has_commented_role_file(tmp_path: Path, data: Path) -> None:
    imported(tmp_path)
    text = (data / "roles.toml").read_text(encoding="utf-8")
    assert user_roles.bindings() == ()
    example = "\n".join(line[6:] for line in text.split("\n") if line.startswith("#     "))
    say(data, example)
    (binding,) = user_roles.bindings()
    assert (binding.entity, binding.role) == ("guest", "dispatch_wait")
    assert (binding.table, binding.where) == ("d4r3", f"{data / 'roles.toml'}:2")
    imported(tmp_path)
    assert (data / "roles.toml").read_text(encoding="utf-8") == example


def test_role_examples_of_documentation_bind(data: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "packs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)
    tables = [block for block in map(textwrap.dedent, blocks) if block.lstrip().startswith("[")]
    assert len(tables) == 2
    assert set(tomllib.loads(tables[0])["D6R99"]) == {"subject", "callevel", "section"}
    say(data, tables[1])
    (binding,) = user_roles.bindings()
    assert (binding.entity, binding.role, binding.table) == ("guest", "dispatch_wait", "d4r3")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("= =", 1, "is not valid TOML"),
        ('[guest]\n\ndispatch_wait = { field = "X"', 3, "is not valid TOML"),
        ('\n[gest]\nx = { field = "X" }', 2, "no entity 'gest'.*guest"),
        ("guest = 4", 1, "guest is 4; expected a table"),
        ('[guest]\n# x\ndispatch_weight = { field = "X" }', 3, "no role 'dispatch_weight'.*dispatch_wait"),
        ('[guest]\ndispatch_wait = "USEACT_X"', 2, 'is "USEACT_X"; expected a table with field'),
        ('[guest]\ndispatch_wait = { scale = "tod" }', 2, "field is missing: a field, or several"),
        ("[guest]\ndispatch_wait = { field = [] }", 2, "field is"),
        ("[guest]\ndispatch_wait = { field = 4 }", 2, "field is 4"),
        ('[guest.dispatch_wait]\nfield = "X Y"', 1, "field is 'X Y'"),
        ('[guest]\ndispatch_wait = { field = "X; DROP" }', 2, "field is"),
        ('[guest]\ndispatch_wait = { field = "USEACT_X" }', 2, "scale does not define the unit"),
        ('[guest]\ndispatch_wait = { field = "USEACT_X", scale = "days" }', 2, "no unit 'days'"),
        ('[guest]\ndispatch_wait = { field = "USEACT_X", scale = 4 }', 2, "scale is 4; expected a text"),
        ('[guest]\ncpu_type = { field = "USEACT_X", codes = "c" }', 2, "no table of codes 'c'"),
        (
            '[guest]\nlocked = { field = "USEACT_X", take = "all" }',
            2,
            'take is "all"; expected one of "difference"',
        ),
        (
            '[guest]\nlocked = { field = "USEACT_X", where = "1" }',
            2,
            "where is not known here; expected one of base, codes, field",
        ),
        ('[guest]\nlocked = { field = "USEACT_X", table = "d0r2" }', 2, "table is 'd0r2'.*d4r3"),
        ('[guest]\nlocked = { field = "USEACT_X", base = 8 }', 2, "base is 8"),
    ],
)
def test_invalid_role_line_has_number(data: Path, text: str, line: int, words: str) -> None:
    say(data, text)
    with pytest.raises(CatalogError, match=words) as caught:
        user_roles.bindings()
    assert caught.value.file == f"{data / 'roles.toml'}:{line}"
    assert str(caught.value) in user_roles.check()


def test_ambiguous_role_field_requires_table(data: Path) -> None:
    tables = [origin.table for origin in roles.catalog_entity("processor").origins]
    assert len(set(tables)) > 1
    say(data, '[processor]\nspins = { field = "NOPREFIX" }\n')
    with pytest.raises(CatalogError, match="does not name a table"):
        user_roles.bindings()


def test_role_field_missing_in_layouts_is_reported(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests cover rules; loading all of them is slow.
    monkeypatch.setattr(rules, "load", dict)
    say(data, '[processor]\nspins = { field = "SYTPRP_PFXSPINK" }\n')
    assert main(["catalog", "check"]) == 1
    said = capsys.readouterr().out
    missing = f"{data / 'roles.toml'}:2: no layout of D0R2 has the field SYTPRP_PFXSPINK"
    assert f"{missing}; did you mean SYTPRP_PFXSPIN" in said


def test_unreadable_role_file_is_rejected(data: Path) -> None:
    (data / "roles.toml").mkdir()
    with pytest.raises(CatalogError, match="cannot be read"):
        user_roles.bindings()
    (data / "roles.toml").rmdir()
    (data / "roles.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match=r"cannot be read: .*utf-8"):
        user_roles.bindings()
    (data / "roles.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(CatalogError, match="too large"):
        user_roles.bindings()


def test_mutated_role_files_bind_or_fail(data: Path) -> None:
    chance = draws(20261122)
    whole = (
        '[guest]\ndispatch_wait = { field = ["USEACT_A", "USEACT_B"], scale = "tod", table = "d4r3" }\n'
        'locked.field = "USEACT_X"\nlocked.take = "value"\n[processor]\nspins = { field = "SYTPRP_Y" }\n'
    )
    pieces = (
        "[",
        "]",
        "{",
        "}",
        '"',
        "=",
        ".",
        "\n",
        "\0",
        "#",
        "[guest]",
        "field",
        "9" * 30,
        "{n}",
        "é",
        "[0-9]",
    )
    bound = refused = 0
    tried = iterations(2_000, 400)
    for _ in range(tried):
        text = whole
        for _ in range(chance.choice((1, 1, 2, 6))):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice((*pieces, "")) + text[at + chance.choice((0, 1, 1, 8)) :]
        try:
            found = user_roles._bindings(tomllib.loads(text), "roles.toml", text)
            bound += bool([one.where for one in found])
        except tomllib.TOMLDecodeError:
            continue
        except CatalogError as error:
            refused += bool(error.file)
    assert bound > tried / 100
    assert refused > tried / 100
