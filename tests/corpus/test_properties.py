"""What holds for every document that can be composed of Markdown's parts."""

from __future__ import annotations

from corpus.kit import assert_sound, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

bounded = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

words = st.sampled_from(
    [
        *("数据库", "检索。", "向量", "，", "word", "Vue", "v1.2.3", "`code`", "**b**", "end."),
        *(
            "👩\u200d💻",
            "e\u0301",
            "🇨🇳",
            "\u200b",
            "\u3000",
            "\u2028",
            "\x0c",
            "\x0b",
            "\x85",
            "\r",
        ),
        *("#", "-", ">", "|", "```", "~~~", "---", "===", "[a]: b", "<div>", "<!--", "-->", "\t"),
        *("+", "1.", "{#id}", "\\", "&amp;", "\0", "\ufeff"),
    ]
)
lines = st.lists(words, max_size=8).map(" ".join)
long_lines = st.builds(
    lambda word, count: word * count,
    st.sampled_from(["数", "数据。", "word ", "x", "👩\u200d💻", "a.b ", "1", "字 "]),
    st.sampled_from([3, 200, 1500]),
)
texts = st.one_of(lines, lines, lines, lines, lines, long_lines)
paragraphs = st.lists(texts, min_size=1, max_size=6).map("\n".join)
atx = st.builds(lambda level, text: "#" * level + " " + text, st.integers(1, 7), lines)
setext = st.builds(lambda text, mark: f"{text}\n{mark}", paragraphs, st.sampled_from(["===", "-"]))
fences = st.builds(
    lambda mark, info, body, closed: f"{mark}{info}\n{body}\n{mark if closed else ''}",
    st.sampled_from(["```", "~~~~", "   ```"]),
    st.sampled_from(["", "py", " js `x"]),
    st.builds(lambda text, count: "\n".join([text] * count), lines, st.integers(1, 40)),
    st.booleans(),
)
tables = st.builds(
    lambda text, rows: "| a | 表 |\n|---|---|\n" + f"| {text} | 1 |\n" * rows,
    lines,
    st.integers(0, 80),
)
leaves = st.one_of(
    *(paragraphs, atx, setext, fences, tables),
    st.sampled_from(["---", "    code", "<div>\nhtml\n</div>", "<!-- a\n\nb -->", "", "\n\n"]),
)


def prefixed(first: str, rest: str, block: str) -> str:
    """Put a block into a list item or quote."""
    return first + block.replace("\n", "\n" + rest)


containers = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda mark, blocks: prefixed(*mark, "\n\n".join(blocks)),
        st.sampled_from([("- ", "  "), ("1. ", "   "), ("> ", "> "), (">", ""), ("* ", "\t")]),
        st.lists(inner, min_size=1, max_size=2),
    ),
    max_leaves=4,
)
front = st.sampled_from(
    [
        "",
        "",
        "---\ntitle: 标题\ntags: a\n---\n",
        "---\nbad: : [\n---\n",
        "+++\nt = 1\n+++\n",
        "---\n",
    ]
)
bodies = st.lists(containers, max_size=6).map("\n\n".join)
notes = st.builds(
    lambda head, body, end, crlf: (head + body + end).replace("\n", "\r\n" if crlf else "\n"),
    front,
    bodies,
    st.sampled_from(["", "\n", "\n\n", " "]),
    st.booleans(),
)


@bounded
@given(notes)
def test_citations_are_exact_and_nothing_is_lost(note: str) -> None:
    """Also: every chunk fits the model, none is blank, none comes twice."""
    raw = note.encode()
    assert_sound(raw, read(raw))


@bounded
@given(notes, st.integers(12, 200))
def test_it_holds_for_every_budget(note: str, budget: int) -> None:
    """Small windows bring every way of cutting."""
    raw = note.encode()
    assert_sound(raw, read(raw, budget=budget), budget)


@bounded
@given(notes)
def test_reading_is_deterministic(note: str) -> None:
    """The same bytes, the same chunks."""
    assert read(note) == read(note)


@bounded
@given(
    st.lists(st.lists(texts.filter(lambda t: "<" not in t and "```" not in t and "~~~" not in t)
                      .map(lambda t: "字 " + t), min_size=1, max_size=4), min_size=2, max_size=6),
    st.data(),
)  # fmt: skip
def test_editing_one_section_leaves_the_others_alone(
    sections: list[list[str]], data: st.DataObject
) -> None:
    """Their text and heading path, that is their identity, whatever their lines become."""

    def note(parts: list[list[str]]) -> str:
        return "".join(
            f"## S{number}\n\n" + "\n\n".join(part) + "\n\n" for number, part in enumerate(parts)
        )

    edited = data.draw(st.integers(0, len(sections) - 1))
    changed = [*sections]
    changed[edited] = ["字 new", *sections[edited], "字 more"]

    def others(text: str) -> list[tuple[tuple[str, ...], str]]:
        own = (f"## S{edited}",)
        return [
            (chunk.heading_path, chunk.text)
            for chunk in read(text).chunks
            if chunk.heading_path[:1] != own
        ]

    assert others(note(sections)) == others(note(changed))
