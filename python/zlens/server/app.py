"""The HTTP application: requests in, JSON out. All other modules are independent of HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import traceback
from collections.abc import AsyncGenerator
from contextlib import nullcontext, suppress
from typing import Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.middleware import Middleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zlens.catalog import measures as catalog
from zlens.engine.error_translation import out_of_memory
from zlens.errors import CanceledError, CatalogError, InputError, QueryError, Wording, ZlensError
from zlens.schema.validators import ListOf
from zlens.server import endpoints, json_values, metrics, openapi, static_files
from zlens.server import guard as guards
from zlens.server.endpoints import ENDPOINTS
from zlens.server.endpoints.endpoint import ROOT, Endpoint, WrongParameterError
from zlens.server.guard import BODY, Guard, Refusal
from zlens.server.live_updates import MAX_CLIENTS, EventStreamResponse, LiveWorkspace, ServedWorkspace
from zlens.server.request_log import RequestLog
from zlens.server.response_bodies import (
    LINES,
    BodySender,
    BusyError,
    StreamedResponse,
    TooManyError,
    wait_for_disconnect,
)
from zlens.server.running_requests import USER, RunningRequests
from zlens.server.sql_workers import GONE, GoneError, Server, Work, WorkerResponse
from zlens.server.workspace import Workspace

#: Path of the events that report closed intervals.
FOLLOW = f"{ROOT}/follow"
#: Compresses responses for clients that accept it, except streams, whose lines must arrive one by one. Higher
#: levels take several times as long for a few percent. What the web UI loads first is compressed without a
#: thread: the first one takes longer to start than all of that to compress.
_COMPRESSION = Middleware(
    GZipMiddleware,
    compresslevel=3,
    thread_minimum_size=1024**2,
    exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, LINES),
)
#: Seconds in which the body of a request must arrive.
_ARRIVAL_S = 30.0
#: Header of every response: the number of problems found so far; a change means a new complete count.
PROBLEMS = "zlens-problems"
#: A file path in a message, except paths that are the same on every machine.
_PATH = re.compile(r"(?<![\w./])(?!/(?:api|proc|sys|dev)/)/(?:[^\s'\";,/]+/)+([^\s'\";,/]+)")


def create_app(
    workspace: Workspace | ServedWorkspace,
    guard: Guard | None = None,
    running: RunningRequests | None = None,
    log: RequestLog | None = None,
) -> ASGIApp:
    """Create the application for a workspace."""
    static_files.read(static_files.FOLDER)
    guard, running, bodies = guard or Guard(), running or RunningRequests(), BodySender()
    served = workspace if isinstance(workspace, ServedWorkspace) else ServedWorkspace(workspace)
    routes = [Route(path, _methods(path, served, running, bodies, guard), methods=None) for path in _paths()]
    routes.append(Route(guards.METRICS, _metrics(served, running, bodies), methods=None))
    routes += [Route(path, _health_handler(path, served), methods=None) for path in guards.HEALTH]
    if isinstance(served, LiveWorkspace):
        routes.append(_following(served))
    routes.append(Route("/{path:path}", _Any(_static), methods=None))
    return Guarded(Starlette(routes=routes, middleware=[_COMPRESSION]), guard, log)


def _paths() -> list[str]:
    return list(dict.fromkeys(endpoint.path for endpoint in ENDPOINTS))


def _following(served: LiveWorkspace) -> Route:
    """Return the route of the events of a live workspace."""

    async def follow(request: Request) -> Response:
        if served.clients >= MAX_CLIENTS:
            return failed(BusyError(f"{MAX_CLIENTS:,} clients already follow", cure="try again later"))
        return EventStreamResponse(served)

    return Route(FOLLOW, follow, methods=["GET"])


def _methods(
    path: str, served: ServedWorkspace, running: RunningRequests, bodies: BodySender, guard: Guard
) -> Any:
    """Return the handler of a path; it responds to unsupported methods with a JSON error."""
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
        tag = static_files.tag_of(answer.body) if endpoint.tagged and answer.status == 200 else None
        try:
            response = (
                Response(status_code=304)
                if tag is not None and _is_known(request, tag)
                else bodies.response(answer.body, answer.status)
            )
        except BusyError as error:
            return failed(error)
        response.headers[PROBLEMS] = str(answer.problems)
        if tag is not None:
            response.headers.update({"etag": tag, "cache-control": "private, no-cache"})
        if endpoint.media and answer.status == 200:
            response.headers["content-type"] = endpoint.media
        return response

    return _Any(handle)


async def _exchange_token(endpoint: Endpoint, request: Request, guard: Guard) -> Response:
    """Exchange the token for a cookie."""
    cookie = guard.session_cookie(endpoint.check(await _body(request))["token"])
    if cookie is None:
        return refused(Refusal(401, "Token", "this is not the token", "zlens serve printed it"))
    response = _json({"entered": True})
    response.headers["set-cookie"] = cookie
    return response


def _metrics(served: ServedWorkspace, running: RunningRequests, bodies: BodySender) -> Any:
    """Return the handler of /metrics."""
    preparing: dict[bool, asyncio.Task[None]] = {}

    async def page(*, openmetrics: bool) -> WorkerResponse:
        def work() -> WorkerResponse:
            with served.use() as workspace:
                text = metrics.page(workspace, openmetrics=openmetrics, rows=running.limits.rows)
                return WorkerResponse(200, 0, text)

        return await running.run_request(None, "metrics", work, _wait_forever)

    async def prepare(live: LiveWorkspace, *, openmetrics: bool) -> None:
        """Compute the next page before it is scraped; each scrape starts this for the next one."""
        newest = metrics.newest(live.current)
        while await live.wait_for_replacement():
            if metrics.newest(live.current) != newest:
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
            response = bodies.response(answer.body, answer.status)
        except Exception as error:
            return _failure(error)
        task = preparing.get(openmetrics)
        if isinstance(served, LiveWorkspace) and (task is None or task.done()):
            preparing[openmetrics] = asyncio.ensure_future(prepare(served, openmetrics=openmetrics))
        response.headers["content-type"] = metrics.CONTENT_TYPES[openmetrics]
        return response

    return _Any(handle)


def _health_handler(path: str, served: ServedWorkspace) -> Any:
    """Return the handler of a health check: whether the server responds or has data; discloses no data."""

    async def handle(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _wrong_method(f"{path} accepts GET only")
        text, status = "ok\n", 200
        if path == guards.READY and served.is_blocked:
            text, status = "new data cannot be stored\n", 503
        elif path == guards.READY and not metrics.newest(served.current):
            text, status = "no interval yet\n", 503
        return Response(text, status, {"cache-control": "no-store"}, "text/plain")

    return _Any(handle)


def _wrong_method(message: str) -> Response:
    response = refused(Refusal(405, "Method", message))
    response.headers["allow"] = "GET, HEAD"
    return response


async def _wait_forever() -> None:
    """Wait forever: a client that times out retries soon, and the response is then ready."""
    await asyncio.Event().wait()


def answer_apart(workspace: Workspace, request: dict[str, Any]) -> WorkerResponse:
    """Return the response of an endpoint that runs in a worker process (`apart`)."""
    endpoint, parameters = endpoints.find("POST", request["name"]), request["parameters"]
    try:
        with workspace.for_run(parameters["run"]) as selected:
            body = _body_of(endpoint.answer(selected, parameters))
            return WorkerResponse(200, len(selected.session.problems), body)
    except Exception as error:
        return _ready(error, len(workspace.session.problems))


def live_answers() -> Work:
    """Return the function that answers requests in a worker of live data; the first request opens them."""
    # Import before workers are forked.
    from zlens.live import session_transfer

    catalog.measure_names()
    workspaces: list[Workspace] = []

    def answer(request: dict[str, Any], server: Server) -> WorkerResponse:
        if not workspaces:
            try:
                session = session_transfer.opened(server.description(), server.folder, server.fetch)
            except FileNotFoundError:
                return WorkerResponse(GONE, 0, b"")
            except Exception as error:
                return _ready(error, 0)
            workspaces.append(Workspace(session, (), live=True))
        return answer_apart(workspaces[0], request)

    return answer


def _body_of(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else json_values.body(answer)


def _ready(error: Exception, problems: int) -> WorkerResponse:
    response = _failure(error)
    return WorkerResponse(response.status_code, problems, bytes(response.body))


class _Any:
    """An ASGI application that calls one function for every HTTP method."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


