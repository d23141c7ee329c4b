"""install.sh puts the skill where agents look, and touches nothing that it did not make."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from wrapper.shell import (
    SYSTEM_PATH,
    Checkout,
    Outcome,
    environment,
    folder_with,
    make_program,
    run,
)

NAME = "knowledge-search"
PLACES = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "cursor": ".cursor/skills",
    "gemini": ".agents/skills",
    "opencode": ".agents/skills",
}
MAIN = f".ai-skills/{NAME}"
TOOLS = ("chmod", "cp", "ln", "mkdir", "mv", "readlink", "rm", "rmdir")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a blank and a quote in its name."""
    folder = tmp_path / 'the "user"'
    folder.mkdir()
    return folder


def install(
    bash: str, checkout: Checkout, home: Path, *options: str | Path, **more: str
) -> Outcome:
    """Run install.sh with nothing on PATH but the programs that it says it needs."""
    path = home.parent / "tools"
    if not path.exists():
        folder_with(path, *TOOLS)
    env = {**environment(home), "PATH": str(path), **more}
    return run([bash, checkout.install, *options], env, cwd="/")


def tree(folder: Path) -> dict[str, str]:
    """Return what is in a folder: each path with its kind, and its target or text."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in [*folders, *files]):
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = f"link to {path.readlink()}"
            elif path.is_file():
                found[key] = path.read_text(encoding="utf-8")
            else:
                found[key] = "folder"
    return found


def links(folder: Path) -> dict[str, str]:
    """Return the links in a folder."""
    return {key: what for key, what in tree(folder).items() if what.startswith("link to ")}


def record(home: Path) -> Path:
    """Return where the engine is recorded."""
    return home / ".config" / NAME / "engine"


def test_without_options_the_skill_is_linked_and_the_engine_recorded(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """One place that all instructions can name, and one line for copies made later."""
    outcome = install(bash, checkout, home)
    assert (outcome.code, outcome.err) == (0, b"")
    assert links(home) == {MAIN: f"link to {checkout.skill}"}
    assert record(home).read_text(encoding="utf-8") == f"{checkout.engine.parent}\n"
    assert stat.S_IMODE(record(home).parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(record(home).stat().st_mode) == 0o600
    assert run([bash, home / MAIN / "scripts" / "knowledge-search.sh", "q"], environment(home))


@pytest.mark.parametrize("agent", PLACES)
def test_each_agent_finds_it_where_it_looks(
    bash: str, checkout: Checkout, home: Path, agent: str
) -> None:
    """At user level, beside the one place for all."""
    assert install(bash, checkout, home, "--agent", agent).code == 0
    target = f"link to {checkout.skill}"
    assert links(home) == {MAIN: target, f"{PLACES[agent]}/{NAME}": target}


@pytest.mark.parametrize("agent", PLACES)
@pytest.mark.parametrize("form", ["absolute", "relative", "link"])
def test_a_project_gets_its_own_link(
    bash: str, checkout: Checkout, home: Path, tmp_path: Path, agent: str, form: str
) -> None:
    """In the project, and not in the user's agent folders."""
    project = tmp_path / "my project"
    project.mkdir()
    (tmp_path / "-link").symlink_to(project)
    named = {"absolute": str(project), "relative": "my project", "link": "-link"}[form]
    folder_with(tmp_path / "tools", *TOOLS)
    env = {**environment(home), "PATH": str(tmp_path / "tools")}
    command = [bash, checkout.install, f"--agent={agent}", f"--project={named}"]
    assert run(command, env, cwd=tmp_path).code == 0
    assert links(project) == {f"{PLACES[agent]}/{NAME}": f"link to {checkout.skill}"}
    assert list(links(home)) == [MAIN]
    outcome = run([*command, "--uninstall"], env, cwd=tmp_path)
    assert (outcome.code, links(project), list(links(home))) == (0, {}, [MAIN])


