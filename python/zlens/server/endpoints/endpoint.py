"""An endpoint as data: what a request may contain, what answers it, and what the response contains."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec import Struct

from zlens.errors import QueryError
from zlens.schema.validators import DocumentErrors, Integer, Key, Spec, Text, Timestamp
from zlens.server.aggregate import MOST
from zlens.server.workspace import Workspace

ROOT = "/api/v1"

# Parameters that several endpoints have.
NAME = Text(120, 1)
ID = Key("id", Text(64, 1), "a name by which POST /cancel cancels the request", default=None)
RUN = Key("run", Text(400, 1), "a run of the rig instead of the inputs: SCENARIO/RUN", default=None)
SYSTEM = Key("system", NAME, "the system")
ANY_SYSTEM = Key("system", NAME, "only this system", default=None)
SOURCE = Key(
    "source",
    NAME,
    "the source to show where several describe a system (the first one in /schema)",
    default=None,
)
FROM = Key("from", Timestamp(), "intervals that end after this time", default=None)
TO = Key("to", Timestamp(), "intervals that end at or before this time", default=None)
INPUT = Key("input", Text(1000, 1), "only this input, by its name in /schema", default=None)
WINDOW = (ANY_SYSTEM, FROM, TO, INPUT, SOURCE)
SYSTEM_WINDOW = (SYSTEM, SOURCE, FROM, TO)
LIMIT = Key("limit", Integer(1, MOST), "maximum number of rows returned (10000)", default=10_000)


class WrongParameterError(QueryError):
    """A parameter of a request is wrong."""


class Endpoint(Struct, frozen=True):
    """One endpoint.

    work     module and function of this package: (workspace, request) -> JSON value; "" if the application
             itself responds
    gives    descriptions of the keys of the response
    lists    description of the response if it is a list
    lines    description of the response if it is lines of JSON, each an object with these keys
    media    type of a response that is a file
    tagged   whether the response has an ETag, by which a client revalidates what it keeps
    apart    whether a worker process runs it, because input of the user may need any time and memory
    urgent   whether work in the background pauses for it, for which it must not wait: the first picture of a
             view needs it
    """

    name: str
    summary: str
    work: str
    parameters: tuple[Key, ...]
    gives: dict[str, str]
    lists: str = ""
    lines: str = ""
    media: str = ""
    tagged: bool = False
    apart: bool = False
    method: str = "GET"
    urgent: bool = False

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.name}"

    @property
    def record(self) -> Spec:
        has_id = any(parameter.name == "id" for parameter in self.parameters)
        return Spec((*self.parameters, RUN) if has_id else (*self.parameters, ID, RUN))

    def check(self, params: Any) -> dict[str, Any]:
        """Return the checked parameters of a request; raises QueryError with the allowed values."""
        checked: dict[str, Any] = self.record.check(
            params, "", DocumentErrors(error=WrongParameterError, root="the request", json=True)
        )
        return checked

    def answer(self, workspace: Workspace, request: dict[str, Any]) -> Any:
        module, _, function = self.work.partition(":")
        return getattr(import_module(f"zlens.server.{module}"), function)(workspace, request)
