"""Whatever the caller's shell and environment look like, the same arguments reach the engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from wrapper.shell import SYSTEM_PATH as PATH
from wrapper.shell import Checkout, environment, folder_with, run

QUERY = "数据库 🐘 it's 'q'"
SPECIAL = {  # in POSIX mode Bash itself refuses functions of these names
    *("break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set"),
    *("shift", "source", "trap", "unset"),
}
FUNCTIONS = [
    *SPECIAL,
    *("alias", "builtin", "cd", "command", "declare", "echo", "false", "hash", "local", "printf"),
    *("pwd", "python3", "read", "readlink", "shopt", "test", "true", "type", "typeset", "unalias"),
]


@pytest.mark.parametrize(
    "more",
    [
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "xx_YY.nonsense"},
        {"PYTHONIOENCODING": "gbk"},
        {"CDPATH": "/usr:/tmp:."},
        {"GREP_OPTIONS": "--color=always", "GREP_COLORS": ""},
        {"BASH_ENV": "/dev/null"},
        {"POSIXLY_CORRECT": "1"},
        {"POSIXLY_CORRECT": ""},
        {"SHELLOPTS": "noglob:nounset:errexit:noclobber:allexport"},
        {"BASHOPTS": "nocasematch:nullglob:failglob:extglob:expand_aliases"},
        {"IFS": "q-/"},
        {"ENV": "/nonexistent", "PWD": "/nonexistent", "OLDPWD": "/nonexistent"},
        {"engine": "x", "python": "y", "argument": "z", "found": "yes", "settled": "no"},
    ],
    ids=str,
)
def test_no_variable_changes_what_arrives(
    bash: str, checkout: Checkout, tmp_path: Path, more: dict[str, str]
) -> None:
    """Each of these has broken a shell script somewhere."""
    env = environment(tmp_path, **more)
    outcome = run([bash, checkout.wrapper, QUERY, "--top=3"], env, cwd="/")
    assert outcome.arguments == [QUERY.encode(), b"--top=3"]
    for arguments in ([], ["--TOP", "3"]):  # an option's name is not a matter of case
        outcome = run([bash, checkout.wrapper, *arguments], env)
        assert outcome.code == (2 if not arguments else 0)


def test_the_environment_reaches_the_engine_unchanged(
    bash: str, own_checkout: Checkout, tmp_path: Path
) -> None:
    """What the script needs for itself is not left behind in the engine's environment."""
    own_checkout.engine.write_text(
        "import os; [print(k, v, sep='=') for k, v in sorted(os.environ.items())]",
        encoding="utf-8",
    )
    env = environment(tmp_path)
    for more in ({}, {"POSIXLY_CORRECT": "1"}, {"CDPATH": "/usr"}, {"LC_ALL": "C.UTF-8"}):
        outcome = run([bash, own_checkout.wrapper, "q" * 20_000], {**env, **more}, cwd="/")
        found = dict(line.split("=", 1) for line in outcome.out.decode().splitlines())
        for own in ("_", "SHLVL", "PWD", "OLDPWD", "LC_CTYPE"):  # Bash's, and Python's
            found.pop(own, None)
        assert found == {**env, **more}


@pytest.mark.parametrize("posix", [False, True])
def test_functions_of_the_caller_are_not_called(
    bash: str, checkout: Checkout, tmp_path: Path, posix: bool
) -> None:
    """Exported functions reach every Bash script; version managers export a `cd` of their own."""
    (tmp_path / "link").symlink_to(checkout.wrapper)
    export = "f() { :; }; export -f f; env"
    names = [name for name in FUNCTIONS if not (posix and name in SPECIAL)]
    marks = (
        [f"BASH_FUNC_{name}%%" for name in names]
        if b"BASH_FUNC_f%%" in run([bash, "-c", export], {"PATH": PATH}).out
        else names  # before the Bash of September 2014
    )
    env = {**environment(tmp_path), **dict.fromkeys(marks, "() {  : ${nothing:?HIJACKED}\n}")}
    assert b"HIJACKED" in run([bash, "-c", "cd /"], env).err, "the trap itself has to work"
    options = ["--posix"] if posix else []
    outcome = run([bash, *options, tmp_path / "link", QUERY], env)
    assert b"HIJACKED" not in outcome.out + outcome.err
    assert outcome.arguments == [QUERY.encode()]


