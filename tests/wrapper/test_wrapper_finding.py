"""The wrapper finds itself, the engine and a Python wherever it is called from."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from answers import check_error
from wrapper.shell import (
    SKILL,
    Checkout,
    environment,
    folder_with,
    make_program,
    run,
    say_who,
)

AWKWARD_NAMES = [
    "with space",
    'quo"te',
    "apos'trophe",
    "$(dollar) `tick`",
    "new\nline",
    "ends with newline\n",
    "数据 🐘",
    "-dash",
    "st*r [a] ?",
    "back\\slash",
]


def record(home: Path, text: str) -> None:
    """Write what install.sh would record."""
    folder = home / ".config" / "knowledge-search"
    folder.mkdir(parents=True)
    (folder / "engine").write_text(text, encoding="utf-8")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The wrapper in a copy of the skill that has no engine beside it."""
    return Checkout.make(tmp_path / "elsewhere" / "deep", engine=False).wrapper


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_folder_name_will_do(bash: str, tmp_path: Path, name: str) -> None:
    """Paths are data: none of their characters may split or expand."""
    checkout = Checkout.make(tmp_path / name)
    env = environment(tmp_path)
    assert run([bash, checkout.wrapper, "q"], env).arguments == [b"q"]
    assert run([bash, "./scripts/knowledge-search.sh", "q"], env, cwd=checkout.skill).arguments
    assert run([bash, "knowledge-search.sh", "q"], env, cwd=checkout.wrapper.parent).arguments
    relative = os.path.relpath(checkout.wrapper, tmp_path)
    if not relative.startswith("-"):  # Bash itself takes that for options
        assert run([bash, relative, "q"], env, cwd=tmp_path).arguments == [b"q"]


@pytest.mark.parametrize("cwd", ["/", "/tmp"])
def test_the_callers_folder_is_left_as_it_is(
    bash: str, own_checkout: Checkout, tmp_path: Path, cwd: str
) -> None:
    """A relative --db-path means the caller's folder."""
    own_checkout.engine.write_text("import os; print(os.getcwd())", encoding="utf-8")
    outcome = run([bash, own_checkout.wrapper, "q"], environment(tmp_path), cwd=cwd)
    assert outcome.out.decode().strip() == cwd


def test_it_runs_by_itself(checkout: Checkout, tmp_path: Path) -> None:
    """The file is executable and its first line finds Bash."""
    assert os.access(SKILL / "scripts" / "knowledge-search.sh", os.X_OK)
    assert os.access(SKILL / "scripts" / "install.sh", os.X_OK)
    assert run([checkout.wrapper, "q"], environment(tmp_path)).arguments == [b"q"]