def test_all_agents_share_what_they_can(bash: str, checkout: Checkout, home: Path) -> None:
    """An agent that found the skill in two folders would list it twice."""
    outcome = install(bash, checkout, home, "--agent", "all")
    assert outcome.code == 0
    assert set(links(home)) == {MAIN, *(f"{place}/{NAME}" for place in PLACES.values())}
    assert outcome.out.count(b".agents/skills") == 1
    several = install(bash, checkout, home, "--agent", "codex", "--agent=gemini")
    assert several.out.count(b".agents/skills") == 1


@pytest.mark.parametrize("options", [[], ["--agent", "all"], ["--copy", "--agent", "all"]])
def test_a_second_run_changes_nothing(
    bash: str, checkout: Checkout, home: Path, options: list[str]
) -> None:
    """Installing again is how one updates."""
    assert install(bash, checkout, home, *options).code == 0
    before = tree(home)
    outcome = install(bash, checkout, home, *options)
    assert (outcome.code, outcome.err) == (0, b"")
    assert tree(home) == before


@pytest.mark.parametrize("options", [["--agent", "all"], ["--copy"], ["--uninstall"]])
def test_dry_run_only_says_what_would_be_done(
    bash: str, checkout: Checkout, home: Path, options: list[str]
) -> None:
    """Nothing at all is changed, not even a folder made."""
    if options == ["--uninstall"]:
        install(bash, checkout, home, "--agent", "all")
    before = tree(home)
    outcome = install(bash, checkout, home, "--dry-run", *options)
    assert (outcome.code, outcome.err) == (0, b"")
    assert tree(home) == before
    assert all(line.startswith(b"would ") for line in outcome.out.splitlines())
    really = install(bash, checkout, home, *options)
    assert really.out.decode() == outcome.out.decode().replace("would ", "")


def test_a_copy_works_without_links(bash: str, checkout: Checkout, home: Path) -> None:
    """It finds the engine by the record, and is complete."""
    assert install(bash, checkout, home, "--copy", "--agent", "claude").code == 0
    assert links(home) == {}
    for place in (MAIN, f".claude/skills/{NAME}"):
        copied = tree(home / place)
        marker = copied.pop(".installed-by-knowledge-search")
        assert copied == tree(checkout.skill)
        assert sorted(marker.split()) == sorted(k for k, v in copied.items() if v != "folder")
        wrapper = home / place / "scripts" / "knowledge-search.sh"
        assert os.access(wrapper, os.X_OK)
        assert run([bash, wrapper, "q"], environment(home)).arguments == [b"q"]


def test_a_copy_is_made_where_links_cannot(bash: str, checkout: Checkout, home: Path) -> None:
    """Some file systems know no links, and some `ln` only says that it made one."""
    for number, text in enumerate(["exit 1", "exit 0"]):
        tools = home.parent / f"tools {number}"
        folder_with(tools, *(tool for tool in TOOLS if tool != "ln"))
        make_program(tools / "ln", f"#!/bin/sh\n{text}\n")
        outcome = install(bash, checkout, home, "--agent", "codex", PATH=str(tools))
        assert (outcome.code, outcome.err) == (0, b"")
        assert links(home) == {}
        assert (home / MAIN / "SKILL.md").is_file()
        assert (home / ".agents/skills" / NAME / ".installed-by-knowledge-search").is_file()
        assert install(bash, checkout, home, "--uninstall").code == 0
        assert not (home / MAIN).exists()


def test_a_copy_is_updated(bash: str, own_checkout: Checkout, home: Path) -> None:
    """Files that the skill no longer has go, new ones come, those of others stay."""
    old = own_checkout.skill / "references" / "old.md"
    old.write_text("old", encoding="utf-8")
    assert install(bash, own_checkout, home, "--copy").code == 0
    old.unlink()
    (own_checkout.skill / "references" / "new.md").write_text("new", encoding="utf-8")
    (own_checkout.skill / "SKILL.md").write_text("changed", encoding="utf-8")
    place = home / MAIN
    (place / "references" / "mine.md").write_text("mine", encoding="utf-8")
    assert install(bash, own_checkout, home).code == 0  # a copy stays a copy
    assert not (place / "references" / "old.md").exists()
    assert (place / "references" / "new.md").is_file()
    assert (place / "SKILL.md").read_text(encoding="utf-8") == "changed"
    assert (place / "references" / "mine.md").read_text(encoding="utf-8") == "mine"


