"""The scripts keep to what Bash 3.2 knows, which is what macOS ships, and to few programs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from wrapper.conftest import BASH32
from wrapper.shell import SKILL

SCRIPTS = sorted((SKILL / "scripts").glob("*.sh"))

# What is newer than Bash 3.2, or not on every machine: name, pattern, a line that holds it.
TOO_NEW = [
    ("mapfile, readarray", r"\b(mapfile|readarray)\b", "mapfile -t lines < file"),
    ("changing case", r"\$\{!?\w+(\[[^]]*\])?[\^,]", 'echo "${name,,}"'),
    ("upper case", r"\$\{!?\w+(\[[^]]*\])?[\^,]", 'echo "${name[0]^}"'),
    ("associative arrays", r"\b(declare|local|typeset|readonly)\s+-\w*A", "declare -A map"),
    ("references", r"\b(declare|local|typeset)\s+-\w*n", "local -n other=$1"),
    ("declare -g", r"\b(declare|typeset)\s+-\w*g", "declare -g x=1"),
    ("declare -l, -u", r"\b(declare|local|typeset)\s+-\w*[lu]", "local -u x=a"),
    ("local -", r"\blocal\s+-(\s|$)", "local -"),
    ("&>>", r"&>>", "run &>> log"),
    ("|&", r"\|&", "run |& tee log"),
    ("printf %(...)T", r"printf.*%\([^)]*\)T", "printf '%(%F)T' -1"),
    ("printf of an array element", r"printf\s+-v\s+\S+\[", "printf -v 'a[1]' x"),
    ("coproc", r"\bcoproc\b", "coproc cat"),
    ("${x@Q}", r"\$\{[^}]*@[A-Za-z]\}", 'echo "${name@Q}"'),
    (";& and ;;&", r";;?&", "a) run ;;&"),
    ("[[ -v ]]", r"(\[\[|\btest)\s(.*\s)?-[vR]\s", "[[ -v name ]]"),
    ("negative length", r"\$\{\w+:[^}]*:\s*-\d", 'echo "${name:0:-1}"'),
    ("negative index", r"\w\[\s*-\d+\s*\]", 'echo "${list[-1]}"'),
    ("descriptor in a variable", r"(^|\s)\{\w+\}[<>]", "exec {fd}< file"),
    ("wait -n", r"\bwait\s+-\w*n", "wait -n"),
    ("read -N, -i", r"\bread\s+(-\w+\s+)*-\w*[Ni]", "read -r -N 5 text"),
    ("read -t with a fraction", r"\bread\b.*-t\s*\d*\.\d", "read -t 0.5 text"),
    (
        "variables of later Bash",
        r"\b(BASHPID|EPOCH\w+|SRANDOM|BASH_ARGV0|BASH_COMPAT)\b",
        "$BASHPID",
    ),
    (
        "shopt of later Bash",
        r"\b(globstar|lastpipe|inherit_errexit|autocd|dirspell|globasciiranges|localvar_inherit)\b",
        "shopt -s globstar",
    ),
    ("\\u in a string", r"\\[uU][0-9a-fA-F]{2}", "x=$'\\u6570'"),
    ("braces with a step or zeros", r"\{(0\d+\.\.|\w+\.\.\w+\.\.)", "echo {01..10}"),
    (
        "an array that may be empty, under set -u",
        r"(?<!\+)\"?\$\{\w+\[[@*]\]\}",
        'run "${options[@]}"',
    ),
    ("replacing in a long text, minutes in 3.2", r"\$\{\w+//", 'x=${query//\\"/}'),
    ("case without ( inside $( )", r"\$\(\s*case\b", "x=$(case $y in a) echo;; esac)"),
    ("here-documents, which need a temporary file", r"<<", "cat <<EOF"),
    ("readlink -f, realpath", r"\breadlink\s+-\w*f|\brealpath\b", "readlink -f x"),
    (
        "programs that may be missing",
        r"(^|[|;&(]|\bthen|\bdo)\s*(jq|curl|wget|awk|perl|sed|tr|stat|date|mktemp|grep|dirname|"
        r"basename|timeout|seq)\s",
        "x=$(jq -r .query)",
    ),
    ("python -c", r"python[\w.]*\"?\s+-[a-zA-Z]*c\b", 'python3 -c "print(1)"'),
    ("eval", r"(^|\s)eval\s", 'eval "$x"'),
    ("echo, which reads its arguments as options", r"(^|[;&|]\s*|\s)echo\s", 'echo "$query"'),
]


def code_lines(text: str) -> list[str]:
    """Return the lines without comments that stand alone, which may name anything."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


def found_in(pattern: str, text: str) -> list[str]:
    """Return the lines of code that the pattern finds."""
    return [line for line in code_lines(text) if re.search(pattern, line)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
@pytest.mark.parametrize(("name", "pattern"), [entry[:2] for entry in TOO_NEW])
def test_scripts_use_nothing_newer_than_bash_32(script: Path, name: str, pattern: str) -> None:
    """A construct that 3.2 does not know is a syntax error there, or silently something else."""
    assert not found_in(pattern, script.read_text(encoding="utf-8")), name


@pytest.mark.parametrize(("name", "pattern", "sample"), TOO_NEW)
def test_the_detector_finds_each_construct(name: str, pattern: str, sample: str) -> None:
    """A detector that finds nothing anywhere would pass every script."""
    assert found_in(pattern, f"#!/bin/bash\n  {sample}\n"), name
    assert not found_in(pattern, f"  # {sample}\n"), name


def test_there_are_scripts_to_look_at() -> None:
    """An empty list would pass every test above."""
    assert [path.name for path in SCRIPTS] == ["install.sh", "knowledge-search.sh"]


def test_bash_32_is_tried() -> None:
    """Without one the tests say so, aloud."""
    if not BASH32:
        pytest.skip("no Bash 3.2 here: the scripts were tried in this machine's Bash only")
    command = [BASH32, "-c", 'printf "%s" "$BASH_VERSION"']
    version = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert version.startswith("3.2")


def test_shellcheck_finds_nothing() -> None:
    """Every warning is on, also those about style."""
    program = shutil.which("shellcheck") or shutil.which("shellcheck", path=f"{sys.prefix}/bin")
    if program is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        [program, "--severity=style", "--shell=bash", *SCRIPTS], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_plain_text_files(script: Path) -> None:
    """Carriage returns and byte order marks stop Bash; tabs and trailing blanks spoil diffs."""
    data = script.read_bytes()
    assert data.startswith(b"#!/usr/bin/env bash\n")
    assert data.endswith((b"}\n", b'"\n'))
    for unwanted in (b"\r", b"\t", b" \n"):
        assert unwanted not in data
    data.decode("ascii")
