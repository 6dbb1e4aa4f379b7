"""Tests of the metrics page: its samples equal the measures.

References: the OpenMetrics specification 1.0 and Prometheus' text format 0.0.4 for the format, promtool for
the names, and `zlens sql` for the values.
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from exposition_parser import Labels, families, samples
from iterations import quick_subset
from prometheus_server import program
from zlens import demo
from zlens.catalog import exposition, measures
from zlens.catalog.expressions import quote
from zlens.exposition.render import render
from zlens.inputs.options import Options, TimeSpec, parse_time_spec, parse_zone
from zlens.models.scenario import example
from zlens.server.metrics import wants_openmetrics
from zlens.session.session import CoreSession, empty_session


@pytest.fixture(scope="module")
def everything(demo_files: list[Path]) -> Iterator[CoreSession]:
    """Two z/VM systems and one z/OS system, which has two sources."""
    with zlens.open(demo_files, options=Options(tz=parse_zone("+01:00"))) as session:
        yield session._core


@pytest.fixture(scope="module")
def pages(everything: CoreSession) -> dict[bool, bytes]:
    return {form: render(everything, openmetrics=form, rows=None) for form in (False, True)}


@pytest.mark.long
def test_both_formats_have_same_samples(pages: dict[bool, bytes]) -> None:
    assert samples(pages[False]) == samples(pages[True])


def test_families_follow_openmetrics(pages: dict[bool, bytes]) -> None:
    """OpenMetrics 1.0: suffixes reserved for a type, and the unit as suffix of the name."""
    for family in families(pages[True]).values():
        assert family.kind in ("gauge", "counter", "info"), family
        assert family.help, family
        assert not family.name.endswith(("_total", "_info", "_count", "_sum", "_bucket", "_created")), family
        if family.unit:
            assert family.name.endswith(f"_{family.unit}"), family
            assert family.kind != "info", family
        if family.kind == "info":
            assert {*family.samples.values()} == {1.0}
        if family.kind == "counter":
            assert min(family.samples.values()) >= 0


def test_promtool_accepts_exposition(pages: dict[bool, bytes]) -> None:
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"], input=pages[False], capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def _of(page: bytes, name: str, **labels: str) -> dict[Labels, float]:
    return {
        found: value
        for (sample, found), value in samples(page).items()
        if sample == name and {*labels.items()} <= found
    }


def test_values_are_those_of_sql(everything: CoreSession, pages: dict[bool, bytes]) -> None:
    rows = everything.sql(
        "SELECT cpu_id, busy_pct FROM cpu WHERE system = 'ZLSIM' "
        "AND interval_end = (SELECT max(interval_end) FROM interval WHERE system = 'ZLSIM')"
    ).rows
    found = _of(pages[False], "zvm_cpu_busy_ratio", system="ZLSIM")
    # A machine is named by type and serial, a partition by its PR/SM name.
    of_system = {("system", "ZLSIM"), ("cpc", "8561-D3E01"), ("partition", "ZLSIM")}
    assert found == {frozenset({*of_system, ("cpu", str(cpu))}): busy / 100 for cpu, busy in rows}
    assert len(found) == 12


def test_cumulative_counters_are_as_recorded(sim_session: zlens.Session, pages: dict[bool, bytes]) -> None:
    """Their difference over an interval equals the time in the measure."""
    before = sim_session._core.narrow(Options(end=_second_last(sim_session._core)))
    earlier = render(before, openmetrics=False, rows=200)
    before.close()
    rows = sim_session.sql(
        "SELECT cpu_id, user_pct * seconds / 100, emulation_pct * seconds / 100 FROM cpu "
        "WHERE interval_end = (SELECT max(interval_end) FROM interval)"
    ).rows
    assert rows
    for cpu, user, emulation in rows:
        for name, seconds in (("user", user), ("emulation", emulation)):
            sample = f"zvm_cpu_{name}_seconds_total"
            labels = {"system": "ZLSIM", "cpu": str(cpu)}
            [now], [then] = ([*_of(one, sample, **labels).values()] for one in (pages[False], earlier))
            assert now - then == pytest.approx(seconds, abs=1e-6)


def _second_last(session: CoreSession) -> TimeSpec:
    [(end,)] = session.sql(
        "SELECT interval_end FROM interval ORDER BY interval_end DESC LIMIT 1 OFFSET 1"
    ).rows
    return parse_time_spec(end.isoformat())


def test_counters_of_virtual_processors_are_added(
    sim_session: zlens.Session, pages: dict[bool, bytes]
) -> None:
    rows = sim_session.sql(
        "SELECT userid, sum(cpu_time_total) FROM role.guest "
        "WHERE interval_end = (SELECT max(interval_end) FROM interval) GROUP BY userid"
    ).rows
    found = _of(pages[True], "zvm_guest_cpu_seconds_total", system="ZLSIM")
    by_user = {dict(labels)["user"]: value for labels, value in found.items()}
    assert by_user == pytest.approx(dict(rows))


def test_export_limit_keeps_largest_and_reports_rest(
    sim_session: zlens.Session, pages: dict[bool, bytes]
) -> None:
    page = render(sim_session._core, openmetrics=False, rows=3)
    every = _of(pages[False], "zvm_guest_cpu_ratio", system="ZLSIM")
    few = _of(page, "zvm_guest_cpu_ratio")
    assert sorted(few.values()) == sorted(every.values())[-3:]
    assert {*_of(page, "zvm_guest_cpu_seconds_total")} == {*few}
    left_out = _of(page, "zlens_rows_left_out", measure="guest")
    assert [*left_out.values()] == [len(every) - 3]
    assert not _of(pages[False], "zlens_rows_left_out")


Amounts = dict[Labels, float]


def _amounts(session: CoreSession, page: bytes) -> Iterator[tuple[str, Amounts, Amounts]]:
    """Yield metrics of the newest interval: name, samples of the page, and sums of the measure's rows."""
    for group in exposition.names().groups:
        if group.of or not session.has_data(group.measure):
            continue
        table = measures.load_measure(group.measure)
        keys = ", ".join(["system", *map(quote, group.labels)])
        for family in group.families:
            column = table.column(family.column)
            if column is None or column.aggregate not in ("counter", "time") or group.measure == "interval":
                continue
            rows = session.sql(
                f"SELECT {keys}, sum({quote(family.column)}) * {family.base.times} / {family.base.per} "
                f"FROM {group.measure} WHERE interval_end = (SELECT max(interval_end) FROM interval) "
                f"GROUP BY {keys} HAVING count({quote(family.column)}) = count(*) AND count(flag) < count(*)"
            ).rows
            named = ["system", *group.labels.values()]
            sums = {
                frozenset(
                    (name, _shown(key)) for name, key in zip(named, row, strict=False) if key is not None
                ): row[-1]
                for row in rows
            }
            for prefix in group.prefixes:
                name = f"{prefix}_{family.sample}"
                found = {
                    frozenset((label, value) for label, value in labels if label in named): value
                    for labels, value in _of(page, name).items()
                }
                if found:
                    yield name, found, sums