def test_it_runs_from_path(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """A folder on PATH may hold a link to it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kb").symlink_to(checkout.wrapper)
    env = environment(tmp_path)
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    assert run([bash, "-c", 'kb "$@"', "_", "q"], env).arguments == [b"q"]


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_links_of_every_kind_lead_to_the_engine(bash: str, tmp_path: Path, name: str) -> None:
    """Absolute, relative, chained, to the file, to the skill, to a folder above it."""
    checkout = Checkout.make(tmp_path / "real place" / "repo")
    links = tmp_path / "links" / name
    links.mkdir(parents=True)
    absolute = links / "absolute"
    absolute.symlink_to(checkout.wrapper)
    relative = links / "relative"
    relative.symlink_to(os.path.relpath(checkout.wrapper, links))
    chain = links / "chain of links"
    chain.symlink_to("relative")
    longer = tmp_path / "longer"
    longer.symlink_to(os.path.relpath(chain, tmp_path))
    skill = links / "skill"
    skill.symlink_to(os.path.relpath(checkout.skill, links))
    above = links / "above"
    above.symlink_to(checkout.root / "skills")
    into_a_link = links / "into a link"
    into_a_link.symlink_to("skill/scripts/knowledge-search.sh")
    for path in (
        absolute,
        relative,
        chain,
        longer,
        skill / "scripts" / "knowledge-search.sh",
        above / "knowledge-search" / "scripts" / "knowledge-search.sh",
        into_a_link,
    ):
        env = environment(tmp_path)
        assert run([bash, path, "q"], env).arguments == [b"q"], path
        assert run([bash, f"./{path.name}", "q"], env, cwd=path.parent).arguments == [b"q"], path


def test_the_named_engine_comes_first(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """KNOWLEDGE_SEARCH_PY is the user's word."""
    named = tmp_path / "my engine.py"
    named.write_text("print('named')", encoding="utf-8")
    env = environment(tmp_path, KNOWLEDGE_SEARCH_PY=str(named))
    assert run([bash, checkout.wrapper, "q"], env).out == b"named\n"
    env["KNOWLEDGE_SEARCH_PY"] = "my engine.py"
    assert run([bash, checkout.wrapper, "q"], env, cwd=tmp_path).out == b"named\n"
    (tmp_path / "-c").write_text("print('dash')", encoding="utf-8")
    env["KNOWLEDGE_SEARCH_PY"] = "-c"
    assert run([bash, checkout.wrapper, "q"], env, cwd=tmp_path).out == b"dash\n"


def test_an_empty_variable_names_no_engine(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """Set and empty is how a variable is switched off."""
    env = environment(tmp_path, KNOWLEDGE_SEARCH_PY="")
    assert run([bash, checkout.wrapper, "q"], env).arguments == [b"q"]


def test_a_wrong_variable_is_told_and_not_passed_over(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """Answering from another engine than the one named would hide the mistake."""
    env = environment(tmp_path, KNOWLEDGE_SEARCH_PY=str(tmp_path / 'no "such" file'))
    assert "KNOWLEDGE_SEARCH_PY" in run([bash, checkout.wrapper, "q"], env).refusal(1)


@pytest.mark.parametrize("what", ["folder", "file", "no newline", "awkward"])
def test_a_copy_finds_the_recorded_engine(
    bash: str, copied: Path, tmp_path: Path, what: str
) -> None:
    """install.sh records the folder; a file, and a file without a final line break, will do."""
    checkout = Checkout.make(tmp_path / "repo")
    target = checkout.engine if what == "file" else checkout.engine.parent
    if what == "awkward":
        target = tmp_path / ' lea"ding $(x) \\ and trailing '
        target.symlink_to(checkout.engine.parent)
    record(tmp_path / "home", f"{target}" if what == "no newline" else f"{target}\n")
    assert run([bash, copied, "q"], environment(tmp_path / "home")).arguments == [b"q"]


def test_the_repositorys_engine_comes_before_the_recorded_one(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """Two clones do not answer for each other."""
    record(tmp_path / "home", str(tmp_path / "gone"))
    assert run([bash, checkout.wrapper, "q"], environment(tmp_path / "home")).arguments == [b"q"]


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_without_an_engine_the_error_says_how_to_get_one(
    bash: str, copied: Path, tmp_path: Path, text: str | None
) -> None:
    """No record, and an empty one, are the same."""
    if text is not None:
        record(tmp_path / "home", text)
    assert "install.sh" in run([bash, copied, "q"], environment(tmp_path / "home")).refusal(1)


def test_a_recorded_engine_that_is_gone_is_told(bash: str, copied: Path, tmp_path: Path) -> None:
    """A moved repository is the usual reason."""
    record(tmp_path / "home", f"{tmp_path / 'moved'}\n")
    assert "no longer" in run([bash, copied, "q"], environment(tmp_path / "home")).refusal(1)


def test_usage_is_judged_before_the_engine_is_looked_for(bash: str, copied: Path) -> None:
    """A wrong call is a wrong call (2) also where nothing is installed (1)."""
    assert run([bash, copied], environment(copied.parent)).refusal(2)


def test_pythons_are_taken_in_order(bash: str, own_checkout: Checkout, tmp_path: Path) -> None:
    """The active environment, the repository's, the one on PATH."""
    env = environment(tmp_path)
    say_who(tmp_path / "active env" / "bin" / "python", "active")
    say_who(own_checkout.root / ".venv" / "bin" / "python", "repository")
    say_who(tmp_path / "bin" / "python3", "path")
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    engine = str(own_checkout.engine)

    env["VIRTUAL_ENV"] = str(tmp_path / "active env")
    assert run([bash, own_checkout.wrapper, "q"], env).out.decode() == f"active {engine}"
    env["VIRTUAL_ENV"] = str(tmp_path / "not there")
    assert run([bash, own_checkout.wrapper, "q"], env).out.decode() == f"repository {engine}"
    del env["VIRTUAL_ENV"]
    assert run([bash, own_checkout.wrapper, "q"], env).out.decode() == f"repository {engine}"
    shutil.rmtree(own_checkout.root / ".venv")
    assert run([bash, own_checkout.wrapper, "q"], env).out.decode() == f"path {engine}"


def test_the_repositorys_python_is_found_for_a_named_engine(
    bash: str, own_checkout: Checkout, copied: Path, tmp_path: Path
) -> None:
    """Also through a link to the engine's file or to its folder."""
    env = environment(tmp_path / "home")
    del env["VIRTUAL_ENV"]
    say_who(own_checkout.root / ".venv" / "bin" / "python", "repository")
    (tmp_path / "file link").symlink_to(own_checkout.engine)
    (tmp_path / "folder link").symlink_to(own_checkout.engine.parent)
    for engine in (own_checkout.engine, tmp_path / "file link"):
        env["KNOWLEDGE_SEARCH_PY"] = str(engine)
        assert run([bash, copied, "q"], env).out.decode() == f"repository {engine}"
    del env["KNOWLEDGE_SEARCH_PY"]
    record(tmp_path / "home", f"{tmp_path / 'folder link'}\n")
    assert run([bash, copied, "q"], env).out.startswith(b"repository ")


def test_without_python_the_error_says_so(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """A PATH with nothing but bash is enough to say it."""
    env = environment(tmp_path, PATH=folder_with(tmp_path / "bin", "bash"))
    del env["VIRTUAL_ENV"]
    assert "Python" in run([bash, checkout.wrapper, "q"], env).refusal(1)


def test_a_python_that_cannot_start_is_told(bash: str, checkout: Checkout, tmp_path: Path) -> None:
    """A moved virtual environment: Bash has its say first, the error object is the last line."""
    env = environment(tmp_path, VIRTUAL_ENV=str(tmp_path / "env"))
    make_program(tmp_path / "env" / "bin" / "python", "#!/no/such/interpreter\n")
    outcome = run([bash, checkout.wrapper, "q"], env)
    assert (outcome.code, outcome.out) == (1, b"")
    assert "VIRTUAL_ENV" in check_error(outcome.err.decode().splitlines()[-1])["error"]
