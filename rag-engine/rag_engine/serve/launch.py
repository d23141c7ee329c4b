"""Starting, asking and stopping the server from another process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rag_engine.serve.endpoint import (
    ENGINE,
    Endpoint,
    cache_folder,
    code_version,
    is_alive,
    own_endpoint_file,
    read_endpoint,
)

CRASH_FILE = "server.err"
"""What a server says before its log is open, or when it dies; begun anew at each start."""

START_SECONDS = 30.0
STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05


def running_server() -> Endpoint | None:
    """Return this clone's server, if it answers and runs the code as it is now."""
    endpoint = read_endpoint(own_endpoint_file())
    if endpoint is None or endpoint.engine != str(ENGINE):
        return None
    return endpoint if _health(endpoint) == endpoint.version == code_version() else None


def launch(
    *, port: int = 0, idle_seconds: float | None = None, warm: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that outlives this process and its terminal; returns at once.

    Where one serves already, the new process sees that by the lock and ends.

    Args:
        port: Port on 127.0.0.1; 0 takes a free one.
        idle_seconds: Leave after so long without a search; None means the default.
        warm: Folder of an index to open at once.
    """
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [sys.executable, str(ENGINE / "knowledge_server.py"), "run", "--port", str(port)]
    if idle_seconds is not None:
        command += ["--idle-seconds", str(idle_seconds)]
    if warm is not None:
        command += ["--warm", str(warm)]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    with open(folder / CRASH_FILE, "wb", opener=_private) as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # not the caller's folder: the server must not keep a disk from being unmounted
            cwd="/",
            env=environment,
            start_new_session=True,
        )


def wait_until_serving(process: subprocess.Popen[bytes]) -> Endpoint | None:
    """Wait for a server, this process's or one that was faster; None where none comes."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if endpoint := running_server():
            return endpoint
        if process.poll() not in (None, 0):
            return None
        time.sleep(_POLL_SECONDS)
    return None


def stop() -> bool:
    """Stop this clone's server; False where there is none.

    The process is signalled only after it has answered with the version of its endpoint file: a
    number in a file may be that of any process by now.
    """
    endpoint = read_endpoint(own_endpoint_file())
    if endpoint is None or endpoint.engine != str(ENGINE):
        return False
    if _health(endpoint) != endpoint.version:
        return False
    os.kill(endpoint.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_alive(endpoint.pid) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return True


def _health(endpoint: Endpoint) -> str | None:
    """Return the version that the server tells; None where it does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=2)
    try:
        connection.request("GET", "/health")
        answer = json.loads(connection.getresponse().read(4096))
        return str(answer["version"])
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
