"""SKILL.md keeps the specification's rules, and says what the scripts really do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from answers import check_answer, check_error
from skills_ref import read_properties, validate

SKILL = Path(__file__).resolve().parents[2] / "skills" / "knowledge-search"
TEXT = (SKILL / "SKILL.md").read_text(encoding="utf-8")
FRONT, BODY = re.fullmatch(r"---\n(.*?)\n---\n(.*)", TEXT, re.DOTALL).groups()  # type: ignore[union-attr]
DOCUMENTS = [SKILL / "SKILL.md", *sorted((SKILL / "references").glob("*.md"))]
OPTIONS = {
    *("--preset", "--mode", "--top", "--scope", "--tags", "--author", "--after", "--db-path"),
    *("--kb", "--debug", "--version", "--help"),
}
PRESETS = {
    "coding": ("hybrid", "3", "dev"),
    "audit": ("hybrid", "5", "dev"),
    "qa": ("hybrid", "10", "any"),
    "fast": ("fts", "5", "any"),
}


def section(heading: str) -> str:
    """Return the text of the section whose heading starts with these words."""
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", BODY, re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Return the rows of a Markdown table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def options_in(script: str) -> set[str]:
    """Return the options that a script's code knows."""
    lines = (SKILL / "scripts" / script).read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.lstrip().startswith(("#", "printf")))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*(?=[\s|)=])", code)) - {"--json"}


def test_the_public_validator_passes_it() -> None:
    """The specification's own reference library."""
    assert validate(SKILL) == []


def test_the_front_matter_is_plain() -> None:
    """Rules of stricter readers: no BOM, six keys, block style, one line for each value."""
    data = (SKILL / "SKILL.md").read_bytes()
    assert data.startswith(b"---\n")
    assert b"\r" not in data
    assert b"\t" not in data
    keys = re.findall(r"^(\S+?):", FRONT, re.MULTILINE)
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {
        *("name", "description", "license", "compatibility", "metadata", "allowed-tools")
    }
    for line in FRONT.splitlines():
        assert re.match(r"( {2})?[a-z-]+:( .*)?$", line), line
        value = line.split(":", 1)[1].strip()
        assert not value.startswith(("{", "[", "|", ">", "&", "*", "'")), line
        if ": " in value or " #" in value:
            assert value.startswith('"') and value.endswith('"'), f"quote it: {line}"


def test_the_name_is_ascii_and_the_folders() -> None:
    """Lower-case letters, digits and single hyphens."""
    name = read_properties(SKILL).name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert name == SKILL.name
    assert len(name) <= 64


def test_the_description_says_what_and_when_in_both_languages() -> None:
    """It is all that an agent sees before it decides."""
    description = read_properties(SKILL).description
    assert 200 <= len(description) <= 1024
    assert "<" not in description
    assert ">" not in description
    for phrase in ("knowledge base", "Use it", "my notes", "cite", "Not for"):
        assert phrase in description
    for phrase in ("知识库", "笔记", "查一下", "时使用", "不要用"):
        assert phrase in description


def test_compatibility_license_and_metadata_are_in_form() -> None:
    """Each has its limit in the specification."""
    properties = read_properties(SKILL)
    assert properties.license == "MIT"
    assert 0 < len(properties.compatibility) <= 500
    assert properties.metadata
    assert all(isinstance(value, str) for pair in properties.metadata.items() for value in pair)


def test_the_body_is_short() -> None:
    """Under 300 lines, and well under 5,000 tokens by an estimate that is on the safe side."""
    assert len(BODY.splitlines()) < 300
    ascii_characters = sum(character.isascii() for character in BODY)
    estimate = ascii_characters / 3 + (len(BODY) - ascii_characters) * 1.3
    assert estimate < 4000


def test_every_option_is_in_the_table_and_in_the_wrapper() -> None:
    """Neither side may promise what the other does not know."""
    table = {
        option for row in rows(section("Options")) for option in re.findall(r"--[a-z-]+", row[0])
    }
    assert table == OPTIONS
    assert options_in("knowledge-search.sh") == OPTIONS
    header = (SKILL / "scripts" / "knowledge-search.sh").read_text(encoding="utf-8")
    assert set(re.findall(r"\[(--[a-z-]+)", header.split("\n\n")[0])) == OPTIONS


def test_the_presets_are_those_of_the_contract() -> None:
    """Mode, number of results and scope."""
    found = {}
    for row in rows(section("Which preset")):
        name = re.search(r"--preset (\w+)", row[1])
        if name:
            found[name[1]] = tuple(row[2].split(";")[0].split(", "))
    assert found == PRESETS


def test_every_exit_code_is_explained() -> None:
    """In SKILL.md with what to do, and in the contract."""
    assert [row[0] for row in rows(section("Exit codes"))] == list("012345")
    contract = (SKILL / "references" / "json-contract.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d) \|", contract, re.MULTILINE) == list("012345")


def test_installing_is_documented() -> None:
    """Each option of install.sh is named in the troubleshooting page."""
    page = (SKILL / "references" / "troubleshooting.md").read_text(encoding="utf-8")
    options = options_in("install.sh") - {"--help"}
    assert options == {"--agent", "--project", "--copy", "--uninstall", "--dry-run"}
    for option in options:
        assert f"install.sh {option}" in page or f" {option} " in page, option


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere_one_level_deep(document: Path) -> None:
    """An agent follows them by path."""
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
        assert "://" not in target
        assert (document.parent / target).is_file(), target
        assert target.count("/") <= 1


def test_every_reference_is_linked_from_the_body() -> None:
    """What is not linked is never read."""
    for path in (SKILL / "references").iterdir():
        assert f"(references/{path.name})" in BODY


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_of_answers_and_errors_are_valid(document: Path) -> None:
    """An agent learns the form from them."""
    text = document.read_text(encoding="utf-8")
    for block in re.findall(r"^ *```json\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        check_answer(block)
    for example in re.findall(r"`(\{\"schema_version\".*?\})`", text):
        check_error(example)


def test_there_is_an_example() -> None:
    """Else the test above has nothing to look at."""
    assert "```json" in BODY


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_text_is_in_order(document: Path) -> None:
    """Fences are closed, no heading level is skipped, tables have rows of one width."""
    text = document.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) % 2 == 0
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
