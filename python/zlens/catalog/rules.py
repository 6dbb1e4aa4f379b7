"""Rules of `zlens findings`, from the catalog and the user.

There is one file per rule, named after its id in lower case; copy `rules/_skeleton.toml` to add one. A user's
rule with the id of a built-in one replaces it.
"""

import os
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import asdict

from zlens.catalog import layouts, measures, roles, session_columns
from zlens.errors import CatalogError
from zlens.schema import document, structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, Prose, doc, one_of
from zlens.schema.toml import line_of
from zlens.schema.validators import DocumentErrors

#: Folder of the built-in rules.
FOLDER = FACTS / "rules"
#: Kinds of rule files.
KINDS = {
    "rule": "a condition that holds or does not",
    "balance": "two numbers that are measured independently and must agree; always checked",
    "note": "a fact that the data cannot confirm; shown by explain and not counted",
}
#: Severities, worst first.
SEVERITIES = ("crit", "warn", "info")
#: Origins of a threshold.
CLASSES = {
    "ibm": "the number or the statement is published by IBM",
    "ibm-qual": "IBM publishes the relation; zlens chose the number",
    "vendor": "published by another vendor",
    "heuristic": "a rule of thumb of zlens: off by default, except in a comparison with a baseline",
    "unverified": "believed to be published; the source was not available",
}
#: Comparisons of the value with the threshold T; the last two need no number.
COMPARES = {
    ">": "above",
    ">=": "at or above",
    "<": "below",
    "<=": "at or below",
    "holds": "the column `holds` of the query states which rows are findings",
    "exists": "every row of the query is a finding",
}
#: Comparisons of the mean of the value with its mean in the baseline.
BASELINES = {
    "rise": "the part by which it rose",
    "fall": "the part by which it fell",
    "points": "the difference, up or down",
    "differs": "any difference of the column `detail`",
}
STATUSES = {
    "verified": "read in a document of IBM",
    "verified-secondary": "read in a source that is not IBM's",
    "derived": "the relation is published, zlens chose the number or the calculation",
    "unverified": "not confirmed by any source",
}

#: Columns of a query, with one row for each tested subject.
COLUMNS = ("system", "source", "interval_end", "seconds", "subject", "value")
#: Optional columns of a query, with their descriptions.
OPTIONAL = {
    "detail": "a text with details of the value",
    "holds": "true if an additional condition is met",
    "threshold": "the threshold of the row, if it differs by row",
}

#: Columns of tables that are not measures but that rules may need.
OTHER_TABLES = {"inventory": frozenset(column.name for column in session_columns.INVENTORY)}

_ID = re.compile(r"[A-Z][A-Z0-9]*-[A-Z0-9]+")
_Number = Annotated[float, Meta(ge=-1e15, le=1e15, title="a number")]


class BaselineChange(FactTable, frozen=True):
    """The comparison of a rule with a baseline."""

    how: Annotated[str, one_of(BASELINES, "how they differ")]
    least: Annotated[_Number, doc("the smallest difference")] = field(default=0.0, name="T")


class Meanwhile(FactTable, frozen=True):
    """Columns of a measure that a verdict states next to a finding, for the time in which the rule held."""

    table: Annotated[str, doc("the measure")]
    columns: Annotated[tuple[str, ...], Meta(min_length=1, description="its columns")]
    by: Annotated[str, doc("a column whose values have a clause each")]
    of: Annotated[str, doc("only values that this measure of the system has, too")]
    clause: Annotated[Prose, doc("the text, with {column}")]


