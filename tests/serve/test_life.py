"""The life of a server: one at a time, never in the way, never the wrong process killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from answers import check_answer
from programs import ENGINE, WRAPPER, ask, run_program

from .conftest import Place

pytestmark = pytest.mark.xdist_group("server-life")


def test_a_started_server_answers_the_wrapper_as_python_would(place: Place) -> None:
    """Equal results, and the server has a session of its own: no terminal takes it along."""
    arguments = ("回滚", "--db-path", place.kb)
    off = {**place.environment, "KNOWLEDGE_SERVER": "off"}
    assert place.program("start").code == 0
    first = ask(*arguments, environment=off).answer()
    assert "search kb=" not in place.program("logs").stdout
    second = ask(*arguments, environment=place.environment).answer()
    assert [r["chunk_id"] for r in second["results"]] == [r["chunk_id"] for r in first["results"]]
    assert place.program("logs").stdout.count("search kb=") == 1
    pid = int(place.endpoint()[2])
    assert os.getsid(pid) == pid


def test_servers_that_start_at_once_become_one(place: Place) -> None:
    """A lock, not luck."""
    command = [sys.executable, str(ENGINE / "knowledge_server.py"), "run"]
    environment = {**os.environ, **place.environment}
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(5)
    ]
    deadline = time.monotonic() + 60
    while (
        sum(process.poll() is None for process in started) > 1 or not place.endpoint_file.exists()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    alive = [process for process in started if process.poll() is None]
    assert [str(process.pid) for process in alive] == [place.endpoint()[2]]
    assert place.ask("回滚").status == 200
    alive[0].send_signal(signal.SIGTERM)
    assert alive[0].wait(timeout=30) == 0
    assert not place.endpoint_file.exists()


def test_it_leaves_when_idle(place: Place) -> None:
    """And takes its endpoint file along."""
    assert place.program("start", "--idle-seconds", "0.5").code == 0
    place.wait_until_gone()
    assert place.program("status").code == 5


def test_start_stop_and_status_say_what_is(place: Place) -> None:
    """For people; starting twice gives the first one's address."""
    assert place.program("stop").stdout == "No server is running.\n"
    first = place.program("start")
    assert place.program("start").stdout == first.stdout
    assert place.endpoint()[2] in place.program("status").stdout
    assert place.program("stop").stdout == "Stopped.\n"
    assert not place.endpoint_file.exists()
    assert place.program("start").code == 0, "restart right after stop"
    assert place.program("frobnicate").code == 2


def test_it_steps_aside_when_its_code_changes(place: Place) -> None:
    """An update of the program must not be answered by the old one for a quarter of an hour."""
    engine = place.home / "rag-engine"
    shutil.copytree(ENGINE, engine, ignore=shutil.ignore_patterns("models", "__pycache__"))
    (engine / "models").symlink_to(ENGINE / "models")
    command = [sys.executable, engine / "knowledge_server.py"]
    assert run_program(*command, "start", environment=place.environment).code == 0
    assert place.endpoint()[4] == str(engine)
    (engine / "rag_engine" / "new.py").write_text("", encoding="utf-8")
    place.wait_until_gone()


