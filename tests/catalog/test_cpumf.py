"""Tests of the CPU MF facts: completeness, formulas over counters of their machine, complete shares."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from zlens.catalog import cpumf, cpumf_formulas, cpumf_weights, expressions, generations, measures
from zlens.catalog.cpumf import CpumfWeights, FormulaPolicy
from zlens.catalog.cpumf_formulas import counter_formula
from zlens.checks import cpumf as check_cpumf
from zlens.checks import records as check
from zlens.errors import CatalogError, InputError

ROOT = Path(__file__).parents[2]

#: Counters in the extended set, counters in total and metrics of each generation.
COUNTS = {
    "z10": (18, 46, 40),
    "z196": (24, 52, 41),
    "zEC12": (35, 63, 42),
    "z13": (54, 84, 49),
    "z14": (51, 77, 49),
    "z15": (55, 85, 54),
    "z16": (68, 98, 54),
    "z17": (75, 105, 54),
}
#: Names of counters for the source of the cache line of an L1 miss.
_SOURCED = re.compile(r"L1[ID]_.*SOURCED_WRITES(_IV|_RO)?|L1[ID]_L3_(LOCAL|REMOTE)_WRITES|(I|D|ID)CW_.*")


def test_cpumf_facts_are_consistent() -> None:
    assert check_cpumf.check() == []
    assert [each for each in check.check_catalog() if "cpumf" in each] == []


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    generation = cpumf.generation(name)
    extended = [each for each in generation.counters.values() if each.set == "extended"]
    assert (len(extended), len(generation.counters), len(generation.metrics)) == COUNTS[name]


# Machines and sets


def test_machine_types_and_generations_match() -> None:
    assert {machine.generation for machine in generations.types().values()} == set(generations.names())
    assert generations.types()["2097"].generation == "z10"
    assert generations.types()["9176"].generation == "z17"


def test_generations_are_in_order_of_their_years() -> None:
    assert [name for name in generations.names() if name in COUNTS] == list(COUNTS)


@pytest.mark.parametrize(
    ("machine_type", "version", "generation", "why"),
    [
        ("2097", 1, "z10", "machine type"),
        ("2818", 2, "z196", "machine type"),
        ("3932", None, "z16", "machine type"),
        (" 8562", 6, "z15", "machine type"),
        (None, 8, "z17", "counter version"),
        ("", 3, "zEC12", "counter version"),
        ("9999", 8, None, "machine type 9999 is not known"),
        ("9999", None, None, "machine type 9999 is not known"),
        ("2964", 5, None, "counter version 5 does not belong to machine type 2964"),
        ("2964", 77, None, "counter version 77 does not belong to machine type 2964"),
        (None, 78, None, "no machine type and counter version 78 is not known"),
        (None, None, None, "no machine type"),
    ],
)
def test_machine_by_type_first_and_version_second(
    machine_type: str | None, version: int | None, generation: str | None, why: str
) -> None:
    chosen, said = cpumf.choose_generation(machine_type, version)
    assert chosen == generation
    assert said.startswith(why)
    assert said == why or said.endswith(f": {cpumf.COMMON_ONLY}")
    query = (
        f"SELECT {cpumf_formulas.generation_sql()}, {cpumf_formulas.generation_by_sql()} "
        "FROM (SELECT CAST(? AS VARCHAR) AS machine_type, CAST(? AS BIGINT) AS csvn, "
        "CAST(? AS VARCHAR) AS generation_from_names) AS counter"
    )
    assert duckdb.execute(query, [machine_type, version, None]).fetchall() == [(chosen, said)]
    # Names are used only without machine type and version.
    named = cpumf.choose_generation(machine_type, version, "z14 or z15")
    assert named == (
        ("z14 or z15", cpumf.BY_NAMES + cpumf.SETTLED_BY)
        if (machine_type, version) == (None, None)
        else (chosen, said)
    )
    assert duckdb.execute(query, [machine_type, version, "z14 or z15"]).fetchall() == [named]


def test_sizes_of_sets_by_version() -> None:
    def of(name: str) -> list[int | None]:
        generation = cpumf.generation(name)
        return list(cpumf.sizes(generation.cfvn, generation.csvn).values())

    assert list(cpumf.sets()) == ["basic", "problem", "crypto", "extended", "mt_diag"]
    assert of("z10") == [6, 6, 16, 32, None]
    assert of("z196") == [6, 6, 16, 48, None]
    assert of("zEC12") == [6, 6, 16, 128, None]
    assert of("z13") == [6, 6, 16, 128, 48]
    assert of("z14") == [6, 2, 16, 128, 48]
    assert of("z15") == of("z16") == of("z17") == [6, 2, 20, 160, 48]
    assert list(cpumf.sizes(None, None).values()) == [None] * 5
    assert cpumf.sizes(3, 78)["extended"] is None


def test_numbers_of_counters() -> None:
    assert cpumf.number_of("B0") == 0
    assert cpumf.number_of("E287") == 287
    assert cpumf.number_of("M449") == 449
    assert cpumf.number_of("cpi") is None
    assert cpumf.number_of("CPSP") is None
    for wrong in ("B6", "P38", "C84", "E288", "M500", "X1", "E127"):
        with pytest.raises(CatalogError, match=f"^{wrong} is not a counter; expected letter of its set"):
            cpumf.number_of(wrong)
    with pytest.raises(CatalogError, match="there is no machine generation 'z9'; expected z10, z196"):
        cpumf.generation("z9")


def test_counters_of_some_machines() -> None:
    names = {name: cpumf.generation(name).counters for name in generations.names()}
    assert names["z10"][130].name == "L1I_L3_LOCAL_WRITES"
    assert names["z13"][143].name == "L1C_TLB1_MISSES"
    assert names["z14"][143].name == "L1C_TLB2_MISSES"
    assert names["z15"][265].name == "DFLT_CCFINISH"
    assert names["z16"][183].name == "ICW_OFF_DRAWER_MEMORY"
    assert 183 not in names["z17"]
    assert names["z17"][205].name == "INST_DIFFTHRD"
    assert 34 in names["z13"]
    assert 34 not in names["z14"]
    assert 83 not in names["z14"]
    assert 83 in names["z15"]
    assert 448 not in names["zEC12"]


# Formulas


@pytest.mark.parametrize("name", generations.names())
def test_formulas_parse_and_counters_exist(name: str) -> None:
    generation = cpumf.generation(name)
    for metric in generation.metrics.values():
        formulas = [metric.formula, *(variant.formula for variant in metric.variants)]
        for formula in filter(None, formulas):
            expressions.parse(formula)
            assert set(cpumf.numbers_in([formula])) <= set(generation.counters), f"{metric.name}: {formula}"
        whole = counter_formula(name, metric.name, FormulaPolicy(unverified=True))
        if whole:
            named = expressions.names(whole.formula)
            assert all(cpumf.number_of(each) is not None or each in cpumf.formula_names() for each in named)
            expressions.compile_sql(cpumf_formulas.to_roles(whole.formula), lambda each: each)


@pytest.mark.parametrize("name", generations.names())
def test_shares_partition_sourced_counters(name: str) -> None:
    generation = cpumf.generation(name)
    sourced = {each.number for each in generation.counters.values() if _SOURCED.fullmatch(each.name)}
    assert set(cpumf.l1_source_counters(name)) == sourced
    shares = [generation.metrics[share] for share in cpumf.SHARES if share in generation.metrics]
    assert [share.name for share in shares] == (
        ["l15p", "l2lp", "l2rp", "memp"] if name == "z10" else ["l2p", "l3p", "l4lp", "l4rp", "memp"]
    )
    for share in shares:
        # Each counter is in one sum; the `memp` formula of early machines has counters after a minus.
        added = re.findall(r"(?<!- )E(\d+)", share.formula)
        assert len(added) == len(set(added))
    added = [number for share in shares for number in re.findall(r"(?<!- )E(\d+)", share.formula)]
    assert sorted(map(int, added)) == sorted(sourced)
    taken_off = re.findall(r"- E(\d+)", generation.metrics["memp"].formula)
    assert sorted(map(int, taken_off)) == (sorted(sourced) if name in ("z10", "z196", "zEC12") else [])


#: Patterns of the counter names of each share: the distance of the source.
BY_NAME = {
    "z10": {"l15p": "_L2_SOURCED", "l2lp": "_L3_LOCAL", "l2rp": "_L3_REMOTE", "memp": "_LMEM_"},
    "z196": {
        "l2p": "_L2_SOURCED",
        "l3p": "_ONCHIP_L3",
        "l4lp": "_ONBOOK_L4|_OFFCHIP_L3",
        "l4rp": "_OFFBOOK_",
        "memp": "_LMEM_",
    },
    "zEC12": {
        "l2p": "_L2[DI]_",
        "l3p": "_ONCHIP_L3",
        "l4lp": "_ONBOOK_L4|_OFFCHIP_L3",
        "l4rp": "_OFFBOOK_",
        "memp": "_LMEM_",
    },
    "z13": {
        "l2p": "_L2[DI]_",
        "l3p": "_ONCHIP_L3",
        "l4lp": "_ONNODE_L",
        "l4rp": "DRAWER_(.COL_)?L[34]",
        "memp": "_MEM_",
    },
    "z14": {
        "l2p": "_L2[DI]_",
        "l3p": "_ONCHIP_L3_SOURCED_WRITES(_IV)?$",
        "l4lp": "_O(N|FF)CLUSTER_L3|_ONDRAWER_L4|_RO$",
        "l4rp": "_OFFDRAWER_L",
        "memp": "_MEMORY_",
    },
    "z16": {
        "l2p": "^.CW_REQ(_IV)?$",
        "l3p": "CW_REQ_CHIP_HIT|CW_ON_CHIP(_IV|_CHIP_HIT)?$",
        "l4lp": "^.CW_(REQ|ON_CHIP)_DRAWER_HIT|CW_ON_(MODULE|DRAWER)(?!.*MEMORY)",
        "l4rp": "CW_OFF_DRAWER(?!.*MEMORY)",
        "memp": "_MEMORY$",
    },
}
BY_NAME |= {"z15": BY_NAME["z14"], "z17": BY_NAME["z16"]}


@pytest.mark.parametrize("name", BY_NAME)
def test_shares_use_counters_named_after_source(name: str) -> None:
    generation = cpumf.generation(name)
    for share, pattern in BY_NAME[name].items():
        added = {int(number) for number in re.findall(r"(?<!- )E(\d+)", generation.metrics[share].formula)}
        named = {n for n in cpumf.l1_source_counters(name) if re.search(pattern, generation.counters[n].name)}
        assert added == named, share


@pytest.mark.parametrize("name", [name for name in generations.names() if name not in ("z10", "z196")])
def test_transactions_are_ended_plus_aborted(name: str) -> None:
    generation = cpumf.generation(name)
    named = {n for n, counter in generation.counters.items() if counter.name.startswith("TX_")}
    assert set(cpumf.numbers_in([generation.metrics["transactions"].formula])) == named
    assert len(named) == 5


@pytest.mark.parametrize("name", generations.names())
def test_shares_of_early_machines_add_up_to_100(name: str) -> None:
    generation = cpumf.generation(name)
    shares = [f"({generation.metrics[s].formula})" for s in cpumf.SHARES if s in generation.metrics]
    numbers = {f"E{number}": 10 + k for k, number in enumerate(cpumf.l1_source_counters(name))} | {
        "B2": 4000,
        "B4": 5000,
    }
    sql = expressions.compile_sql(" + ".join(shares), lambda each: str(numbers[each]))
    [(total,)] = duckdb.sql(f"SELECT {sql}").fetchall()
    counted = sum(value for each, value in numbers.items() if each[0] == "E")
    assert total == pytest.approx(100 if name in ("z10", "z196", "zEC12") else 100 * counted / 9000)


def test_rni_and_finite_cpi_by_generation() -> None:
    def formula(name: str, metric: str = "rni") -> str:
        return cpumf.generation(name).metrics[metric].formula

    assert formula("z10") == "(1 * l2lp + 2.4 * l2rp + 7.5 * memp) / 100"
    assert formula("z196") == "1.6 * (0.4 * l3p + 1 * l4lp + 2.4 * l4rp + 7.5 * memp) / 100"
    assert formula("zEC12") == "2.3 * (0.4 * l3p + 1.2 * l4lp + 2.7 * l4rp + 8.2 * memp) / 100"
    assert formula("z13") == "2.6 * (0.4 * l3p + 1.6 * l4lp + 3.5 * l4rp + 7.5 * memp) / 100"
    assert [formula(name) for name in ("z14", "z15", "z16", "z17")] == [""] * 4
    assert formula("z10", "est_finite_cpi") == "0.84 * (B3 + B5) / B1"
    assert formula("z196", "est_scpl1m") == "(0.57 + 0.1 * rni) * (B3 + B5) / (B2 + B4)"
    assert formula("zEC12", "est_finite_cpi") == ""
    assert formula("z13", "est_finite_cpi") == "E143 / B1"
    statuses = [cpumf.generation(name).metrics["rni"].status for name in COUNTS]
    assert statuses == [*["verified"] * 2, *["verified-secondary"] * 2, *["unverified"] * 4]


def test_unverified_formulas_need_permission() -> None:
    allowed = FormulaPolicy(unverified=True)
    for name in ("z14", "z15", "z16"):
        assert counter_formula(name, "rni") is None
        assert counter_formula(name, "rni", allowed).status == "unverified"
    assert counter_formula("z17", "rni", allowed) is None
    for metric in ("est_finite_cpi", "est_scpl1m", "est_instr_cmplx_cpi"):
        assert counter_formula("zEC12", metric) is None
        assert counter_formula("zEC12", metric, allowed).status == "unverified"
    # A variant never replaces a known formula.
    assert counter_formula("z196", "rni", allowed) == counter_formula("z196", "rni")
    assert "1.67" not in counter_formula("z196", "rni", allowed).formula


def test_unknown_machine_has_common_formulas() -> None:
    for metric in ("cpi", "l1mp", "problem_state_pct", "lpar_cpu_pct", "ghz", "sha_fn_rate", "core_busy_pct"):
        assert counter_formula(None, metric) is not None
    for metric in ("l3p", "rni", "est_finite_cpi", "est_instr_cmplx_cpi", "transactions", "tlb_pte_pct"):
        assert counter_formula(None, metric) is None


def test_common_formulas_are_written_once() -> None:
    assert cpumf_formulas.column_formula("cpi") == "counter.c0 / counter.c1"
    assert cpumf_formulas.column_formula("lpar_cpu_pct") == "100 * counter.used / seconds"
    assert cpumf_formulas.column_formula("l15p") == (
        "case(counter.generation = 'z10', 100 * (counter.c128 + counter.c129) / (counter.c2 + counter.c4))"
    )
    assert cpumf_formulas.column_formula("est_instr_cmplx_cpi", keep=("cpi", "est_finite_cpi")).endswith(
        ", cpi - est_finite_cpi)"
    )
    for _, column in measures.all_columns():
        if column.varies_by:
            assert cpumf_formulas.column_formula(column.name, FormulaPolicy(unverified=True)), column.name


def test_status_propagates_to_derived_formulas() -> None:
    mine = FormulaPolicy(weights=CpumfWeights(rni={"z196": (1.67, 0.4, 1.0, 2.4, 7.5)}))
    assert counter_formula("z196", "rni", mine).status == "user"
    assert counter_formula("z196", "est_finite_cpi", mine).status == "user"
    assert counter_formula("z196", "est_instr_cmplx_cpi", mine).status == "user"
    assert counter_formula("z196", "cpi", mine).status == "verified"
    assert counter_formula("z13", "est_finite_cpi", mine).status == "linux"


# The workload hint


def hint(l1mp: float | None, rni: float | None) -> str | None:
    cases = ", ".join(f"{each.when}, '{each.category}'" for each in cpumf.HintTable.load().hints)
    numbers = {"l1mp": l1mp, "rni": rni}
    sql = expressions.compile_sql(f"case({cases})", lambda name: str(numbers[name] or "NULL"))
    [(found,)] = duckdb.sql(f"SELECT {sql}").fetchall()
    return found


@pytest.mark.parametrize(
    ("l1mp", "rni", "category"),
    [
        (2.99, 0.74, "LOW"),
        (2.99, 0.75, "AVERAGE"),
        (3.0, 0.59, "LOW"),
        (3.0, 0.60, "AVERAGE"),
        (6.0, 1.00, "AVERAGE"),
        (6.0, 1.01, "HIGH"),
        (6.01, 0.74, "AVERAGE"),
        (6.01, 0.75, "HIGH"),
        (None, 0.75, None),
        (3.0, None, None),
    ],
)
def test_bounds_of_workload_hint(l1mp: float | None, rni: float | None, category: str | None) -> None:
    assert hint(l1mp, rni) == category


# The user's weights


def test_file_of_weights() -> None:
    weights = cpumf_weights.parse(
        """
        # mine
        z10 = { rni = [1, 1.0, 2.4, 7.5] }
        z16 = { rni = [4.3, 0.45, 1.3, 5.0, 6.1], finite = [0.5, 0.04] }
        zEC12 = { finite = [0.54, 0] }
        """,
        "mine.toml",
    )
    assert weights.rni == {"z10": (1.0, 1.0, 2.4, 7.5), "z16": (4.3, 0.45, 1.3, 5.0, 6.1)}
    assert weights.finite == {"z16": (0.5, 0.04), "zEC12": (0.54, 0.0)}
    mine = FormulaPolicy(weights=weights)
    assert counter_formula("z16", "rni", mine).status == "user"
    assert counter_formula("zEC12", "est_finite_cpi", mine).formula == "0.54 * (B3 + B5) / B1"
    assert "B3 + B5" in counter_formula("z16", "est_scpl1m", mine).formula
    assert cpumf_weights.parse("", "empty.toml") == CpumfWeights()


def test_catalog_examples_are_correct() -> None:
    lines = re.findall(r"^ +(z\w+ = \{.*\})$", cpumf_weights.__doc__ or "", re.MULTILINE)
    assert len(lines) == 2
    cpumf_weights.parse("\n".join(lines), "example")


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("z16 = [", "not valid TOML", None),
        ("z9 = { rni = [1, 2] }", "no machine generation 'z9'", "z10, z196"),
        ("z16 = 4.3", "neither rni nor finite", "rni = [numbers]"),
        ("z16 = {}", "neither rni nor finite", "rni = [numbers]"),
        ("z16 = { rin = [1, 2, 3, 4, 5] }", "neither rni nor finite", "rni = [numbers]"),
        (
            "z16 = { rni = 4.3 }",
            "z16: rni is not a list",
            "5 numbers: the factor, and the weights of L3P, L4LP",
        ),
        ("z16 = { rni = [4.3, 0.45, 1.3, 5.0] }", "z16: rni has 4 values", "5 numbers"),
        ("z10 = { rni = [1, 1, 2.4, 7.5, 1] }", "z10: rni has 5 values", "4 numbers: the factor, and the"),
        ("z16 = { finite = [0.5] }", "z16: finite has 1 values", "2 numbers: a and b"),
        ("z16 = { finite = [0.5, true] }", "z16: finite has True", "numbers from 0"),
        ("z16 = { finite = [0.5, '1'] }", "z16: finite has '1'", "numbers from 0"),
        ("z16 = { finite = [0.5, nan] }", "z16: finite has nan", "numbers from 0"),
        ("z16 = { finite = [0.5, inf] }", "z16: finite has inf", "numbers from 0"),
        ("z16 = { finite = [0.5, -0.1] }", "z16: finite has -0.1", "numbers from 0"),
    ],
)
def test_wrong_weights(text: str, said: str, expected: str | None) -> None:
    with pytest.raises(InputError) as caught:
        cpumf_weights.parse(text, "mine.toml")
    assert said in caught.value.message
    assert caught.value.file == ("mine.toml:1" if "valid TOML" in said else "mine.toml")
    assert caught.value.cure
    assert expected is None or expected in (caught.value.expected or "")


def test_unreadable_weight_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        cpumf_weights.read(str(tmp_path / "nothing.toml"))
    with pytest.raises(InputError, match="cannot be read"):
        cpumf_weights.read(str(tmp_path))
    path = tmp_path / "binary"
    path.write_bytes(b"z16 \xff\xfe")
    with pytest.raises(InputError, match="not text") as caught:
        cpumf_weights.read(str(path))
    assert caught.value.offset == 4
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="longer than"):
        cpumf_weights.read(str(path))
