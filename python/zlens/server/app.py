"""The server: requests in, JSON out. What is asked and answered stands elsewhere; only this knows HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zlens.errors import CatalogError, InputError, QueryError, Wording, ZlensError
from zlens.schema.kinds import Many
from zlens.server import guard as guards
from zlens.server import openapi, static_files, values
from zlens.server.endpoints import ENDPOINTS, ROOT, Endpoint, WrongParameterError
from zlens.server.guard import BODY, Guard, Refusal
from zlens.server.place import Place
from zlens.server.running import BusyError, Running

#: A question has arrived whole after so many seconds, or never will.
_ARRIVAL_S = 30.0
#: Header of every answer: how many things could not be read as they stand, as far as is known by now.
PROBLEMS = "zlens-problems"


def create(place: Place, guard: Guard | None = None, running: Running | None = None) -> ASGIApp:
    """The server over what was opened."""
    running = running or Running()
    routes = [Route(path, _methods(path, place, running), methods=None) for path in _paths()]
    routes.append(Route("/{path:path}", _Any(_static), methods=None))
    app = Starlette(routes=routes)
    app.state.running = running
    return Guarded(app, guard or Guard())


def _paths() -> list[str]:
    return list(dict.fromkeys(endpoint.path for endpoint in ENDPOINTS))


def _methods(path: str, place: Place, running: Running) -> Any:
    """What answers a path: by the method, with an error in JSON for one it has not."""
    by_method = {endpoint.method: endpoint for endpoint in ENDPOINTS if endpoint.path == path}

    async def handle(request: Request) -> Response:
        endpoint = by_method.get(request.method)
        if endpoint is None:
            allowed = ", ".join(by_method)
            refusal = Refusal(405, "Method", f"{path} is asked with {allowed}", "see /api/v1/openapi.json")
            response = refused(refusal)
            response.headers["allow"] = allowed
            return response
        try:
            response = _json(await _answer(endpoint, request, place, running))
            # A file may change while it is served: the page tells so beside the numbers.
            response.headers[PROBLEMS] = str(len(place.session.problems))
            return response
        except ZlensError as error:
            return failed(error)
        except ClientDisconnect:
            return refused(Refusal(400, "Disconnect", "the question did not arrive"))
        except OSError as error:
            where = os.path.basename(str(error.filename)) if error.filename else "an input"
            return failed(InputError(f"{where}: {error.strerror or error}", cure="is the file still there?"))
        except MemoryError:
            return failed(QueryError("there is not enough memory for this", cure="ask for less at a time"))
        except Exception as error:
            return unexpected(error)

    return _Any(handle)


class _Any:
    """An application of one function, for every method."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


async def _answer(endpoint: Endpoint, request: Request, place: Place, running: Running) -> Any:
    if endpoint.name == "openapi.json":
        return openapi.document()
    given = _read(endpoint, request.query_params) if endpoint.method == "GET" else await _body(request)
    asked = endpoint.check(given)
    if endpoint.name == "cancel":
        return {"cancelled": running.cancel(asked["id"])}
    if endpoint.name == "running":
        return running.rows()

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return await running.ask(asked["id"], endpoint.name, lambda: endpoint.answer(place, asked), gone)


def _read(endpoint: Endpoint, query: QueryParams) -> dict[str, Any]:
    """The parameters of an address as the values they stand for."""
    kinds = {key.name: key.kind for key in endpoint.record.keys}
    found: dict[str, Any] = {}
    for name, text in query.multi_items():
        kind = kinds.get(name)
        if isinstance(kind, Many):
            found.setdefault(name, []).extend(kind.read(text))
        elif name in found:
            raise WrongParameterError(f"{name} given twice", cure="leave one out")
        else:
            found[name] = kind.read(text) if kind is not None and text else text or None
    return found


