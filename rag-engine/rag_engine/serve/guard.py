"""Who may ask the server: pure predicates over what a request says of itself.

The server listens on the loopback address alone. That keeps other machines out, but not web pages:
a page's script can send requests to 127.0.0.1, or to a name of its own that it lets point there
(DNS rebinding). So a request needs the token, must be addressed to a local name, and must not come
from a foreign page.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


def is_local_host(host: str | None) -> bool:
    """Tell whether a Host header names this machine."""
    if host is None:
        return False
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "0"
    return name.lower() in LOCAL_NAMES and port.isascii() and port.isdigit()


def is_local_origin(origin: str | None) -> bool:
    """Tell whether an Origin header is absent or names this machine; "null" is foreign."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and is_local_host(parts.netloc)


def is_token(given: str | None, token: str) -> bool:
    """Compare an Authorization header with the token in constant time."""
    if given is None:
        return False
    scheme, _, value = given.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(value.encode(), token.encode())
