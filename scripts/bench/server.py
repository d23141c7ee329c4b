#!/usr/bin/env python3
"""The resident server: latency by wrapper and by HTTP, throughput of 8 clients, memory.

    .venv/bin/python scripts/bench/server.py [--corpus DIR] [--copies 5] [--searches 200]

Indexes N copies of a folder of Markdown in a temporary home, starts a server there, and asks.
"""

from __future__ import annotations

import argparse
import http.client
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

REPO = Path(__file__).resolve().parent.parent.parent
WRAPPER = REPO / "skills" / "knowledge-search" / "scripts" / "knowledge-search.sh"
VUE = REPO.parent / "shared" / "corpora" / "vue-docs-zh" / "src"
QUESTIONS = ("怎么监听路由变化", "computed 和 watch 的区别", "how to use slots", "组件之间怎么传值")


def report(label: str, ask: Callable[[int], object], count: int) -> None:
    """Print median and 95th percentile of a search."""
    times = []
    for number in range(count):
        started = time.perf_counter()
        ask(number)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    p95 = times[int(len(times) * 0.95) - 1]
    print(f"  {label:<34} p50 {statistics.median(times):7.1f} ms   p95 {p95:7.1f} ms")


def main() -> None:
    """Build, start, ask, stop."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=VUE)
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument("--searches", type=int, default=200)
    arguments = parser.parse_args()
    if not arguments.corpus.is_dir():
        print(f"{arguments.corpus} is not there; the example notes stand in for it")
        arguments.corpus = REPO / "examples" / "notes"
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        environment = {**os.environ, "HOME": temporary, "KNOWLEDGE_DB_PATH": str(home / "kb")}

        def program(name: str, *options: str | Path) -> None:
            command = [sys.executable, REPO / "rag-engine" / f"knowledge_{name}.py", *options]
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)

        for copy in range(arguments.copies):
            shutil.copytree(arguments.corpus, home / "notes" / f"copy{copy}")
        program("index", "--full", home / "notes")
        program("server", "start")
        try:
            measure(home, environment, arguments.searches)
        finally:
            program("server", "stop")


def measure(home: Path, environment: dict[str, str], count: int) -> None:
    """Ask the running server."""
    endpoint = (home / ".cache" / "knowledge-search" / "endpoint").read_text(encoding="utf-8")
    port, token, pid = endpoint.split("\n")[:3]

    def ask(number: int, mode: str = "hybrid") -> None:
        url = "/search?" + urlencode({"db-path": str(home / "kb"), "mode": mode})
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        body = f"{QUESTIONS[number % len(QUESTIONS)]} {number}".encode()
        connection.request("POST", url, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 200

    def wrapper(number: int) -> None:
        query = f"{QUESTIONS[number % len(QUESTIONS)]} {number}"
        subprocess.run(
            ["bash", WRAPPER, query], check=True, env=environment, stdout=subprocess.DEVNULL
        )

    started = time.perf_counter()
    ask(0)
    print(f"  first search, model and index cold  {time.perf_counter() - started:7.2f} s")
    for number in range(20):
        ask(number)
    report("HTTP, hybrid", ask, count)
    report("HTTP, full text", lambda number: ask(number, "fts"), count)
    report("wrapper, hybrid", wrapper, count)
    started = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(count * 2)))
    rate = count * 2 / (time.perf_counter() - started)
    print(f"  8 clients at once                   {rate:7.0f} hybrid searches a second")
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(
            line for line in status.read_text(encoding="utf-8").split("\n") if "VmRSS" in line
        )
        print(f"  resident memory                     {int(line.split()[1]) // 1024:7} MB")


if __name__ == "__main__":
    main()
