"""The HTTP application: requests in, JSON out. All other modules are independent of HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import traceback
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zlens.catalog import measures as catalog
from zlens.engine.error_translation import out_of_memory
from zlens.errors import CanceledError, CatalogError, InputError, QueryError, Wording, ZlensError
from zlens.exposition import limits as exposition
from zlens.schema.validators import ListOf
from zlens.server import endpoints, json_values, metrics, openapi, static_files
from zlens.server import guard as guards
from zlens.server.current_user import USER
from zlens.server.endpoints import ENDPOINTS, ROOT, Endpoint, WrongParameterError
from zlens.server.guard import BODY, Guard, Refusal
from zlens.server.live_updates import MAX_CLIENTS, EventStreamResponse, LiveWorkspace, ServedWorkspace
from zlens.server.request_log import RequestLog
from zlens.server.response_bodies import BodySender, BusyError, JsonLinesResponse, TooManyError
from zlens.server.running_requests import RunningRequests
from zlens.server.sql_workers import GONE, GoneError, Server, Work, WorkerResponse
from zlens.server.workspace import Workspace

#: Where clients learn of closed intervals.
FOLLOW = f"{ROOT}/follow"
#: Seconds in which the body of a request must arrive.
_ARRIVAL_S = 30.0
#: Header of every answer: the number of problems found so far; when it changes, so did the complete count.
PROBLEMS = "zlens-problems"
#: A path in a message, except those that are the same on every machine.
_PATH = re.compile(r"(?<![\w./])(?!/(?:api|proc|sys|dev)/)/(?:[^\s'\";,/]+/)+([^\s'\";,/]+)")


def create_app(
    place: Workspace | ServedWorkspace,
    guard: Guard | None = None,
    running: RunningRequests | None = None,
    sending: BodySender | None = None,
    exported: exposition.ExportLimits | None = None,
    log: RequestLog | None = None,
) -> ASGIApp:
    """The application for a place; `exported` says how much its metrics contain."""
    guard, running, sending = guard or Guard(), running or RunningRequests(), sending or BodySender()
    served = place if isinstance(place, ServedWorkspace) else ServedWorkspace(place)
    pages = metrics.MetricsPages(exported or exposition.ExportLimits())
    routes = [Route(path, _methods(path, served, running, sending, guard), methods=None) for path in _paths()]
    routes.append(Route(guards.METRICS, _metrics(served, running, sending, pages), methods=None))
    routes += [Route(path, _health_handler(path, served), methods=None) for path in guards.HEALTH]
    if isinstance(served, LiveWorkspace):
        routes.append(_following(served))
    routes.append(Route("/{path:path}", _Any(_static), methods=None))
    app = Starlette(routes=routes)
    app.state.running = running
    return Guarded(app, guard, log)


def _paths() -> list[str]:
    return list(dict.fromkeys(endpoint.path for endpoint in ENDPOINTS))


def _following(served: LiveWorkspace) -> Route:
    """Events of a place that is replaced."""

    async def follow(request: Request) -> Response:
        if served.clients >= MAX_CLIENTS:
            return failed(BusyError(f"{MAX_CLIENTS:,} clients already follow", cure="try again later"))
        return EventStreamResponse(served)

    return Route(FOLLOW, follow, methods=["GET"])


def _methods(
    path: str, served: ServedWorkspace, running: RunningRequests, sending: BodySender, guard: Guard
) -> Any:
    """The handler of a path, with a JSON error for a method that it lacks."""
    by_method = {endpoint.method: endpoint for endpoint in ENDPOINTS if endpoint.path == path}

    async def handle(request: Request) -> Response:
        endpoint = by_method.get(request.method)
        if endpoint is None:
            allowed = ", ".join(by_method)
            refusal = Refusal(405, "Method", f"{path} accepts {allowed}", "see /api/v1/openapi.json")
            response = refused(refusal)
            response.headers["allow"] = allowed
            return response
        try:
            if endpoint.name == "login":
                return await _exchange_token(endpoint, request, guard)
            if endpoint.lines:
                return await _streamed(endpoint, request, served, running)
            answer = await _answer(endpoint, request, served, running)
        except ClientDisconnect:
            return refused(Refusal(400, "Disconnect", "the request did not arrive"))
        except Exception as error:
            return _failure(error)
        try:
            response = sending.response(answer.body, answer.status)
        except BusyError as error:
            return failed(error)
        response.headers[PROBLEMS] = str(answer.problems)
        return response

    return _Any(handle)


async def _exchange_token(endpoint: Endpoint, request: Request, guard: Guard) -> Response:
    """Exchanges the token for a cookie."""
    cookie = guard.session_cookie(endpoint.check(await _body(request))["token"])
    if cookie is None:
        return refused(Refusal(401, "Token", "this is not the token", "zlens serve printed it"))
    response = _json({"entered": True})
    response.headers["set-cookie"] = cookie
    return response


def _metrics(
    served: ServedWorkspace, running: RunningRequests, sending: BodySender, pages: metrics.MetricsPages
) -> Any:
    """The handler of the page that Prometheus scrapes."""
    preparing: dict[bool, asyncio.Task[None]] = {}

    async def page(*, openmetrics: bool) -> WorkerResponse:
        def work() -> WorkerResponse:
            with served.use() as place:
                return WorkerResponse(200, 0, pages.page(place, openmetrics=openmetrics))

        return await running.run_request(None, "metrics", work, _wait_forever)

    async def prepare(following: LiveWorkspace, *, openmetrics: bool) -> None:
        """Compute the next page before it is scraped; the next scrape prepares the one after it."""
        newest = metrics.newest(following.current)
        while await following.wait_for_replacement():
            if metrics.newest(following.current) != newest:
                # The scrape reports the error.
                with suppress(ZlensError):
                    await page(openmetrics=openmetrics)
                return

    async def handle(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _wrong_method(f"{guards.METRICS} accepts GET only")
        openmetrics = metrics.wants_openmetrics(request.headers.get("accept"))
        try:
            answer = await page(openmetrics=openmetrics)
            response = sending.response(answer.body, answer.status)
        except Exception as error:
            return _failure(error)
        task = preparing.get(openmetrics)
        if isinstance(served, LiveWorkspace) and (task is None or task.done()):
            preparing[openmetrics] = asyncio.ensure_future(prepare(served, openmetrics=openmetrics))
        response.headers["content-type"] = metrics.content_type(openmetrics=openmetrics)
        return response

    return _Any(handle)


def _health_handler(path: str, served: ServedWorkspace) -> Any:
    """Health check: whether the server responds or has data; discloses none of it."""

    async def handle(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _wrong_method(f"{path} accepts GET only")
        well = path != guards.READY or metrics.ready(served.current)
        text, status = ("ok\n", 200) if well else ("no interval yet\n", 503)
        return Response(text, status, {"cache-control": "no-store"}, "text/plain")

    return _Any(handle)


def _wrong_method(message: str) -> Response:
    response = refused(Refusal(405, "Method", message))
    response.headers["allow"] = "GET, HEAD"
    return response


async def _wait_forever() -> None:
    """Waits forever: a client that times out retries soon, and the response is then ready."""
    await asyncio.Event().wait()


async def _wait_for_disconnect(request: Request) -> None:
    """Waits until the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def answer_apart(place: Workspace, request: dict[str, Any]) -> WorkerResponse:
    """The response to a request to an endpoint that is `apart`, in a process of its own."""
    endpoint, parameters = endpoints.find("POST", request["name"]), request["parameters"]
    try:
        with place.for_run(parameters["run"]) as own:
            body = json_values.body(endpoint.answer(own, parameters))
            return WorkerResponse(200, len(own.session.problems), body)
    except Exception as error:
        return _ready(error, len(place.session.problems))