def _shown(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


@pytest.fixture(scope="module")
def transactions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated system that records the use of users at transaction ends."""
    values = tomllib.loads(example("system")) | {"simulation": {"seconds": 180, "interval": 60}}
    values["partition"][0] |= {"records": "5.3", "transaction_ends": True}
    # A user that waits between short bursts ends a transaction after each.
    values["user"][2] |= {"demand": 5, "load": {"burst": 20}}
    path = tmp_path_factory.mktemp("transactions") / "machine.data"
    zlens.simulate(values, path)
    return path


#: Inputs, first those whose samples differ most.
INPUTS = ("machine", demo.SMF_NAME, demo.MONWRITE_NAME, demo.RMF_NAME, demo.SIM_NAME)


@pytest.mark.parametrize("name", quick_subset(2, INPUTS))
def test_samples_with_equal_labels_are_summed(
    demo_folder: Path, request: pytest.FixtureRequest, name: str
) -> None:
    path = request.getfixturevalue("transactions") if name == "machine" else demo_folder / name
    with zlens.open([path], options=Options(tz=parse_zone("+01:00"))) as session:
        page = render(session._core, openmetrics=False, rows=None)
        # `samples` rejects two samples with equal labels.
        assert samples(page)
        checked = 0
        for metric, found, sums in _amounts(session._core, page):
            assert found == pytest.approx(sums, rel=1e-9), metric
            checked += len(found)
    assert checked > 0


def test_transaction_virtual_cpus_belong_to_guests(transactions: Path) -> None:
    """Each transaction end is a separate row; all rows of a virtual CPU result in one sample."""
    with zlens.open([transactions]) as session:
        newest = "interval_end = (SELECT max(interval_end) FROM interval)"
        [(most,)] = session.sql(
            f"SELECT max(n) FROM (SELECT count(*) AS n FROM guest_cpu WHERE {newest} GROUP BY userid, vcpu)"
        ).rows
        guests = session.sql(f"SELECT userid, cpu_s FROM guest WHERE {newest} AND flag IS NULL").rows
        shares = session.sql(
            f"SELECT userid, vcpu, sum(cpu_s) / sum(seconds) FROM guest_cpu "
            f"WHERE {newest} AND flag IS NULL GROUP BY userid, vcpu"
        ).rows
        page = render(session._core, openmetrics=False, rows=None)
    assert most > 5
    used: dict[str, float] = {}
    for labels, value in _of(page, "zvm_vcpu_cpu_interval_seconds").items():
        user = dict(labels)["user"]
        used[user] = used.get(user, 0) + value
    assert used == pytest.approx(dict(guests))
    found = {
        (dict(labels)["user"], int(dict(labels)["vcpu"])): value
        for labels, value in _of(page, "zvm_vcpu_cpu_ratio").items()
    }
    assert found == pytest.approx({(user, vcpu): share for user, vcpu, share in shares})


def test_exposition_uses_one_source_per_system(everything: CoreSession, pages: dict[bool, bytes]) -> None:
    """SMF and RMF describe the same processors, but each has one sample."""
    assert [info.source for info in everything.sources_by_system["ZLZ1"]] == ["smf", "rmf-xml"]
    cpus = [dict(labels)["cpu"] for labels in _of(pages[False], "zos_cpu_busy_ratio", system="ZLZ1")]
    assert len(cpus) == len({*cpus}) > 0


def test_zos_system_has_sysplex_label(everything: CoreSession, pages: dict[bool, bytes]) -> None:
    """SMF names the sysplex (SMF70XNM); samples from RMF, which does not, have it too."""
    assert ("ZLZ1", "ZLPLEX") in everything.sql("SELECT system, sysplex FROM system").rows
    found = _of(pages[False], "zos_system_busy_ratio", system="ZLZ1", sysplex="ZLPLEX")
    assert len(found) == 1
    assert not _of(pages[False], "zvm_system_busy_ratio", sysplex="ZLPLEX")


def test_null_values_have_no_sample(everything: CoreSession, pages: dict[bool, bytes]) -> None:
    [(known,)] = everything.sql("SELECT count(unparked) FROM load WHERE system = 'ZLDEMO'").rows
    assert known == 0
    assert not _of(pages[False], "zvm_system_unparked", system="ZLDEMO")


def test_interval_end_is_exported(everything: CoreSession, pages: dict[bool, bytes]) -> None:
    [(end,)] = everything.sql("SELECT max(interval_end) FROM interval WHERE system = 'ZLDEMO'").rows
    found = _of(pages[False], "zvm_interval_end_timestamp_seconds", system="ZLDEMO")
    assert [*found.values()] == [end.timestamp()]
    # No sample has its own timestamp.
    assert all(
        line.startswith("#") or len(line.rsplit("}", 1)[-1].split()) == 1
        for line in pages[False].decode().splitlines()
        if "}" in line
    )


def test_exported_names_are_in_catalog(pages: dict[bool, bytes]) -> None:
    named = {name for group in exposition.names().groups for name in group.names()}
    found = {sample for sample, _ in samples(pages[False])}
    assert {name for name in found - named if not name.startswith("zlens_")} == set()


def test_exposition_without_interval_has_build_info() -> None:
    assert {name for name, _ in samples(render(empty_session(), openmetrics=True, rows=200))} == {
        "zlens_build_info"
    }


def test_exposition_time_follows_options(demo_folder: Path) -> None:
    """With --to, the newest interval is the last one of the window; with --every, a longer one."""
    options = Options(every_s=600)
    with zlens.open(demo_folder / demo.SIM_NAME, options=options) as session:
        page = render(session._core, openmetrics=False, rows=200)
        found = _of(page, "zvm_interval_length_seconds")
        [(busy,)] = session.sql("SELECT busy_pct FROM load ORDER BY interval_end DESC LIMIT 1").rows
        assert [*found.values()] == [600]
        [ratio] = _of(page, "zvm_system_busy_ratio").values()
        assert ratio == pytest.approx(busy / 100)


@pytest.mark.parametrize(
    ("accept", "openmetrics"),
    [
        (None, False),
        ("*/*", False),
        ("text/plain", False),
        ("application/openmetrics-text; version=1.0.0", True),
        # The header of Prometheus 2.42.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            True,
        ),
        ("application/openmetrics-text;q=0.1, text/plain", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=x, text/plain;q=0.2", False),
    ],
)
def test_accept_header_selects_format(accept: str | None, openmetrics: bool) -> None:
    assert wants_openmetrics(accept) is openmetrics