async def _body(request: Request) -> Any:
    """The JSON that was sent."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_ARRIVAL_S):
            async for part in request.stream():
                size += len(part)
                if size > BODY:
                    raise _TooLargeError("the question is too long", cure=f"send at most {BODY:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise WrongParameterError("the question did not arrive in time") from None

    def no_number(word: str) -> Any:
        raise ValueError(word)

    try:
        return json.loads(b"".join(parts).decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError):
        raise WrongParameterError("the question is no JSON", expected="one object in UTF-8") from None


class _TooLargeError(QueryError):
    pass


async def _static(request: Request) -> Response:
    path = request.url.path
    if path.startswith("/api"):
        return refused(Refusal(404, "NotFound", "there is no such question", f"see {ROOT}/openapi.json"))
    if request.method not in ("GET", "HEAD"):
        response = refused(Refusal(405, "Method", "the page is read with GET"))
        response.headers["allow"] = "GET, HEAD"
        return response
    found = static_files.find(path)
    if found is None:
        if path == "/":
            return refused(
                Refusal(404, "NotFound", "the page is not built", "cd ui && npm ci && npm run build")
            )
        return refused(Refusal(404, "NotFound", "there is no such page", "open /"))
    headers = {"etag": found.tag, "cache-control": "no-cache"}
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if found.tag in known:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=None, headers={**headers, "content-type": found.kind})


def _json(value: Any, status: int = 200) -> Response:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(values.body(value), status_code=status, headers=headers)


def refused(refusal: Refusal) -> Response:
    return _error(refusal.status, refusal.kind, refusal.message, None, refusal.cure)


def failed(error: ZlensError) -> Response:
    """A typed error of ours: of what was asked, of an input that is gone, or of our own catalog."""
    kind = type(error).__name__
    statuses = {"Cancelled": 409, "InputError": 410, "LakeError": 410}
    status = statuses.get(kind, 400)
    if isinstance(error, CatalogError):
        status = 500
    elif isinstance(error, BusyError):
        status, kind = 503, "Busy"
    elif isinstance(error, _TooLargeError):
        status, kind = 413, "TooLarge"
    elif isinstance(error, WrongParameterError):
        kind = "QueryError"
    # Where an input stands on this machine is nobody's matter who only looks at the page.
    message = Wording.as_page(error.message)
    if error.file is not None:
        at = f" at byte {error.offset:,}" if error.offset is not None else ""
        message = f"{os.path.basename(error.file)}{at}: {message}"
    expected, cure = (text and Wording.as_page(text) for text in (error.expected, error.cure))
    return _error(status, kind, message, expected, cure)


def unexpected(error: Exception) -> Response:
    """A fault of ours: one sentence, and the rest on the terminal of whoever asks for it."""
    if os.environ.get("ZLENS_DEBUG"):
        traceback.print_exception(error)
    return _error(
        500,
        "Unexpected",
        f"unexpected {type(error).__name__}; this is a bug in zlens",
        None,
        "please report it with what was asked (ZLENS_DEBUG=1 shows where it arose)",
    )


def _error(status: int, kind: str, message: str, expected: str | None, cure: str | None) -> Response:
    return _json({"error": {"message": message, "expected": expected, "cure": cure, "kind": kind}}, status)


class Guarded:
    """The guard before everything, and headers of security after it."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    @property
    def running(self) -> Running:
        running: Running = self._app.state.running  # type: ignore[attr-defined]
        return running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Nothing else is spoken here.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        begun = False

        async def secured(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), *guards.SECURITY]
            await send(message)

        asked = _guarded(scope)
        refusal = self._guard.refuse(asked)
        if refusal is not None:
            response = refused(refusal)
            if refusal.status == 401:
                response.headers["www-authenticate"] = "Bearer"
            await response(scope, receive, secured)
            return
        cookie = self._guard.entry(asked)
        if cookie is not None:
            # The token does not stay in the address, which is shown, kept and passed on.
            entered = RedirectResponse("/", status_code=303)
            entered.headers["set-cookie"] = cookie
            await entered(scope, receive, secured)
            return
        try:
            await self._app(scope, receive, secured)
        except Exception as error:
            if begun:
                raise
            await unexpected(error)(scope, receive, secured)


def _guarded(scope: Scope) -> guards.Request:
    headers: dict[str, list[str]] = {}
    for name, value in Headers(scope=scope).items():
        headers.setdefault(name.lower(), []).append(value)
    return guards.Request(
        scope["method"], scope["path"], scope.get("query_string", b"").decode("latin-1"), headers
    )