def live_answers() -> Work:
    """What answers requests about live data, in a process of its own that opens them for the first one."""
    # Loaded before the process is forked.
    from zlens.live import session_transfer

    catalog.measure_names()
    opened: list[Workspace] = []

    def answer(request: dict[str, Any], server: Server) -> WorkerResponse:
        if not opened:
            try:
                session = session_transfer.opened(server.description(), server.folder, server.fetch)
            except FileNotFoundError:
                return WorkerResponse(GONE, 0, b"")
            except Exception as error:
                return _ready(error, 0)
            opened.append(Workspace(session, (), live=True))
        return answer_apart(opened[0], request)

    return answer


def _ready(error: Exception, problems: int) -> WorkerResponse:
    response = _failure(error)
    return WorkerResponse(response.status_code, problems, bytes(response.body))


class _Any:
    """An ASGI application that calls one function for every method."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


async def _answer(
    endpoint: Endpoint, request: Request, served: ServedWorkspace, running: RunningRequests
) -> WorkerResponse:
    def ready(answer: Any, place: Workspace = served.current) -> WorkerResponse:
        # A file may change while it is served; the page then asks for the problems again.
        return WorkerResponse(200, len(place.session.problems), json_values.body(answer))

    if endpoint.name == "openapi.json":
        return ready(openapi.document())
    sent = _read(endpoint, request.query_params) if endpoint.method == "GET" else await _body(request)
    parameters = endpoint.check(sent)
    if endpoint.name == "cancel":
        return ready({"cancelled": running.cancel(parameters["id"])})
    if endpoint.name == "running":
        return ready(running.rows())

    def work() -> WorkerResponse:
        while True:
            with served.use() as place:
                if endpoint.apart and place.processes is not None:
                    try:
                        return place.processes.run_query({"name": endpoint.name, "parameters": parameters})
                    except GoneError:
                        if place is served.current:
                            raise
                        continue
                with place.for_run(parameters["run"]) as whole, whole.for_systems(parameters) as own:
                    return ready(endpoint.answer(own, parameters), whole)

    return await running.run_request(
        parameters["id"], endpoint.name, work, lambda: _wait_for_disconnect(request)
    )


async def _streamed(
    endpoint: Endpoint, request: Request, served: ServedWorkspace, running: RunningRequests
) -> Response:
    """Lines of JSON as they are computed. Errors before the first one have a status of their own."""
    parameters = endpoint.check(_read(endpoint, request.query_params))
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(line: bytes | None) -> None:
        # The server may have ended; nobody waits for the line then.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, line)

    def work() -> None:
        try:
            with (
                served.use() as place,
                place.for_run(parameters["run"]) as whole,
                whole.for_systems(parameters) as own,
            ):
                for part in endpoint.answer(own, parameters):
                    put(json_values.body(part) + b"\n")
        finally:
            put(None)

    asked = asyncio.ensure_future(
        running.run_request(parameters["id"], endpoint.name, work, lambda: _wait_for_disconnect(request))
    )
    # The work may be refused before it begins.
    first = asyncio.ensure_future(queue.get())
    await asyncio.wait({asked, first}, return_when=asyncio.FIRST_COMPLETED)
    if not first.done() or first.result() is None:
        first.cancel()
        await asked

    async def lines() -> AsyncGenerator[bytes]:
        try:
            line = first.result() if first.done() and not first.cancelled() else None
            while line is not None:
                yield line
                line = await queue.get()
            try:
                await asked
            except Exception as error:
                yield bytes(_failure(error).body) + b"\n"
        finally:
            asked.cancel()

    response = JsonLinesResponse(lines())
    response.headers[PROBLEMS] = str(len(served.current.session.problems))
    return response


def _read(endpoint: Endpoint, query: QueryParams) -> dict[str, Any]:
    """The values of the parameters of an address."""
    kinds = {key.name: key.kind for key in endpoint.record.keys}
    parameters: dict[str, Any] = {}
    for name, text in query.multi_items():
        kind = kinds.get(name)
        if isinstance(kind, ListOf):
            parameters.setdefault(name, []).extend(kind.parse(text))
        elif name in parameters:
            raise WrongParameterError(f"{name} given twice", cure="leave one out")
        else:
            parameters[name] = kind.parse(text) if kind is not None and text else text or None
    return parameters


async def _body(request: Request) -> Any:
    """The JSON body of a request."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_ARRIVAL_S):
            async for part in request.stream():
                size += len(part)
                if size > BODY:
                    raise _TooLargeError("the request is too long", cure=f"send at most {BODY:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise WrongParameterError("the request did not arrive in time") from None

    def no_number(word: str) -> Any:
        raise ValueError(word)

    try:
        return json.loads(b"".join(parts).decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError):
        raise WrongParameterError("the request is not JSON", expected="one object in UTF-8") from None


class _TooLargeError(QueryError):
    pass


async def _static(request: Request) -> Response:
    path = request.url.path
    if path.startswith("/api"):
        return refused(Refusal(404, "NotFound", "no such endpoint", f"see {ROOT}/openapi.json"))
    if request.method not in ("GET", "HEAD"):
        return _wrong_method("the page accepts GET only")
    file = static_files.find(path)
    if file is None:
        if path == "/":
            return refused(
                Refusal(404, "NotFound", "the page is not built", "cd ui && npm ci && npm run build")
            )
        return refused(Refusal(404, "NotFound", "no such page", "open /"))
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in tags:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=None, headers={**headers, "content-type": file.kind})


