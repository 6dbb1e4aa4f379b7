"""A proxy in front of the server: the address it shows to the browser, and the users it names."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from msgspec import Struct

from zlens.errors import QueryError

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
#: A header name as HTTP has it.
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
#: Characters of a path that need no escape and no decoding.
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
#: The word for clients of a Unix socket, which have no address.
UNIX = "unix"
_LONGEST_USER = 200


class PublicUrl(Struct, frozen=True):
    """The address at which users open the page.

    scheme   http or https
    host     host, with the port unless it is the scheme's own, in lower case
    path     "" or a path without a slash at its end, such as /zlens
    """

    scheme: str
    host: str
    path: str

    @classmethod
    def read(cls, text: str) -> PublicUrl:
        """From `https://perf.example/zlens`. Raises QueryError."""
        try:
            parts = urlsplit(text)
            parts.port  # noqa: B018  raises where the port is none
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
        """The host without its port."""
        return urlsplit(f"//{self.host}").hostname or self.host

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    def __str__(self) -> str:
        return f"{self.origin}{self.path}/"


class Proxy(Struct, frozen=True):
    """The proxy that is believed when it names the user.

    header     the header with the user's name, in lower case
    networks   addresses it connects from
    unix       whether it connects by the Unix socket
    """

    header: str
    networks: tuple[_Network, ...] = ()
    unix: bool = False

    @classmethod
    def read(cls, header: str, addresses: list[str]) -> Proxy:
        """From the name of a header and addresses, networks or `unix`. Raises QueryError."""
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
        """Whether a connection from this address is the proxy's; None: by the Unix socket."""
        if peer is None:
            return self.unix
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.networks)


def user_of(values: list[str]) -> str | None:
    """The user that the values of the header name; None where they name none, or several."""
    if len(values) != 1:
        return None
    user = values[0].strip()
    return user if user and len(user) <= _LONGEST_USER and user.isprintable() else None
