"""Ledgers: accounts that add up, from a machine to its transactions (facts/ledgers).

There is one file of `ledgers/` per ledger; copy `_skeleton.toml` to add one. The classes below are the keys.
"""

from functools import cache
from typing import Annotated, Literal

from msgspec import Meta, field

from zlens.errors import CatalogError, QueryError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc, one_of
from zlens.schema.validators import DocumentErrors

#: How the amount of an account is known.
STATUSES = {
    "measured": "a meter of this subject counted it",
    "solved": "it follows from meters by a calculation",
    "assumed": "an amount of several subjects, divided by another quantity",
}
_FOLDER = FACTS / "ledgers"
#: A formula, as of a column of a measure; its names without a table are columns of m, the first of `rows`.
Formula = Annotated[str, Meta(pattern=r"\S", title="a formula")]
_Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$", title="a name of small letters")]


class LedgerAccount(FactTable, frozen=True, kw_only=True):
    """An account: rows of amounts of one kind, each part of a node of the level above.

    The amounts of the rows with a node's parts as `parent` add up to those of the rows with it as `node`.
    """

    name: Annotated[_Name, doc("its name")]
    title: Annotated[str, doc("display name")]
    text: Annotated[str, doc("what it contains")]
    rows: Annotated[str, doc("FROM clause over measures and helpers; its first table is m")]
    amount: Annotated[Formula, doc("formula of the amount of a row, in the unit of the ledger")]
    meter: Annotated[str, doc("the meter: MEASURE.COLUMN")]
    status: Annotated[str, one_of(STATUSES, "how the amount is known")]
    source: Annotated[str, doc("the records or the publication")]
    assumed_if: Annotated[str, doc("condition of rows whose amount is assumed")] = ""
    subject: Annotated[Formula, doc("name of the subject of a row")] = "null"
    group: Annotated[
        Literal["guest", "partition"] | None, doc("kind of the user's groups that its subjects are in")
    ] = None
    node: Annotated[tuple[Formula, ...], doc("identity of a row with parts; without it, it has none")] = ()
    parent: Annotated[tuple[Formula, ...], doc("identity of the row that it is a part of")] = ()
    account_number: Annotated[Formula, doc("account number that it is charged to")] = "null"
    machine: Annotated[Formula, doc("name of the machine")] = "place.machine"
    partition: Annotated[Formula, doc("name of the partition")] = "place.partition"
    cpu_type: Annotated[Formula, doc("processor type")] = "null"
    transactions: Annotated[Formula, doc("transactions that the amount was used for")] = "null"
    raw: Annotated[Formula, doc("CPU time of guests on threads, in seconds")] = "null"
    mt1: Annotated[Formula, doc("their MT-1 equivalent time, in seconds")] = "null"
    prorated: Annotated[Formula, doc("their prorated core time, in seconds")] = "null"
    not_attributed: Annotated[bool, doc("whether it has no owner")] = False


class LedgerRest(FactTable, frozen=True):
    """The account of what a level's accounts leave of their parents."""

    name: Annotated[_Name, doc("its name")]
    title: Annotated[str, doc("display name")]
    text: Annotated[str, doc("what it contains")]
    not_attributed: Annotated[bool, doc("whether it has no owner")] = True


class LedgerLevel(FactTable, frozen=True):
    """A level: the accounts that divide the nodes of the level above."""

    name: Annotated[_Name, doc("its name")]
    title: Annotated[str, doc("display name")]
    account: tuple[LedgerAccount, ...]
    rest: Annotated[LedgerRest | None, doc("what they leave; without it, nothing is left")] = None


class LedgerMeter(FactTable, frozen=True, kw_only=True):
    """Two meters of the same amount: what the second has of the first is the capture ratio."""

    name: Annotated[_Name, doc("name of the comparison")]
    title: Annotated[str, doc("display name")]
    text: Annotated[str, doc("why they differ")]
    rows: Annotated[str, doc("FROM clause over measures and helpers; its first table is m")]
    subject: Annotated[Formula, doc("name of the subject of a row")]
    first_meter: Annotated[str, doc("the first meter")]
    first: Annotated[Formula, doc("what it counted")]
    second_meter: Annotated[str, doc("the second meter")]
    second: Annotated[Formula, doc("what it counted")]
    source: Annotated[str, doc("the records or the publication")]


class LedgerTable(FactTable, frozen=True, kw_only=True):
    """A further table of the answer of a ledger; facts/answers/ledger.toml has its columns."""

    name: Annotated[_Name, Meta(description="its name")]
    title: Annotated[str, Meta(description="title")]
    query: Annotated[str, Meta(description="SELECT over measures and helpers; no table without rows")]


class Ledger(FactTable, frozen=True, kw_only=True):
    """One ledger. Levels stand in order, from the machine down."""

    name: Annotated[_Name, doc("its name, that of the file")]
    title: Annotated[str, doc("title")]
    unit: Annotated[str, doc("unit of all amounts")]
    binary_digits: Annotated[
        int,
        Meta(
            description="binary digits after the point of amounts, so that sums of them are exact",
            ge=0,
            le=40,
        ),
    ]
    text: Annotated[str, doc("what it counts")]
    not_counted: Annotated[str, doc("what it does not count")]
    tables: Annotated[
        str, doc("function in zlens/ledger/further_tables.py that returns further tables of its answer")
    ] = ""
    queries: tuple[LedgerTable, ...] = field(name="table", default=())
    levels: tuple[LedgerLevel, ...] = field(name="level")
    meters: tuple[LedgerMeter, ...] = field(name="meter", default=())
    needs: Annotated[str, doc("what an input without the ledger lacks")]

    @property
    def entries(self) -> list[LedgerAccount | LedgerRest]:
        """All accounts in order of their levels; what is left comes last in its level."""
        return [entry for level in self.levels for entry in (*level.account, level.rest) if entry]

    def accounts(self) -> dict[str, LedgerAccount | LedgerRest]:
        """Return all accounts by name, in order."""
        return {entry.name: entry for entry in self.entries}

    @property
    def step(self) -> float:
        """The unit of the last digit of amounts: each is a multiple of it.

        Sums up to 2^53 steps are exact: they do not depend on the order of the amounts, nor on sums by hour
        or day between.
        """
        return 2.0**-self.binary_digits


@cache
def ledger_names() -> tuple[str, ...]:
    """Return the names of all ledgers."""
    return tuple(path.stem for path in sorted(_FOLDER.glob("[!_]*.toml")))


@cache
def load_ledger(name: str) -> Ledger:
    """Return a ledger; QueryError if there is none of the name, CatalogError if its file is invalid."""
    if name not in ledger_names():
        raise QueryError(f"there is no ledger {name!r}", expected=f"one of {', '.join(ledger_names())}")
    path = _FOLDER / f"{name}.toml"
    return parse(path.read_text(encoding="utf-8"), str(path))


def parse(text: str, path: str) -> Ledger:
    """Return a ledger from the text of its file; CatalogError with the line if it is invalid."""
    problem = DocumentErrors(path, root="the ledger", text=text)
    ledger = structs.parse(text, path, Ledger, problem.root)
    names = [entry.name for entry in ledger.entries]
    for name in names:
        if names.count(name) > 1:
            raise CatalogError(f"the account {name} is defined twice", file=path, cure="rename one")
    return ledger
