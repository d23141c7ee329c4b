"""The server's HTTP interface: POST /search and GET /health.

A search is the query, raw, as the body, with options in the URL: what Bash can send without a
writer of JSON. The answer is the JSON of the command line; an error is its JSON error, with the
exit code in a header.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag_engine import __version__
from rag_engine.config import load_settings
from rag_engine.errors import KnowledgeError, UsageError
from rag_engine.search.answer import error_to_dict
from rag_engine.search.audit import audit_line
from rag_engine.search.engine import search
from rag_engine.search.request import MAX_QUERY_BYTES, plan_search, request_from_texts
from rag_engine.serve.guard import is_local_host, is_local_origin, is_token
from rag_engine.serve.log import SearchLog
from rag_engine.serve.warm import WarmStore

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

OPTIONS = ("preset", "mode", "top", "scope", "tags", "author", "after", "db-path", "kb", "audit")
MAX_BODY_BYTES = 1024 * 1024
EXIT_CODE_HEADER = "x-exit-code"

WORKERS = 2
"""Searches that run at once; the model has as many turns."""

MAX_WAITING = 256
"""Searches that run or wait; one more is told to come again."""


@dataclass(slots=True)
class Activity:
    """What the server has to do.

    Attributes:
        running: Searches that run or wait.
        last: When the last one came or ended, on the monotonic clock.
    """

    running: int = 0
    last: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> bool:
        """Count a search in; False where there are too many."""
        with self._lock:
            if self.running >= MAX_WAITING:
                return False
            self.running += 1
            self.last = time.monotonic()
            return True

    def end(self) -> None:
        """Count a search out."""
        with self._lock:
            self.running -= 1
            self.last = time.monotonic()


def build_app(
    token: str, version: str, store: WarmStore, activity: Activity, log: SearchLog
) -> Starlette:
    """Build the application.

    Args:
        token: What every request but /health must carry.
        version: Hash of the code, told by /health.
        store: Where indexes and models are kept open.
        activity: Counts searches.
        log: Told of every answer.
    """
    import anyio
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    turns = anyio.CapacityLimiter(WORKERS)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "program": __version__, "version": version})

    async def find(request: Request) -> Response:
        if not is_token(request.headers.get("authorization"), token):
            return _refusal(401, "The token is missing or wrong.")
        body = await _body(request)
        if body is None:
            return _refusal(413, f"The body has more than {MAX_BODY_BYTES:,} bytes.")
        if not activity.begin():
            return _refusal(503, "The server is busy. Ask again in a moment.")
        try:
            status, data, code = await anyio.to_thread.run_sync(
                _search, body, dict(request.query_params), store, log, limiter=turns
            )
        finally:
            activity.end()
        return _response(status, data, code)

    app = Starlette(
        routes=[Route("/health", health), Route("/search", find, methods=["POST"])],
        exception_handlers={
            404: lambda *_: _refusal(404, "There is nothing here. Ask POST /search."),
            405: lambda *_: _refusal(405, "Ask with POST."),
        },
    )
    app.add_middleware(LocalOnly)
    return app


class LocalOnly:
    """Refuses requests that are addressed to, or come from, a foreign name."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer for the application, or hand over to it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not is_local_host(headers.get(b"host")):
            return await _refusal(403, "The Host is not this machine.")(scope, receive, send)
        if not is_local_origin(headers.get(b"origin")):
            return await _refusal(403, "The Origin is not this machine.")(scope, receive, send)
        return await self._app(scope, receive, send)


def _search(
    body: bytes, options: Mapping[str, str], store: WarmStore, log: SearchLog
) -> tuple[int, bytes, int]:
    """Answer one search; returns HTTP status, body and exit code."""
    query: str | None = None
    try:
        if unknown := set(options) - set(OPTIONS):
            raise UsageError(f"There is no option {unknown.pop()!r}.", "See --help.")
        if len(body) > MAX_QUERY_BYTES:
            raise UsageError(f"The query has {len(body):,} bytes.", "It may have 32 KiB.")
        try:
            query = body.decode()
        except UnicodeDecodeError as error:
            raise UsageError("The query is not valid UTF-8.", "Send it as UTF-8.") from error
        # the environment is the caller's matter: it says by option what it wants
        settings = load_settings({})
        request = request_from_texts(query, options)
        plan = plan_search(request, default_mode=settings.mode, default_top=settings.top)
        folder = settings.index_folder(db_path=options.get("db-path"), kb=options.get("kb"))
        answer = search(plan, folder, store.context(settings))
    except KnowledgeError as error:
        return 400, _json(error_to_dict(error, query)), error.exit_code
    log(answer)
    data = _json(answer.to_dict())
    if "audit" in options:
        # the caller's side writes the log, and is no writer of JSON either
        data = audit_line(options["audit"], plan, answer).encode() + b"\n" + data
    return 200, data, 0


async def _body(request: Request) -> bytes | None:
    """Read the body; None where it is too large."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"


def _refusal(status: int, message: str) -> Response:
    return _response(status, _json(error_to_dict(KnowledgeError(message))), 1)


def _response(status: int, data: bytes, code: int) -> Response:
    from starlette.responses import Response

    return Response(
        data,
        status,
        media_type="application/json",
        # one request a connection: the client reads to the end, and idle connections hold nothing
        headers={EXIT_CODE_HEADER: str(code), "connection": "close"},
    )