async def _answer(
    endpoint: Endpoint, request: Request, served: ServedWorkspace, running: RunningRequests
) -> WorkerResponse:
    def respond(answer: Any, workspace: Workspace = served.current) -> WorkerResponse:
        # A file may change while it is served; the web UI then requests the problems again.
        return WorkerResponse(200, len(workspace.session.problems), _body_of(answer))

    if endpoint.name == "openapi.json":
        return respond(openapi.document())
    raw_params = _read(endpoint, request.query_params) if endpoint.method == "GET" else await _body(request)
    parameters = endpoint.check(raw_params)
    if endpoint.name == "cancel":
        return respond({"cancelled": running.cancel(parameters["id"])})
    if endpoint.name == "running":
        return respond(running.rows())

    def work() -> WorkerResponse:
        while True:
            with served.use() as workspace:
                if endpoint.apart and workspace.processes is not None:
                    try:
                        question = {"name": endpoint.name, "parameters": parameters}
                        return workspace.processes.run_query(question, workspace.published)
                    except GoneError:
                        if workspace is served.current:
                            raise
                        continue
                with (
                    workspace.for_run(parameters["run"]) as run_workspace,
                    run_workspace.for_systems(parameters) as selected,
                    selected.precedence.request() if endpoint.urgent else nullcontext(),
                ):
                    return respond(endpoint.answer(selected, parameters), run_workspace)

    return await running.run_request(
        parameters["id"], endpoint.name, work, lambda: wait_for_disconnect(request.receive)
    )


