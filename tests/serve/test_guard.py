"""Who may ask: pure predicates, so that DNS rebinding is tested without a browser."""

from __future__ import annotations

import pytest
from rag_engine.serve.guard import is_local_host, is_local_origin, is_token


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:80", "localhost:1", "LOCALHOST", "[::1]:9"]
)
def test_local_hosts_are_local(host: str) -> None:
    """With and without a port."""
    assert is_local_host(host)


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.1:x",
     "evil.example:127.0.0.1", "::1", "0.0.0.0", "127.0.0.2", "localhost:٣"],
)  # fmt: skip
def test_other_hosts_are_foreign(host: str | None) -> None:
    """A name that an attacker lets point to 127.0.0.1 is still his name."""
    assert not is_local_host(host)


@pytest.mark.parametrize(
    "origin", [None, "http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"]
)
def test_local_origins_are_local(origin: str | None) -> None:
    """Programs send none."""
    assert is_local_origin(origin)


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "http://localhost.evil.example", "file://", "http://[",
     "http://localhost@evil.example", "chrome-extension://abc", "https://evil.example#localhost"],
)  # fmt: skip
def test_other_origins_are_foreign(origin: str) -> None:
    """Every page that was not served by this machine."""
    assert not is_local_origin(origin)


def test_a_token_is_compared_whole() -> None:
    """Neither a part nor another scheme will do."""
    assert is_token("Bearer secret", "secret")
    assert is_token("bearer secret", "secret")
    for given in (
        None,
        "",
        "secret",
        "Bearer",
        "Bearer ",
        "Bearer secre",
        "Bearer secrets",
        "Basic secret",
    ):
        assert not is_token(given, "secret")
    assert not is_token("Bearer gehéim", "secret")