def _json(value: Any, status: int = 200) -> Response:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(json_values.body(value), status_code=status, headers=headers)


def refused(refusal: Refusal) -> Response:
    return _error(refusal.status, refusal.kind, refusal.message, None, refusal.cure)


def _failure(error: Exception) -> Response:
    """The response to any exception of a request."""
    if isinstance(error, ZlensError):
        return failed(error)
    if isinstance(error, OSError):
        where = os.path.basename(str(error.filename)) if error.filename else "an input"
        return failed(InputError(f"{where}: {error.strerror or error}", cure="is the file still there?"))
    if isinstance(error, MemoryError):
        return failed(out_of_memory())
    return unexpected(error)


def failed(error: ZlensError) -> Response:
    """The response to a ZlensError: in a request, an input or the catalog."""
    # What the documented API calls it.
    kind = "Cancelled" if isinstance(error, CanceledError) else type(error).__name__
    statuses = {"Cancelled": 409, "InputError": 410, "LakeError": 410}
    status = statuses.get(kind, 400)
    if isinstance(error, CatalogError):
        status = 500
    elif isinstance(error, TooManyError):
        status, kind = 429, "TooMany"
    elif isinstance(error, BusyError):
        status, kind = 503, "Busy"
    elif isinstance(error, _TooLargeError):
        status, kind = 413, "TooLarge"
    elif isinstance(error, WrongParameterError):
        kind = "QueryError"
    # The path of an input on this machine is not disclosed to users of the page.
    message = _PATH.sub(r"\1", Wording.for_web_ui(error.message))
    if error.file is not None:
        at = f" at byte {error.offset:,}" if error.offset is not None else ""
        message = f"{os.path.basename(error.file)}{at}: {message}"
    expected, cure = (text and Wording.for_web_ui(text) for text in (error.expected, error.cure))
    return _error(status, kind, message, expected, cure)