async def _streamed(
    endpoint: Endpoint, request: Request, served: ServedWorkspace, running: RunningRequests
) -> Response:
    """Return lines of JSON, sent as they are computed; earlier errors have an HTTP status of their own."""
    parameters = endpoint.check(_read(endpoint, request.query_params))
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def append(line: bytes | None) -> None:
        # The event loop may be closed, and no client waits for the line.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, line)

    def work() -> None:
        try:
            with (
                served.use() as workspace,
                workspace.for_run(parameters["run"]) as run_workspace,
                run_workspace.for_systems(parameters) as selected,
            ):
                for part in endpoint.answer(selected, parameters):
                    append(json_values.body(part) + b"\n")
        finally:
            append(None)

    task = asyncio.ensure_future(
        running.run_request(
            parameters["id"], endpoint.name, work, lambda: wait_for_disconnect(request.receive)
        )
    )
    # The request may be rejected before it starts.
    first = asyncio.ensure_future(queue.get())
    await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
    if not first.done() or first.result() is None:
        first.cancel()
        await task

    async def lines() -> AsyncGenerator[bytes]:
        try:
            line = first.result() if first.done() and not first.cancelled() else None
            while line is not None:
                yield line
                line = await queue.get()
            try:
                await task
            except Exception as error:
                yield bytes(_failure(error).body) + b"\n"
        finally:
            task.cancel()

    response = StreamedResponse(lines())
    response.headers[PROBLEMS] = str(len(served.current.session.problems))
    return response


def _read(endpoint: Endpoint, query: QueryParams) -> dict[str, Any]:
    """Parse the parameters of a URL."""
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
    """Read the JSON body of a request."""
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_ARRIVAL_S):
            async for chunk in request.stream():
                size += len(chunk)
                if size > BODY:
                    raise _TooLargeError("the request is too long", cure=f"send at most {BODY:,} bytes")
                chunks.append(chunk)
    except TimeoutError:
        raise WrongParameterError("the request did not arrive in time") from None

    def no_number(word: str) -> Any:
        raise ValueError(word)

    try:
        return json.loads(b"".join(chunks).decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError):
        raise WrongParameterError("the request is not JSON", expected="one object in UTF-8") from None


class _TooLargeError(QueryError):
    pass


async def _static(request: Request) -> Response:
    path = request.url.path
    if path.startswith("/api"):
        return refused(Refusal(404, "NotFound", "no such endpoint", f"see {ROOT}/openapi.json"))
    if request.method not in ("GET", "HEAD"):
        return _wrong_method("the web UI accepts GET only")
    file = static_files.find(path)
    if file is None:
        if path == "/":
            return refused(
                Refusal(404, "NotFound", "the web UI is not built", "cd ui && npm ci && npm run build")
            )
        return refused(Refusal(404, "NotFound", "no such page", "open /"))
    headers = {"etag": file.tag, "cache-control": file.caching}
    if _is_known(request, file.tag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=None, headers={**headers, "content-type": file.kind})


