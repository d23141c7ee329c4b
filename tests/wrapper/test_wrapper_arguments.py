"""What reaches the engine is what the caller gave; what cannot be a search is refused at once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wrapper.shell import Checkout, environment, run

LIMIT = 32 * 1024
VALUE_OPTIONS = [
    b"--preset",
    b"--mode",
    b"--top",
    b"--scope",
    b"--tags",
    b"--author",
    b"--after",
    b"--db-path",
    b"--kb",
]
AWKWARD = [
    b"",
    b" ",
    b"\n",
    b"a\nb\n",
    b"it's",
    b'say "hi"',
    b"C:\\temp\\new",
    b"\\",
    b"$HOME",
    b"$(touch /tmp/never)",
    b"`id`",
    b"${x}",
    b"!!",
    b"*",
    b"/*",
    b"[a-z]?",
    b"~",
    b"a=b",
    b"%s%n",
    b"-",
    b"-n",
    b"-e",
    b"--",
    b"--amend",
    b"--top=0",
    b"--json",
    "数据库 🐘 é".encode(),
    "　".encode(),
    b"\xff\xfe\x80",
    b"\xe6\x95",
    b"\x01\x1b[31m\x7f",
    b"; rm -rf x &",
    b"a\tb",
    b"a\r\n",
]

arguments = st.one_of(
    st.sampled_from(AWKWARD),
    st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "ignore").replace(b"\0", b"")),
)
options = st.one_of(
    st.sampled_from([b"--debug", b"--bogus", b"-x", b"--help", b"--bogus=1", b"--version"]).map(
        lambda flag: [flag]
    ),
    st.tuples(st.sampled_from(VALUE_OPTIONS), arguments).map(list),
    st.tuples(st.sampled_from(VALUE_OPTIONS), arguments).map(
        lambda pair: [pair[0] + b"=" + pair[1]]
    ),
)


@given(rest=st.lists(arguments, max_size=6))
@example(rest=AWKWARD)
@settings(max_examples=60, deadline=None)
def test_every_byte_after_the_separator_reaches_the_engine(
    bash: str, checkout: Checkout, rest: list[bytes]
) -> None:
    """No character of a query may mean anything to the shell."""
    given_arguments = [b"--", b"query", *rest]
    outcome = run(
        [bash, checkout.wrapper, *given_arguments], environment(checkout.root / "no-home")
    )
    assert outcome.arguments == given_arguments


@given(parts=st.lists(st.one_of(options, arguments.map(lambda one: [one])), max_size=6))
@settings(max_examples=80, deadline=None)
def test_arguments_are_passed_on_unchanged_or_refused(
    bash: str, checkout: Checkout, parts: list[list[bytes]]
) -> None:
    """Whatever the order of options, values and queries: no third thing may happen."""
    given_arguments = [argument for part in parts for argument in part]
    outcome = run(
        [bash, checkout.wrapper, *given_arguments], environment(checkout.root / "no-home")
    )
    if outcome.code == 0:
        assert outcome.arguments == given_arguments
    else:
        outcome.refusal(2)


@pytest.mark.parametrize(
    "given_arguments",
    [
        ["q"],
        ["q", "--top", "3"],
        ["--top", "3", "q"],
        ["--top=3", "q", "--debug"],
        ["--tags", "a,b", "--author", "O'Neil", "--after", "2024-01-31", "q"],
        ["--db-path", "/a b/c", "--kb", "work", "--scope", "dev", "--mode=fts", "q"],
        ["--preset", "qa", "--", "-retry"],
        ["--preset", "qa", "-retry"],
        ["--help"],
        ["--version"],
        ["--debug", "--help"],
        ["--bogus"],
        ["--bogus", ""],
        ["--bogus", "value", "q"],
        ["-h"],
        ["--top"],
        ["q", "--top"],
        ["one", "two"],
        ["-"],
        [" "],
    ],
)
def test_what_python_has_to_judge_is_left_to_it(
    bash: str, checkout: Checkout, given_arguments: list[str]
) -> None:
    """Values, unknown options and spare arguments have one judge, the engine."""
    outcome = run([bash, checkout.wrapper, *given_arguments], environment(checkout.root))
    assert outcome.arguments == [argument.encode() for argument in given_arguments]


@pytest.mark.parametrize(
    "given_arguments",
    [
        [],
        ["--"],
        ["--debug"],
        ["--preset", "qa"],
        ["--preset=qa", "--top", "query-is-missing"],
        ["--top", "--help"],
        [""],
        ["", "--preset", "qa"],
        ["--preset", "qa", ""],
        ["--", ""],
        ["", "second"],
    ],
)
def test_a_missing_or_empty_query_is_a_usage_error(
    bash: str, checkout: Checkout, given_arguments: list[str]
) -> None:
    """No engine is started for what cannot be a search."""
    outcome = run([bash, checkout.wrapper, *given_arguments], environment(checkout.root))
    assert "query" in outcome.refusal(2)


def filled(size: int, character: str) -> bytes:
    """Return text of exactly `size` bytes, of this character and some `x` to fill up."""
    unit = character.encode()
    return unit * (size // len(unit)) + b"x" * (size % len(unit))


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("character", ["x", "é", "数", "🐘"])
def test_the_limit_counts_bytes_exactly(
    bash: str, checkout: Checkout, locale: str, character: str
) -> None:
    """32 KiB pass and one byte more does not, whatever the characters and the locale."""
    env = environment(checkout.root, LC_ALL=locale)
    longest = filled(LIMIT, character)
    assert len(longest) == LIMIT
    assert run([bash, checkout.wrapper, longest], env).arguments == [longest]
    for command in ([longest + b"x"], [b"--top", b"3", b"--", longest + b"x"]):
        assert "32 KiB" in run([bash, checkout.wrapper, *command], env).refusal(2)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("size", [100_000, 131_071])
def test_the_longest_arguments_that_linux_passes_are_refused(
    bash: str, checkout: Checkout, locale: str, size: int
) -> None:
    """128 KiB less one byte is the most that one argument can have."""
    env = environment(checkout.root, LC_ALL=locale)
    for character in ("x", "数"):
        outcome = run([bash, checkout.wrapper, filled(size, character)], env)
        assert "32 KiB" in outcome.refusal(2)


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="the limit of an argument is Linux's")
def test_linux_itself_refuses_a_query_of_200_kb(bash: str, checkout: Checkout) -> None:
    """Nothing of ours runs then: this test documents where the border is."""
    with pytest.raises(OSError) as caught:
        run([bash, checkout.wrapper, b"x" * 200_000], environment(checkout.root))
    assert caught.value.errno == errno.E2BIG


@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_longer_queries_are_refused_where_the_system_passes_them(
    bash: str, checkout: Checkout, size: int
) -> None:
    """MacOS has no limit for one argument. Here only a shell that reads the script can try it."""
    text = f'printf -v query \'%*s\' {size} x; script=$1; set -- "$query"; . "$script"'
    outcome = run([bash, "-c", text, "_", checkout.wrapper], environment(checkout.root))
    assert "32 KiB" in outcome.refusal(2)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 130])
def test_the_engines_exit_code_is_the_scripts(bash: str, checkout: Checkout, code: int) -> None:
    """The code tells the agent what to do next."""
    env = environment(checkout.root, STAND_IN_EXIT=str(code))
    outcome = run([bash, checkout.wrapper, "q"], env)
    assert (outcome.code, outcome.out) == (code, b"--json\0q")


def test_a_query_leaves_the_file_system_alone(
    bash: str, checkout: Checkout, tmp_path: Path
) -> None:
    """Command substitutions in a query are text."""
    trap = tmp_path / "trap"
    for query in (f"$(touch {trap})", f"`touch {trap}`", f'"; touch {trap}; "', f"> {trap}"):
        run([bash, checkout.wrapper, query], environment(tmp_path), cwd=tmp_path)
    assert not trap.exists()
