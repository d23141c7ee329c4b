"""The server's process: from binding the port to leaving."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_engine.config import Settings
from rag_engine.serve.app import Activity, build_app
from rag_engine.serve.endpoint import (
    ENGINE,
    Endpoint,
    cache_folder,
    code_version,
    own_endpoint_file,
    read_endpoint,
    write_endpoint,
)
from rag_engine.serve.log import open_log
from rag_engine.serve.warm import WarmStore

REQUEST_SECONDS = 5.0
"""Time that a request has to arrive whole."""

BACKLOG = 512
CHECK_SECONDS = 2.0
LOCK_FILE = "server.lock"


def serve(settings: Settings, *, port: int = 0, warm: Path | None = None) -> bool:
    """Serve until there is nothing to do any more; False where another process serves already.

    Args:
        settings: Say when to leave, and what to log.
        port: Port on 127.0.0.1; 0 takes a free one.
        warm: Folder of an index to open at once, with its model.

    Raises:
        OSError: The port is taken by another program.
    """
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.umask(0o077)
    # each clone of the code has a lock of its own: its name is the inode of the engine's folder
    lock = os.open(folder / f"{LOCK_FILE}.{ENGINE.stat().st_ino}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        _serve(settings, port, warm)
        return True
    finally:
        os.close(lock)


def _serve(settings: Settings, port: int, warm: Path | None) -> None:
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    # clients that find the endpoint file before the loop runs wait instead of being refused
    listener.listen(BACKLOG)
    version, token = code_version(), secrets.token_urlsafe(32)
    activity = Activity()
    store = WarmStore()
    app = build_app(token, version, store, activity, open_log(settings))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=_bounded_protocol(),
            lifespan="off",
            ws="none",
            access_log=False,
            server_header=False,
            log_config=None,
            timeout_graceful_shutdown=10,
            backlog=BACKLOG,
        )
    )
    path = own_endpoint_file()
    endpoint = Endpoint(listener.getsockname()[1], token, os.getpid(), version, str(ENGINE))

    def leave_when(reason: Callable[[], bool]) -> None:
        while not server.should_exit:
            time.sleep(CHECK_SECONDS)
            if reason():
                server.should_exit = True

    def done() -> bool:
        idle = not activity.running and time.monotonic() - activity.last > settings.idle_seconds
        return idle or code_version() != version or read_endpoint(path) != endpoint

    write_endpoint(path, endpoint)
    if warm is not None:
        threading.Thread(target=store.warm_up, args=(warm,), daemon=True).start()
    threading.Thread(target=leave_when, args=(done,), daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises a signal again after its own shutdown, which would end us right there
        signal.signal(number, lambda *_: None)
    try:
        server.run(sockets=[listener])
    finally:
        _withdraw(path, endpoint)


def _withdraw(path: Path, endpoint: Endpoint) -> None:
    """Remove the endpoint file, unless it is another server's by now."""
    if read_endpoint(path) == endpoint:
        path.unlink(missing_ok=True)


def _bounded_protocol() -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with a bound on the time in which a request must arrive.

    uvicorn bounds the time between requests, but not a request that trickles in.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_off)

        def handle_events(self) -> None:
            super().handle_events()
            if self.cycle is not None and not self.cycle.more_body and self._deadline:
                self._deadline.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline:
                self._deadline.cancel()
            super().connection_lost(exc)

        def _cut_off(self) -> None:
            if self.cycle is None or self.cycle.more_body:
                self.transport.abort()

    return BoundedProtocol