def _is_known(request: Request, tag: str) -> bool:
    """Return whether the client already has the response with this ETag."""
    tags = request.headers.get("if-none-match", "").split(",")
    return tag in {known.strip().removeprefix("W/") for known in tags}


def _json(value: Any, status: int = 200) -> Response:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(json_values.body(value), status_code=status, headers=headers)


def refused(refusal: Refusal) -> Response:
    return _error(refusal.status, refusal.kind, refusal.message, None, refusal.cure)


def _failure(error: Exception) -> Response:
    """Return the response to any exception of a request."""
    if isinstance(error, ZlensError):
        return failed(error)
    if isinstance(error, OSError):
        name = os.path.basename(str(error.filename)) if error.filename else "an input"
        return failed(
            InputError(f"{name}: {error.strerror or error}", cure="check that the file still exists")
        )
    if isinstance(error, MemoryError):
        return failed(out_of_memory())
    return unexpected(error)


def failed(error: ZlensError) -> Response:
    """Return the response to a ZlensError of a request, an input or the catalog."""
    # The documented API uses this name.
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
    # Paths of inputs on this machine are not disclosed to users of the web UI.
    message = _PATH.sub(r"\1", Wording.for_web_ui(error.message))
    if error.file is not None:
        location = f" at byte {error.offset:,}" if error.offset is not None else ""
        message = f"{os.path.basename(error.file)}{location}: {message}"
    expected, cure = (text and Wording.for_web_ui(text) for text in (error.expected, error.cure))
    return _error(status, kind, message, expected, cure, getattr(error, "position", None))


def unexpected(error: Exception) -> Response:
    """Return the response to a bug, one sentence; with ZLENS_DEBUG, print the traceback on the terminal."""
    if os.environ.get("ZLENS_DEBUG"):
        traceback.print_exception(error)
    message = f"unexpected {type(error).__name__}; this is a bug in zlens"
    cure = "please report it with the request (ZLENS_DEBUG=1 shows the traceback)"
    return _error(500, "Unexpected", message, None, cure)


def _error(
    status: int, kind: str, message: str, expected: str | None, cure: str | None, position: int | None = None
) -> Response:
    error = {"message": message, "expected": expected, "cure": cure, "kind": kind}
    return _json({"error": error if position is None else {**error, "position": position}}, status)


class Guarded:
    """An ASGI application that checks and logs every request and adds security headers to responses."""

    def __init__(self, app: ASGIApp, guard: Guard, log: RequestLog | None = None) -> None:
        self._app = app
        self._guard = guard
        self._log = log
        self._known = frozenset({*_paths(), FOLLOW, guards.METRICS, *guards.HEALTH})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Only HTTP is supported.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        start, status, size = time.monotonic(), None, 0
        request = _guarded(scope)
        user = self._guard.user(request)

        async def secured(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *guards.SECURITY]
            size += len(message.get("body", b""))
            await send(message)

        user_token = USER.set(user)
        try:
            await self._answer(request, scope, receive, secured)
        except Exception as error:
            if status is not None:
                raise
            await unexpected(error)(scope, receive, secured)
        finally:
            USER.reset(user_token)
            if self._log is not None:
                method = request.method
                self._log.write(
                    user=user,
                    peer=request.peer,
                    method=method if method.isalpha() and len(method) < 10 else "?",
                    what=self._what(scope["path"]),
                    status=status,
                    seconds=round(time.monotonic() - start, 3),
                    bytes=size,
                )

    async def _answer(self, request: guards.Request, scope: Scope, receive: Receive, send: Send) -> None:
        base = self._guard.public.path if self._guard.public is not None else ""
        if base and request.path == base:
            # The web UI resolves its files and the API relative to its address, which ends with a slash.
            await RedirectResponse(f"{base}/", status_code=308)(scope, receive, send)
            return
        if base and request.path.startswith(f"{base}/"):
            # Some proxies forward the path unchanged; others remove the prefix.
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
        """Return the name of a path for the log; only endpoints by path, as others may contain anything."""
        if path in self._known:
            return path
        return "page" if static_files.exists(path) else "unknown"


def _guarded(scope: Scope) -> guards.Request:
    headers: dict[str, list[str]] = {}
    for name, value in Headers(scope=scope).items():
        headers.setdefault(name.lower(), []).append(value)
    peer = scope.get("client")
    return guards.Request(scope["method"], scope["path"], headers, peer[0] if peer else None)
