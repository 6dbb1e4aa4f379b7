"""Proxies in front of the server: the public address, and the header that names the user."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from msgspec import Struct

from zlens.errors import QueryError

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
#: A valid header name.
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
#: A path without characters that need escapes.
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
#: Stands for the clients of a Unix socket, which have no address.
UNIX = "unix"
_LONGEST_USER = 200


class PublicUrl(Struct, frozen=True):
    """The address at which users open the web UI.

    scheme   http or https
    host     host in lower case, with the port unless it is the default of the scheme
    path     "" or a path without a trailing slash, such as /zlens
    """

    scheme: str
    host: str
    path: str

    @classmethod
    def read(cls, text: str) -> PublicUrl:
        """Parse an address such as `https://perf.example/zlens`. Raises QueryError."""
        try:
            parts = urlsplit(text)
            parts.port  # noqa: B018  raises if the port is invalid
        except ValueError:
            parts = urlsplit("")
        path = parts.path.rstrip("/")
        bad = parts.query or parts.fragment or "@" in parts.netloc or not _PATH.fullmatch(path)
        if parts.scheme not in ("http", "https") or not parts.hostname or bad:
            raise QueryError(
                f"{text!r} is not the address of a page",
                expected="scheme, host and path, such as https://perf.example/zlens",
            )
        usual = {"http": ":80", "https": ":443"}[parts.scheme]
        return cls(parts.scheme, parts.netloc.lower().removesuffix(usual), path)

    @property
    def name(self) -> str:
        """Host without port."""
        return urlsplit(f"//{self.host}").hostname or self.host

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    def __str__(self) -> str:
        return f"{self.origin}{self.path}/"


class Proxy(Struct, frozen=True):
    """The trusted proxy that names the user.

    header     header with the user's name, in lower case
    networks   networks that it connects from
    unix       whether it connects to the Unix socket
    """

    header: str
    networks: tuple[_Network, ...] = ()
    unix: bool = False

    @classmethod
    def read(cls, header: str, addresses: list[str]) -> Proxy:
        """Parse the name of a header and addresses, networks or `unix`. Raises QueryError."""
        if not _HEADER.fullmatch(header):
            raise QueryError(f"{header!r} is not the name of a header", expected="such as X-Forwarded-User")
        networks: list[_Network] = []
        for address in addresses:
            if address == UNIX:
                continue
            try:
                networks.append(ipaddress.ip_network(address))
            except ValueError:
                raise QueryError(
                    f"{address!r} is not the address of a proxy",
                    expected=f"an address or a network, such as 10.1.2.3 or 10.1.2.0/24, or {UNIX}",
                ) from None
        return cls(header.lower(), tuple(networks), UNIX in addresses)

    def trusts(self, peer: str | None) -> bool:
        """Return whether the peer is the proxy; None is a client of the Unix socket."""
        if peer is None:
            return self.unix
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.networks)


def user_of(values: list[str]) -> str | None:
    """Return the user that the header names; None if it is missing, repeated or invalid."""
    if len(values) != 1:
        return None
    user = values[0].strip()
    return user if user and len(user) <= _LONGEST_USER and user.isprintable() else None
