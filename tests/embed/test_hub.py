"""Models from a hub; a small one on 127.0.0.1 answers.

huggingface_hub runs in a process of its own, as it reads its environment once, at import.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import rag_engine

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = "owner/model"
FILES = {
    "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
    "README.md": b"# model",
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "onnx/model.onnx": b"graph",
    "onnx/model_quantized.onnx": b"another graph",
    "pytorch_model.bin": b"the same weights",
    "tokenizer.json": b"{}",
}


@dataclass
class Hub:
    """A hub with at most one model, and the requests that it got."""

    endpoint: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """Return content and type of a path, None for 404."""
        api = f"/api/models/{MODEL}"
        if self.files and path.startswith(f"{api}/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": sha(content)}
                for name, content in self.files.items()
            ]
            return json.dumps(tree).encode(), "application/json"
        if self.files and path.startswith(api):
            siblings = [{"rfilename": name} for name in self.files]
            model = {"id": MODEL, "modelId": MODEL, "sha": COMMIT, "siblings": siblings}
            return json.dumps(model).encode(), "application/json"
        name = path.partition(f"/{MODEL}/resolve/{COMMIT}/")[2]
        return (self.files[name], "application/octet-stream") if name in self.files else None


def sha(content: bytes) -> str:
    """Return what serves as an entity tag."""
    return hashlib.sha1(content).hexdigest()


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub on this machine; empty until a test gives it files."""
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.paths.append(self.path)
            state.authorizations += self.headers.get_all("Authorization", [])
            found = state.answer(self.path.partition("?")[0])
            content, kind = found or (b'{"error": "Repository not found"}', "application/json")
            self.send_response(200 if found else 404)
            if not found:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{sha(content)}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


FIND = """
import sys
from rag_engine.embed.model_files import find_model
from rag_engine.errors import KnowledgeError
try:
    name, graph, download = sys.argv[1:]
    print(find_model(name, graph=graph == "graph", download=download == "download").folder)
except KnowledgeError as error:
    print(type(error).__name__, error)
"""


def find(hub: Hub, *options: str, name: str = MODEL, **environment: str) -> str:
    """Look for a model in a fresh process; returns its folder or the error."""
    graph = "no-graph" if "no-graph" in options else "graph"
    download = "cache" if "cache" in options else "download"
    done = subprocess.run(
        [sys.executable, "-c", FIND, name, graph, download],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(rag_engine.__file__).parents[1]),
            "HF_ENDPOINT": hub.endpoint,
            "HF_TOKEN": "hf_secret",
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def names_in(folder: str) -> set[str]:
    """Return the files of a folder and what is below it."""
    return {
        path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()
    }


def test_a_model_that_is_nowhere_names_every_place_and_no_token_leaves(
    hub: Hub, home: Path, tmp_path: Path
) -> None:
    """Users behind a firewall must see where it was looked for; a mirror never sees a token."""
    said = find(hub, name="nobody/nothing")
    assert said.startswith("ModelUnavailableError")
    assert str(Path.cwd() / "nobody" / "nothing") in said
    assert str(home / ".cache" / "huggingface" / "hub") in said
    assert f"{hub.endpoint} (HF_ENDPOINT)" in said
    assert hub.paths
    assert hub.authorizations == []


def test_a_mirror_that_cannot_be_reached_is_named(hub: Hub) -> None:
    """Nobody listens on port 9 of this machine."""
    said = find(hub, HF_ENDPOINT="http://127.0.0.1:9")
    assert said.startswith("ModelUnavailableError")
    assert "http://127.0.0.1:9 (HF_ENDPOINT)" in said


def test_a_model_is_downloaded_once_without_a_token(hub: Hub) -> None:
    """What was fetched serves later searches without a network; README and copies stay there."""
    hub.files = FILES
    folder = find(hub)
    assert names_in(folder) == set(FILES) - {
        "README.md",
        "pytorch_model.bin",
        "onnx/model_quantized.onnx",
    }
    assert hub.authorizations == []
    hub.paths.clear()
    assert find(hub) == folder
    assert find(hub, "cache", HF_HUB_OFFLINE="1") == folder
    assert hub.paths == []


def test_old_weights_are_fetched_where_there_are_no_new_ones(hub: Hub) -> None:
    """And no graph for the engine that needs none."""
    hub.files = {name: FILES[name] for name in FILES if name != "model.safetensors"}
    assert names_in(find(hub, "no-graph")) == {
        "1_Pooling/config.json",
        "config.json",
        "pytorch_model.bin",
        "tokenizer.json",
    }


@pytest.mark.parametrize(
    ("option", "environment", "why"),
    [
        ("cache", {}, "a search never downloads"),
        ("download", {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
    ],
)
def test_nothing_is_downloaded_when_it_must_not(
    hub: Hub, option: str, environment: dict[str, str], why: str
) -> None:
    """The error says why the network was not asked."""
    hub.files = FILES
    assert why in find(hub, option, **environment)
    assert hub.paths == []


def test_half_a_download_is_not_taken_for_a_model(hub: Hub) -> None:
    """Without 1_Pooling the model would be pooled otherwise, and silently give other vectors."""
    hub.files = FILES
    folder = find(hub)
    (Path(folder) / "1_Pooling" / "config.json").unlink()
    assert "only a part of it" in find(hub, "cache")
    assert find(hub) == folder
    assert "1_Pooling/config.json" in names_in(folder)