def test_a_link_can_become_a_copy(bash: str, checkout: Checkout, home: Path) -> None:
    """The link is this script's own, so it may be replaced; the skill behind it stays whole."""
    before = tree(checkout.skill)
    install(bash, checkout, home)
    assert install(bash, checkout, home, "--copy").code == 0
    assert not (home / MAIN).is_symlink()
    assert tree(checkout.skill) == before


def put_foreign(place: Path, kind: str, elsewhere: Path) -> None:
    """Put something at a place that install.sh did not make."""
    place.parent.mkdir(parents=True)
    if kind == "file":
        place.write_text("mine", encoding="utf-8")
    elif kind == "folder":
        place.mkdir()
        (place / "SKILL.md").write_text("mine", encoding="utf-8")
    elif kind == "link to another skill":
        elsewhere.mkdir()
        place.symlink_to(elsewhere)
    else:
        place.symlink_to("/nowhere/at all")


@pytest.mark.parametrize("kind", ["file", "folder", "link to another skill", "dangling link"])
@pytest.mark.parametrize("options", [[], ["--copy"], ["--uninstall"]])
@pytest.mark.parametrize("place", [MAIN, f".claude/skills/{NAME}"])
def test_what_others_made_is_left_alone(
    bash: str, checkout: Checkout, home: Path, kind: str, options: list[str], place: str
) -> None:
    """It is said, the exit code is 1, and the other places are served all the same."""
    put_foreign(home / place, kind, home / "other")
    before = tree(home)
    outcome = install(bash, checkout, home, "--agent=claude", "--agent=cursor", *options)
    changed = tree(home)
    assert {key: changed[key] for key in before} == before
    if options == ["--uninstall"] and place == MAIN:  # that place was not asked for
        assert outcome.code == 0
        outcome = install(bash, checkout, home, "--uninstall")
    assert outcome.code == 1
    assert b"left alone" in outcome.err
    assert str(home / place) in outcome.err.decode()
    if not options:
        assert changed[f".cursor/skills/{NAME}"] == f"link to {checkout.skill}"


def test_uninstall_takes_all_that_was_made(bash: str, checkout: Checkout, home: Path) -> None:
    """Links, copies and the record go; the skill itself and folders stay."""
    before = tree(checkout.skill)
    install(bash, checkout, home, "--agent", "claude")
    install(bash, checkout, home, "--copy", "--agent", "cursor")
    (home / ".claude" / "skills" / "other").mkdir()
    (home / ".config" / NAME / "config.toml").write_text("mine", encoding="utf-8")
    outcome = install(bash, checkout, home, "--uninstall")
    assert (outcome.code, outcome.err) == (0, b"")
    left = {key for key, what in tree(home).items() if what != "folder"}
    assert left == {f".config/{NAME}/config.toml"}
    assert (home / ".claude" / "skills" / "other").is_dir()
    assert tree(checkout.skill) == before
    assert install(bash, checkout, home, "--uninstall").code == 0


def test_uninstall_of_one_agent_leaves_the_rest(bash: str, checkout: Checkout, home: Path) -> None:
    """The record too: other copies need it."""
    install(bash, checkout, home, "--agent", "all")
    assert install(bash, checkout, home, "--uninstall", "--agent", "codex").code == 0
    assert set(links(home)) == {MAIN, f".claude/skills/{NAME}", f".cursor/skills/{NAME}"}
    assert record(home).is_file()