def test_aliases_of_the_caller_are_not_expanded(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """BASH_ENV is read before every script, and may turn aliases on."""
    start = tmp_path / "start"
    names = [name for name in FUNCTIONS if name != "alias"]
    lines = ["shopt -s expand_aliases", *(f"alias {name}='echo HIJACKED'" for name in names)]
    start.write_text("\n".join(lines) + "\nIFS=q\n", encoding="utf-8")
    env = environment(tmp_path, BASH_ENV=str(start))
    assert run([bash, checkout.wrapper, QUERY], env).arguments == [QUERY.encode()]


def test_no_home_is_no_obstacle(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """Services and containers run without HOME."""
    env = environment(tmp_path)
    del env["HOME"]
    assert run([bash, checkout.wrapper, QUERY], env).arguments == [QUERY.encode()]
    lonely = Checkout.make(tmp_path / "lonely", engine=False)
    assert "install.sh" in run([bash, lonely.wrapper, QUERY], env).refusal(1)
    env["HOME"] = ""
    assert "install.sh" in run([bash, lonely.wrapper, QUERY], env).refusal(1)


def test_an_almost_empty_environment_is_enough(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """PATH with python3 alone, and nothing else set."""
    env = {"PATH": folder_with(tmp_path / "bin", "python3")}
    assert run([bash, checkout.wrapper, QUERY], env).arguments == [QUERY.encode()]


def test_links_need_readlink_and_no_other_program(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """The folder of the skill may be a link even where there is no readlink."""
    (tmp_path / "file").symlink_to(checkout.wrapper)
    (tmp_path / "skill").symlink_to(checkout.skill)
    env = {"PATH": folder_with(tmp_path / "bin", "python3", "readlink"), "HOME": str(tmp_path)}
    assert run([bash, tmp_path / "file", "q"], env).arguments == [b"q"]
    env["PATH"] = folder_with(tmp_path / "bin without", "python3")
    through_folder = tmp_path / "skill" / "scripts" / "knowledge-search.sh"
    assert run([bash, through_folder, "q"], env).arguments == [b"q"]
    assert "KNOWLEDGE_SEARCH_PY" in run([bash, tmp_path / "file", "q"], env).refusal(1)


@pytest.mark.parametrize("script", ["file", "link"])
def test_standard_streams_may_be_closed(
    bash: str, checkout: Checkout, tmp_path: Path, script: str
) -> None:
    """Agents and daemons start programs without a standard input."""
    (tmp_path / "link").symlink_to(checkout.wrapper)
    path = tmp_path / "link" if script == "link" else checkout.wrapper
    env = environment(tmp_path)
    closed = run([bash, "-c", 'exec "$@" <&-', "_", bash, path, "q"], env)
    assert closed.arguments == [b"q"]
    without_stderr = run([bash, "-c", 'exec "$@" 2>&-', "_", bash, path], env)
    assert (without_stderr.code, without_stderr.out) == (2, b"")


def test_the_engine_reads_nothing_from_the_caller(
    bash: str, own_checkout: Checkout, tmp_path: Path
) -> None:
    """In `while read ...; do knowledge-search.sh ...; done` the list is the caller's."""
    own_checkout.engine.write_text("import sys; print(repr(sys.stdin.read()))", encoding="utf-8")
    outcome = run(
        [bash, own_checkout.wrapper, "q"], environment(tmp_path), input=b"the caller's list"
    )
    assert outcome.out == b"''\n"


@pytest.mark.parametrize("script", ["file", "link"])
def test_the_callers_folder_may_be_gone(
    bash: str, checkout: Checkout, tmp_path: Path, script: str
) -> None:
    """A worktree is deleted under a running agent. Bash itself grumbles on stderr then."""
    (tmp_path / "link").symlink_to(checkout.wrapper)
    path = tmp_path / "link" if script == "link" else checkout.wrapper
    (tmp_path / "gone").mkdir()
    text = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    command = [bash, "-c", text, "_", tmp_path / "gone", bash, path, "q"]
    assert run(command, environment(tmp_path)).arguments == [b"q"]


def test_callers_options_of_bash_do_no_harm(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """`bash --posix`, `-eu`, `-f`, `-k` and `-C` are all in use."""
    for option in (["--posix"], ["-euo", "pipefail"], ["-f"], ["-k"], ["-C"], ["-a"], ["-B"]):
        outcome = run([bash, *option, checkout.wrapper, "a=b", "*"], environment(tmp_path))
        assert outcome.arguments == [b"a=b", b"*"], option
