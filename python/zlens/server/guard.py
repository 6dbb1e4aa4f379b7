"""Access control, before any request is processed.

A page of another site in the same browser can send requests to this machine. It cannot forge `Host` (which
contains the site's own name, even if it resolves to this machine) or `Origin`, and cannot send JSON without
a preflight request, which is never granted.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from msgspec import Struct, field

from zlens.server.proxy import Proxy, PublicUrl, user_of

#: Prefix of the API. Paths without it, except METRICS, are files of the web UI, which contain no data.
API = "/api/"
#: Accepts the token by POST and responds with a cookie.
LOGIN = "/api/v1/login"
METRICS = "/metrics"
#: Health checks: READY also requires that the server has data.
READY = "/readyz"
HEALTH = ("/healthz", READY)
#: Maximum bytes of a request body.
BODY = 1024 * 1024
_OPEN = "open the address that zlens serve prints"

SECURITY = (
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        b"object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


class Refusal(Struct, frozen=True):
    """The rejection of a request: HTTP status, kind, message and fix."""

    status: int
    kind: str
    message: str
    cure: str | None = None


class Request(Struct, frozen=True):
    """The parts of a request that the guard checks.

    headers   values by name in lower case
    peer      address of the client; None for the Unix socket
    """

    method: str
    path: str
    headers: dict[str, list[str]]
    peer: str | None = "127.0.0.1"

    def header(self, name: str) -> str | None:
        """Return the value of a header; "" if it is repeated, None if it is missing."""
        values = self.headers.get(name, [])
        return None if not values else values[0] if len(values) == 1 else ""


class Guard(Struct):
    """Access control of requests.

    hosts    allowed host names in addition to localhost
    token    token that requests must present unless they come from the proxy
    cookie   name of the cookie that represents the token
    public   public address if the server is behind a proxy
    proxy    proxy that names users; other requests need the token
    """

    hosts: frozenset[str] = frozenset()
    token: str | None = None
    cookie: str = "zlens"
    public: PublicUrl | None = None
    proxy: Proxy | None = None
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def check_request(self, request: Request) -> Refusal | None:
        """Return the refusal of a request; None if it is allowed."""
        host = request.header("host")
        if host is None or not self._allowed(host):
            return Refusal(403, "Host", "Host header not allowed", _OPEN)
        origin = request.header("origin")
        if origin is not None and not self._same(origin, host):
            return Refusal(403, "Origin", "cross-site request not allowed", _OPEN)
        if not request.path.startswith(API) and request.path != METRICS:
            return None
        if request.header("sec-fetch-site") not in (None, "none", "same-origin"):
            return Refusal(403, "Origin", "cross-site request not allowed", _OPEN)
        refusal = None if request.path == LOGIN else self._refuse_unauthenticated(request)
        if refusal is not None:
            return refusal
        if request.method == "POST":
            kind = (request.header("content-type") or "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return Refusal(415, "ContentType", "the request is not JSON", "send it as application/json")
            length = request.header("content-length")
            if length is not None and (
                not length.isascii() or not length.isdecimal() or int(length[:12]) > BODY
            ):
                return Refusal(413, "TooLarge", "the request is too long", f"send at most {BODY:,} bytes")
        return None

    def user(self, request: Request) -> str | None:
        """Return the user that the proxy names; None if the request does not come from the proxy."""
        if self.proxy is None or not self.proxy.trusts(request.peer):
            return None
        return user_of(request.headers.get(self.proxy.header, []))

    def session_cookie(self, token: str) -> str | None:
        """Return the cookie that represents the token; None if the token is wrong."""
        if self.token is None or not _equal(token, self.token):
            return None
        secure = "; Secure" if self.public is not None and self.public.scheme == "https" else ""
        path = self.public.path if self.public is not None else ""
        return f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path={path}/{secure}"

    def _refuse_unauthenticated(self, request: Request) -> Refusal | None:
        """Return the refusal of a request without the token that does not come from the proxy."""
        if self.proxy is not None and self.proxy.trusts(request.peer):
            if self.user(request) is None:
                return Refusal(
                    401,
                    "User",
                    "the proxy names no user",
                    f"let it set the header {self.proxy.header} once, to the name of the user",
                )
        elif self.token is not None and not self._has_token(request):
            return Refusal(401, "Token", "token missing or wrong", "enter the token that zlens serve printed")
        elif self.token is None and self.proxy is not None:
            return Refusal(403, "Proxy", "only the proxy may send requests", "open the address of the proxy")
        return None

    def _allowed(self, host: str) -> bool:
        name = _name(host)
        if name is None:
            return False
        if name == "localhost" or name in self.hosts:
            return True
        if self.public is not None and name == self.public.name:
            return True
        if self.token is None:
            return name in ("127.0.0.1", "::1")
        # Only addresses, because a name could belong to another site.
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _same(self, origin: str, host: str) -> bool:
        """Return whether the origin is the web UI: at the requested host, or at the public address."""
        if self.public is not None and (
            origin.lower() == self.public.origin or _name(host) == self.public.name
        ):
            return origin.lower() == self.public.origin
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _has_token(self, request: Request) -> bool:
        token = self.token or ""
        header = request.header("authorization") or ""
        scheme, _, value = header.partition(" ")
        if scheme.lower() == "bearer" and _equal(value.strip(), token):
            return True
        for text in request.headers.get("cookie", []):
            try:
                cookie = SimpleCookie(text).get(self.cookie)
            except CookieError:
                continue
            if cookie is not None and _equal(cookie.value, self._session):
                return True
        return False


def own_names() -> Iterable[str]:
    """Return the host names of this machine."""
    return {name.lower() for name in (socket.gethostname(), socket.getfqdn()) if name}


def _equal(a: str, b: str) -> bool:
    # Digests have equal lengths, so the time of the comparison does not reveal the length of the token.
    return secrets.compare_digest(
        hashlib.sha256(a.encode("utf-8", "replace")).digest(), hashlib.sha256(b.encode()).digest()
    )


def _name(host: str) -> str | None:
    """Return the name or address in `name:port`; None if invalid."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or "@" in host or not name:
        return None
    return name.lower()
