"""The endpoint file: where clients find the server, and by which token they may ask it.

Plain lines, so that Bash reads them without a parser: port, token, process id, version, engine.
The version is a hash of the code's files: a server whose code has changed steps aside. One server
serves one clone of the code: a second clone's server takes the next free name.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from rag_engine.config import home
from rag_engine.store.files import write_atomically

FILE_NAMES = ("endpoint", *(f"endpoint.{number}" for number in range(2, 10)))
ENGINE = Path(__file__).resolve().parents[2]
"""The folder rag-engine that this code belongs to."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What an endpoint file says.

    Attributes:
        port: Port on 127.0.0.1.
        token: What a request must carry.
        pid: The server's process.
        version: Hash of the code that it runs.
        engine: Folder of that code.
    """

    port: int
    token: str
    pid: int
    version: str
    engine: str


def cache_folder() -> Path:
    """Return the folder of endpoint files, locks and logs."""
    return home() / ".cache" / "knowledge-search"


def read_endpoint(path: Path) -> Endpoint | None:
    """Read an endpoint file; None where there is none or it makes no sense."""
    try:
        port, token, pid, version, engine = path.read_text(encoding="utf-8").split("\n")[:5]
        endpoint = Endpoint(int(port), token, int(pid), version, engine)
    except (OSError, ValueError):
        return None
    return endpoint if 0 < endpoint.port < 65536 and endpoint.pid > 1 and token else None


def own_endpoint_file() -> Path:
    """Return the file that this clone's server has, or would take."""
    folder = cache_folder()
    free = None
    for name in FILE_NAMES:
        endpoint = read_endpoint(folder / name)
        if endpoint and endpoint.engine == str(ENGINE):
            return folder / name
        if free is None and (endpoint is None or not is_alive(endpoint.pid)):
            free = folder / name
    return free or folder / FILE_NAMES[-1]


def write_endpoint(path: Path, endpoint: Endpoint) -> None:
    """Write an endpoint file, readable by its owner alone."""
    lines = (
        str(endpoint.port), endpoint.token, str(endpoint.pid), endpoint.version, endpoint.engine
    )  # fmt: skip
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def code_version() -> str:
    """Return a hash of the names, sizes and times of the code's files."""
    digest = hashlib.sha256()
    for path in sorted((ENGINE / "rag_engine").rglob("*.py")):
        stat = path.stat()
        digest.update(f"{path.relative_to(ENGINE)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def is_alive(pid: int) -> bool:
    """Tell whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