def unexpected(error: Exception) -> Response:
    """The response to a bug: one sentence; with ZLENS_DEBUG, the traceback on the terminal."""
    if os.environ.get("ZLENS_DEBUG"):
        traceback.print_exception(error)
    return _error(
        500,
        "Unexpected",
        f"unexpected {type(error).__name__}; this is a bug in zlens",
        None,
        "please report it with the request (ZLENS_DEBUG=1 shows the traceback)",
    )


def _error(status: int, kind: str, message: str, expected: str | None, cure: str | None) -> Response:
    return _json({"error": {"message": message, "expected": expected, "cure": cure, "kind": kind}}, status)


class Guarded:
    """Checks every request with the guard, logs it, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, guard: Guard, log: RequestLog | None = None) -> None:
        self._app = app
        self._guard = guard
        self._log = log
        self._known = frozenset({*_paths(), FOLLOW, guards.METRICS, *guards.HEALTH})

    @property
    def running(self) -> RunningRequests:
        running: RunningRequests = self._app.state.running  # type: ignore[attr-defined]
        return running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Only HTTP is supported.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        began, status, size = time.monotonic(), None, 0
        request = _guarded(scope)
        user = self._guard.user(request)

        async def secured(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *guards.SECURITY]
            size += len(message.get("body", b""))
            await send(message)

        named = USER.set(user)
        try:
            await self._answer(request, scope, receive, secured)
        except Exception as error:
            if status is not None:
                raise
            await unexpected(error)(scope, receive, secured)
        finally:
            USER.reset(named)
            if self._log is not None:
                self._log.write(
                    user=user,
                    peer=request.peer,
                    method=request.method,
                    what=self._what(scope["path"]),
                    status=status,
                    seconds=time.monotonic() - began,
                    size=size,
                )

    async def _answer(self, request: guards.Request, scope: Scope, receive: Receive, send: Send) -> None:
        base = self._guard.public.path if self._guard.public is not None else ""
        if base and request.path == base:
            # The page finds its files and the API below its own address, which ends in a slash.
            await RedirectResponse(f"{base}/", status_code=308)(scope, receive, send)
            return
        if base and request.path.startswith(f"{base}/"):
            # This proxy passes the path on as it is; others cut it off.
            scope["path"] = request.path.removeprefix(base)
            scope["raw_path"] = scope["path"].encode()
            request = replace(request, path=scope["path"])
        refusal = self._guard.check_request(request)
        if refusal is not None:
            response = refused(refusal)
            if refusal.status == 401:
                response.headers["www-authenticate"] = "Bearer"
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _what(self, path: str) -> str:
        """What a path is: another one than of an endpoint may hold anything."""
        if path in self._known:
            return path
        return "page" if static_files.exists(path) else "unknown"


def _guarded(scope: Scope) -> guards.Request:
    headers: dict[str, list[str]] = {}
    for name, value in Headers(scope=scope).items():
        headers.setdefault(name.lower(), []).append(value)
    peer = scope.get("client")
    return guards.Request(scope["method"], scope["path"], headers, peer[0] if peer else None)