def test_a_pid_that_is_somebody_elses_by_now_is_never_signalled(place: Place) -> None:
    """A number in a file proves nothing; only a server that answers is stopped."""
    with subprocess.Popen(["sleep", "60"]) as stranger:
        place.endpoint_file.parent.mkdir(parents=True, exist_ok=True)
        place.endpoint_file.write_text(
            f"1\ntoken\n{stranger.pid}\nversion\n{ENGINE}\n", encoding="utf-8"
        )
        assert place.program("status").code == 5
        assert place.program("stop").stdout == "No server is running.\n"
        assert place.program("start").code == 0
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("says", [None, b"", b"HTTP/1.0 200 OK\r\n\r\nhello", b"garbage\n"])
def test_the_wrapper_answers_where_the_endpoint_leads_astray(
    place: Place, says: bytes | None
) -> None:
    """Nobody listens, or somebody else's server does, or something that says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if says is not None:
            listener.listen(1)
        place.endpoint_file.parent.mkdir(parents=True, exist_ok=True)
        place.endpoint_file.write_text(
            f"{listener.getsockname()[1]}\ntoken\n{os.getpid()}\nversion\n{ENGINE}\n",
            encoding="utf-8",
        )

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                if says:
                    connection.recv(65536)
                    connection.sendall(says)
                else:
                    # longer than the wrapper waits
                    time.sleep(11)

        stranger = threading.Thread(target=answer, daemon=True)
        if says is not None:
            stranger.start()
        arguments = ("回滚", "--preset", "fast", "--db-path", place.kb)
        assert ask(*arguments, environment=place.environment).answer()["results"]
        if says is not None:
            stranger.join(timeout=30)


def test_a_wrong_token_falls_back_to_python(place: Place) -> None:
    """As after a crash that left an old file beside a new server."""
    assert place.program("start").code == 0
    lines = place.endpoint()
    lines[1] = "wrong"
    place.endpoint_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = ask("回滚", "--preset", "fast", "--db-path", place.kb, environment=place.environment)
    assert done.answer()["results"]


@pytest.mark.parametrize(
    "query",
    ['say "hi" \\ $(rm) `x`', "100% & more = a+b?#c", "二\n行\t制表", "🐘" * 8000, "-", "' ; |"],
)
def test_any_query_goes_through_the_wire_as_it_is(server: Place, query: str) -> None:
    """Bash escapes nothing: the query is the body, byte for byte."""
    before = server.program("logs").stdout.count("search kb=")
    arguments = ("--preset", "fast", "--db-path", server.kb, "--", query)
    answer = ask(*arguments, environment=server.environment).answer()
    assert answer["query"] == query
    assert server.program("logs").stdout.count("search kb=") == before + 1


@pytest.mark.parametrize("value", ["a b", "部署", "x&kb=other", "100%", "a+b", "é"])
def test_option_values_go_through_the_wire_as_they_are(server: Place, value: str) -> None:
    """Percent-encoded by Bash, byte for byte, in any locale."""
    for locale in ("C", "C.UTF-8"):
        environment = {**server.environment, "LC_ALL": locale}
        arguments = ("回滚", "--mode", "fts", "--scope", value, "--db-path", server.kb)
        assert ask(*arguments, environment=environment).answer()["results"] == []
    arguments = ("回滚", "--mode", "fts", "--tags", "部署", "--db-path", server.kb)
    assert ask(*arguments, environment=server.environment).answer()["results"]


def test_errors_and_relative_folders_are_the_same_through_the_server(server: Place) -> None:
    """Exit code, stderr, and the folder that the caller means."""
    bad = ask("x", "--top", "0", "--db-path", server.kb, environment=server.environment)
    assert "--top" in bad.error(2)["error"]
    environment = {**server.environment, "KNOWLEDGE_DB_PATH": "kb"}
    done = run_program(
        "bash", WRAPPER, "回滚", "--mode", "fts", environment=environment, cwd=server.home
    )
    assert check_answer(done.stdout)["results"]


def test_the_audit_log_is_written_by_the_callers_side(server: Place) -> None:
    """Also when the server answered."""
    environment = {**server.environment, "AUDIT_LOG": "true", "AUDIT_AGENT": 'an "agent" é'}
    answer = ask("回滚", "--mode", "fts", "--db-path", server.kb, environment=environment).answer()
    log = server.home / ".ai-skills" / ".logs" / "search-audit.jsonl"
    line = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    assert (line["agent"], line["query"]) == ('an "agent" é', "回滚")
    assert line["results_count"] == answer["total_results"]
    assert log.stat().st_mode & 0o077 == 0


def test_a_taken_port_is_told(place: Place) -> None:
    """And no endpoint file points clients to the stranger."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        port = str(listener.getsockname()[1])
        done = place.program("run", "--port", port)
    assert done.code == 1
    assert port in done.stderr
    assert not place.endpoint_file.exists()