class RuleKeys(FactTable, frozen=True):
    """A rule of `zlens findings`."""

    severity: Annotated[str, one_of(SEVERITIES, "how bad it is")]
    threshold_class: Annotated[str, one_of(CLASSES, "where its threshold is from")] = field(name="class")
    title: Annotated[Prose, doc("title of a finding")]
    condition: Annotated[Prose, doc("the condition in words")]
    meaning: Annotated[Prose, doc("meaning of a finding")]
    source: Annotated[Prose, doc("where it is published")]
    status: Annotated[str, one_of(STATUSES, "how well it is known")]
    id: Annotated[
        str,
        Meta(
            pattern=f"^({_ID.pattern})?$",
            max_length=80,
            title="an id such as CPU-001",
            description="its name; '': the name of its file",
        ),
    ] = ""
    area: Annotated[str, doc("its subject; '': the name of its folder")] = ""
    kind: Annotated[str, one_of(KINDS, "kind")] = "rule"
    query: Annotated[str, doc("SELECT of COLUMNS and what it gives; {T} is replaced by a threshold")] = ""
    baseline_query: Annotated[str, doc("value that is compared with a baseline")] = ""
    gives: Annotated[tuple[Annotated[str, one_of(OPTIONAL)], ...], doc("optional columns of its rows")] = ()
    compare: Annotated[
        str, one_of(("", *COMPARES), "how its value is compared with T; '': only a baseline decides")
    ] = ""
    threshold: Annotated[dict[str, _Number], doc("the numbers by name: { T = 85 }")] = {}
    critical: Annotated[_Number | None, doc("the value from which it is critical")] = None
    limit: Annotated[str, doc("the threshold in words, if `compare` does not state it")] = ""
    unit: Annotated[str, doc("the unit of its value")] = ""
    needs: Annotated[tuple[str, ...], doc("columns of measures, or roles, that the query requires")] = ()
    baseline: Annotated[
        BaselineChange | None, doc('how it is compared with a baseline: { how = "rise", T = 0.1 }')
    ] = None
    around: Annotated[
        str, doc("of a rule about events: the column that the evidence shows before and after them")
    ] = ""
    disagrees: Annotated[tuple[str, ...], doc("rules with another meaning")] = ()
    explains: Annotated[
        tuple[str, ...], doc("rules that a verdict explains by it, if it held before them")
    ] = ()
    clause: Annotated[
        str,
        doc(
            "a finding in a verdict: {subject}, {name} (the subject without its first word), "
            "{value}, {detail}, and {TABLE.COLUMN}: a column while it held; '': verdicts leave it out"
        ),
    ] = ""
    growth: Annotated[
        tuple[str, ...],
        doc("columns of peaks.toml: subjects whose growth explains it; the first one with data"),
    ] = ()
    meanwhile: Meanwhile | None = None
    action: Annotated[str, doc("recommended action")] = ""
    guard: Annotated[str, doc("where it may mislead")] = ""
    reason: Annotated[str, doc("why a note is not a condition")] = ""


class Rule(RuleKeys, frozen=True, kw_only=True):
    """A rule of a file. own: whether it is the user's."""

    file: Path
    own: bool

    @property
    def computable(self) -> bool:
        return self.kind != "note"

    def sql(self, *, baseline: bool = False) -> str:
        """Return the query with the thresholds filled in."""
        text = self.baseline_query if baseline and self.baseline_query else self.query
        for name, number in self.threshold.items():
            text = text.replace(f"{{{name}}}", repr(float(number)))
        return text.strip().rstrip(";")

    def line(self, key: str) -> int | None:
        """Return the line of a key in its file."""
        return line_of(self.file.read_text(encoding="utf-8"), key)

    def where(self, key: str) -> str:
        """Return file and line of a key, for errors."""
        line = self.line(key)
        return str(self.file) if line is None else f"{self.file}:{line}"


def user_root() -> Path:
    """Return the folder of the user's rules in the data folder; it need not exist."""
    return layouts.pack_root().parent / "rules"


def load(*folders: str | os.PathLike[str]) -> dict[str, Rule]:
    """Return all rules by id: built-in, the user's, those of more folders; the last of equal ids applies."""
    rules = dict(builtin())
    user_folder = user_root()
    rule_folders = [user_folder] if user_folder.is_dir() else []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise CatalogError("there is no such folder of rules", file=str(folder), cure="name a folder")
        rule_folders.append(folder)
    for folder in rule_folders:
        rules |= _unique(_files(folder), own=True)
    return dict(sorted(rules.items()))


def _unique(paths: list[Path], *, own: bool) -> dict[str, Rule]:
    """Return the rules of files by id; CatalogError if two files have the same id."""
    by_id: dict[str, Rule] = {}
    for path in paths:
        rule = read(path, own=own)
        first = by_id.setdefault(rule.id, rule)
        if first is not rule:
            raise CatalogError(
                f"the rule {rule.id} is also in {first.file.name}",
                file=rule.where("id"),
                cure="change the id of one of them",
            )
    return by_id


@cache
def builtin() -> dict[str, Rule]:
    """Return the built-in rules by id."""
    return _unique(_builtin_files(), own=False)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if not path.name.startswith(("_", ".")))