def test_files_that_others_put_into_a_copy_survive_uninstalling(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """Only what the marker names is removed, and only inside of the copy."""
    install(bash, checkout, home, "--copy")
    place = home / MAIN
    (place / "scripts" / "mine.sh").write_text("mine", encoding="utf-8")
    (home / "precious").write_text("mine", encoding="utf-8")
    with (place / ".installed-by-knowledge-search").open("a", encoding="utf-8") as marker:
        marker.write("scripts/../../../precious\n/etc/hostname\nother\n")
    outcome = install(bash, checkout, home, "--uninstall")
    assert outcome.code == 1
    assert b"did not make" in outcome.err
    assert {key for key, what in tree(home).items() if what != "folder"} == {
        "precious",
        f"{MAIN}/scripts/mine.sh",
    }


def test_the_skill_itself_is_never_taken_for_a_link_to_it(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """A user's skills folder may be a link to the repository's."""
    (home / ".claude").mkdir()
    (home / ".claude" / "skills").symlink_to(checkout.root / "skills")
    before = tree(checkout.root)
    for options in (["--agent=claude"], ["--agent=claude", "--copy"], ["--uninstall"]):
        assert install(bash, checkout, home, *options).code == 0, options
        assert tree(checkout.root) == before


def test_two_agent_folders_may_be_one(bash: str, checkout: Checkout, home: Path) -> None:
    """A link between them is how people share skills already."""
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / ".agents").symlink_to(".claude")
    assert install(bash, checkout, home, "--agent", "all").code == 0
    assert install(bash, checkout, home, "--uninstall").code == 0
    assert list(links(home)) == [".agents"]


def test_the_newest_clone_is_recorded(bash: str, checkout: Checkout, home: Path) -> None:
    """The change is said; what another clone has recorded since is not removed."""
    other = Checkout.make(home.parent / "other clone")
    install(bash, other, home)
    outcome = install(bash, checkout, home)
    assert outcome.code == 1  # its link is the other clone's
    assert str(other.engine.parent) in outcome.out.decode()
    assert record(home).read_text(encoding="utf-8") == f"{checkout.engine.parent}\n"
    install(bash, other, home, "--uninstall")
    assert record(home).is_file()


def test_a_skill_without_an_engine_is_a_problem(bash: str, home: Path) -> None:
    """Installed it is, but it is said that it cannot work yet."""
    lonely = Checkout.make(home.parent / "lonely", engine=False)
    outcome = install(bash, lonely, home)
    assert outcome.code == 1
    assert b"KNOWLEDGE_SEARCH_PY" in outcome.err
    assert list(links(home)) == [MAIN]


def test_an_installed_copy_can_install_elsewhere(bash: str, checkout: Checkout, home: Path) -> None:
    """It keeps the recorded engine, and does not trip over itself."""
    install(bash, checkout, home, "--copy")
    copy = home / MAIN
    env = environment(home)
    outcome = run([bash, copy / "scripts" / "install.sh", "--agent", "claude"], env)
    assert (outcome.code, outcome.err) == (0, b"")
    assert links(home) == {f".claude/skills/{NAME}": f"link to {copy}"}
    assert record(home).read_text(encoding="utf-8") == f"{checkout.engine.parent}\n"


def test_a_link_to_the_script_leads_to_the_skill(bash: str, checkout: Checkout, home: Path) -> None:
    """As in the search script: through chains of links, relative ones too."""
    (home / "bin").mkdir()
    (home / "bin" / "one").symlink_to(os.path.relpath(checkout.install, home / "bin"))
    (home / "bin" / "two").symlink_to("one")
    outcome = run([bash, home / "bin" / "two"], environment(home))
    assert outcome.code == 0
    assert (home / MAIN).readlink() == checkout.skill


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_problem(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """The other places are served all the same."""
    (home / ".claude").mkdir(mode=0o500)
    outcome = install(bash, checkout, home, "--agent", "all")
    assert outcome.code == 1
    assert b".claude" in outcome.err


def test_a_file_in_the_way_of_a_folder_is_a_problem(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """The other places are served all the same."""
    (home / ".claude").write_text("mine", encoding="utf-8")
    outcome = install(bash, checkout, home, "--agent", "all")
    assert outcome.code == 1
    assert b".claude" in outcome.err
    assert f".cursor/skills/{NAME}" in links(home)
    assert (home / ".claude").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    "options",
    [
        ["--agent"],
        ["--agent", "emacs"],
        ["--agent="],
        ["--project", "/tmp"],
        ["--project"],
        ["--agent", "claude", "--project", "/no such folder"],
        ["--bogus"],
        ["claude"],
        [""],
    ],
)
def test_wrong_calls_are_usage_errors(
    bash: str, checkout: Checkout, home: Path, options: list[str]
) -> None:
    """Nothing is installed by a call that was not understood."""
    outcome = install(bash, checkout, home, *options)
    assert (outcome.code, outcome.out) == (2, b"")
    assert b"--help" in outcome.err
    assert tree(home) == {}


def test_help_names_every_option(bash: str, checkout: Checkout, home: Path) -> None:
    """It is printed on stdout, and nothing is done."""
    outcome = install(bash, checkout, home, "--help")
    assert (outcome.code, outcome.err) == (0, b"")
    for word in ("--agent", "--project", "--copy", "--uninstall", "--dry-run", *PLACES, "all"):
        assert word in outcome.out.decode()
    assert "#" not in outcome.out.decode()
    assert tree(home) == {}


def test_the_callers_shell_does_not_matter(bash: str, checkout: Checkout, home: Path) -> None:
    """No glob option, no alias, no function, no CDPATH and no umask spoils an installation."""
    names = ["cd", "chmod", "cp", "ln", "mkdir", "mv", "readlink", "rm", "rmdir"]
    lines = [
        "shopt -s expand_aliases nullglob failglob nocasematch",
        "set -f -C; umask 000; IFS=s",
        *(f"{name}() {{ false; }}" for name in [*names, "umask"]),
        *(f"alias {name}=false" for name in names),
    ]
    start = home.parent / "start"
    start.write_text("\n".join(lines), encoding="utf-8")
    plain = install(bash, checkout, home, "--copy", "--agent=all")
    expected = tree(home)
    for env in (
        {"BASH_ENV": str(start)},
        {"CDPATH": "/usr:/tmp"},
        {"POSIXLY_CORRECT": "1"},
        {"SHELLOPTS": "noglob:noclobber:allexport:keyword"},
    ):
        assert install(bash, checkout, home, "--uninstall", **env).code == 0
        assert not record(home).exists()
        outcome = install(bash, checkout, home, "--copy", "--agent=all", **env)
        assert outcome == plain, env
        assert tree(home) == expected, env
        assert stat.S_IMODE(record(home).stat().st_mode) == 0o600, env


def test_the_settings_folder_is_closed_to_others(bash: str, checkout: Checkout, home: Path) -> None:
    """Credentials will be kept there; it may have been made with wider rights."""
    record(home).parent.mkdir(parents=True, mode=0o755)
    install(bash, checkout, home)
    assert stat.S_IMODE(record(home).parent.stat().st_mode) == 0o700


def test_the_command_in_skill_md_works_after_installing(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """The quick start is what an agent will type."""
    install(bash, checkout, home)
    text = (checkout.skill / "SKILL.md").read_text(encoding="utf-8")
    commands = [line.strip() for line in text.splitlines() if line.strip().startswith("~/.ai-")]
    assert commands
    for command in commands:
        done = subprocess.run(
            [bash, "-c", command],
            env=environment(home, PATH=SYSTEM_PATH),
            capture_output=True,
            check=True,
        )
        assert done.stdout.startswith(b"--json\0")


def test_after_the_repository_was_moved_the_links_are_put_right(
    bash: str, checkout: Checkout, home: Path
) -> None:
    """A link of ours that leads nowhere is replaced and removed as ours; another's is not."""
    assert install(bash, checkout, home, "--agent", "claude").code == 0
    place = home / MAIN
    gone = home / "gone" / "skills" / NAME
    for link in (place, home / PLACES["claude"] / NAME):
        link.unlink()
        link.symlink_to(gone)
    foreign = home / PLACES["cursor"] / NAME
    foreign.parent.mkdir(parents=True)
    foreign.symlink_to(home / "gone" / "something")
    done = install(bash, checkout, home, "--agent", "claude")
    assert done.code == 0, done
    assert (place / "SKILL.md").exists()
    assert install(bash, checkout, home, "--agent", "cursor").code == 1
    assert foreign.is_symlink()
    place.unlink()
    place.symlink_to(gone)
    install(bash, checkout, home, "--uninstall")
    assert not place.is_symlink()
    assert foreign.is_symlink()