def _builtin_files() -> list[Path]:
    """Return the files of the built-in rules, which are in folders by area, in the order of their ids."""
    return sorted(FOLDER.glob("*/*.toml"), key=lambda path: path.name)


def is_id(name: str) -> bool:
    """Return whether a name has the form of a rule id."""
    return _ID.fullmatch(name) is not None


def names() -> list[str]:
    """Return ids of the built-in rules and the user's, from file names only."""
    user_files = _files(user_root()) if user_root().is_dir() else []
    return sorted({path.stem.upper() for path in (*_builtin_files(), *user_files)})


def read(path: Path, *, own: bool = False) -> Rule:
    """Return the rule in one file; CatalogError with file and line if it is invalid."""
    text = document.text_of(path)
    problem = DocumentErrors(str(path), root="the rule", text=text)
    keys = asdict(structs.parse(text, str(path), RuleKeys, problem.root, printed=True))
    texts = {name: value.strip() for name, value in keys.items() if isinstance(value, str)}
    named = {"id": keys["id"] or path.stem.upper(), "area": texts["area"] or path.parent.name}
    rule = Rule(**keys | texts | named, file=path, own=own)
    if not is_id(rule.id):
        raise problem.value("id", rule.id, "an id such as CPU-001")
    for key, message, expected in _faults(rule):
        raise problem.general_error(message, _SEE, expected, key)
    return rule


def missing_columns(rule: Rule) -> list[str]:
    """Return the columns that a rule needs and that no measure or role has."""
    return [name for name in rule.needs if not _is_column(name)]


@cache
def _is_column(name: str) -> bool:
    table, _, column = name.rpartition(".")
    if table.startswith("role."):
        entity = table.removeprefix("role.")
        return entity in roles.entities() and column in roles.entity(entity).roles
    if table in OTHER_TABLES:
        return column in OTHER_TABLES[table]
    return table in measures.measure_names() and measures.load_measure(table).column(column) is not None


def wrong_columns(rule: Rule, columns: Collection[str]) -> tuple[str, str] | None:
    """Return the error in the columns of a rule's query, and the fix; None if there is no error."""
    for name in (*COLUMNS, *rule.gives):
        if name not in columns:
            cure = f"return {', '.join((*COLUMNS, *rule.gives))}"
            if name in rule.gives:
                cure += f", or leave {name} out of gives"
            return f"it has no column {name}", cure
    for name in OPTIONAL:
        if name in columns and name not in rule.gives:
            quoted = ", ".join(f'"{each}"' for each in OPTIONAL if each in (*rule.gives, name))
            return (
                f"the rule does not list its column {name}",
                f"add gives = [{quoted}], or rename the column",
            )
    return None


_SEE = "facts/rules/_skeleton.toml shows what a rule has"


def _faults(rule: Rule) -> Iterator[tuple[str, str, str | None]]:
    """Yield keys that are valid separately but inconsistent, with the problem and the expected value."""
    if rule.kind == "note":
        if rule.query or rule.compare or rule.baseline:
            key = "query" if rule.query else "compare" if rule.compare else "baseline"
            yield key, "a note has no condition", 'kind = "rule"'
        if not rule.reason:
            yield "kind", "the note does not state why it is not a condition", "a reason"
        return
    if not rule.query or not rule.needs:
        key = "query" if not rule.query else "needs"
        yield "", f"the rule has no {key}", None
    if not rule.compare and rule.baseline is None:
        yield "", "the rule has no condition", "compare, or baseline"
    numeric = rule.compare in (">", ">=", "<", "<=")
    if numeric and "T" not in rule.threshold and "threshold" not in rule.gives:
        expected = 'threshold = { T = 85 }, or gives = ["threshold"] and a column threshold of the query'
        yield "compare", "there is no threshold T to compare with", expected
    if rule.compare == "holds" and "holds" not in rule.gives:
        yield "compare", "no column marks findings", 'gives = ["holds"] and a column holds of the query'
    if rule.baseline is not None and rule.baseline.how == "differs" and "detail" not in rule.gives:
        yield "baseline", "no text can differ", 'gives = ["detail"] and a column detail of the query'
    placeholders = {f"{{{name}}}" for name in rule.threshold}
    for query in (rule.query, rule.baseline_query, rule.limit):
        for placeholder in re.findall(r"\{\w+\}", query):
            if placeholder not in placeholders:
                yield "query", f"{placeholder} is not a threshold of the rule", None
