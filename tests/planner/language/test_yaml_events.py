"""Events of YAML: what the plain reader takes, it reads as ruamel.yaml does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.language.documents import yaml_events
from planner.language.documents.yaml_events import Event, _parse_by_ruamel, _PlainReader, _UnusualError, read_events

ROOT = Path(__file__).parents[3]
SHIPPED = sorted([*(ROOT / "domains").rglob("*.yaml"), *(ROOT / "tests").rglob("*.yaml")])


def simplify(event: Event) -> Event:
    """Leave out the places that nothing reads: those of documents, and the lines of ends."""
    if event.kind.startswith("document"):
        return Event(event.kind, 0, 0, 0, 0)
    return event._replace(line=0, column=0) if event.kind == "end" else event


def assert_same(text: str) -> bool:
    """Compare both readers; return whether the plain one takes the text."""
    try:
        found = _PlainReader(text).read()
    except _UnusualError:
        return False
    assert [*map(simplify, found)] == [*map(simplify, _parse_by_ruamel(text))]
    return True


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_files_are_read_as_by_ruamel(path: Path) -> None:
    assert_same(path.read_text(encoding="utf-8"))


def test_most_files_are_plain() -> None:
    taken = [assert_same(path.read_text(encoding="utf-8")) for path in SHIPPED]
    assert len(taken) > 20
    assert sum(taken) > 0.9 * len(taken)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n- x\n- y: z\n  w: v\nc:\n  - - p\n    - q\n  -\n    r: s\n  -\n",
        '---\na: \'it\'\'s\'\n"b": "say \\"x\\" \\u00e9\\n" # why\n---\n# next\n- [a, {b: c, "d": [e f, -1]}, ]\n',
        "a: some text\n  that goes on\n  - here\nb: 'quoted\n  text'\nc:\n",
        '{"domain": "x",\n "actions": {"a": {"cost": 1, "provides": ["at(b, c)"]}}}\n',
        "[]",
        "a: {}  # nothing\n\n\n",
        "a:   \n  b:c:d: e",
    ],
)
def test_plain_texts(text: str) -> None:
    assert assert_same(text) == ("b:c" not in text)


@pytest.mark.parametrize(
    "text",
    ["a: &x 1\nb: *x", "a: |\n  b\n", "a: !!str 1", "? a\n: b", "a: b: c", "a: 1\n  b: 2", "a\tb: c", "a: [b", "", "a"],
)
def test_others_are_left_to_ruamel(text: str) -> None:
    with pytest.raises(_UnusualError):
        _PlainReader(text).read()


def test_a_plain_text_needs_no_other_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_events, "_parse_by_ruamel", None)
    assert [each.value for each in read_events("a: [b, c]\n") if each.kind == "scalar"] == ["a", "b", "c"]


SIGNS = "[]{},-:#&*!|>%@é~?=' \"\\\t\u2028"
WORDS = (
    "a",
    "b c",
    "- ",
    ": ",
    "\n",
    "\n\n",
    "\n  ",
    "\n    ",
    "\n - ",
    "\n- ",
    ", ",
    "''",
    '\\"',
    "\\n",
    " # d",
    "---\n",
)
PARTS = st.sampled_from([*SIGNS, *WORDS, "1", "-1", "x: y", "x: ", "'q'", '"r"', "[s, t]", "{u: v}", "...", "\\u0041"])


@given(st.lists(PARTS, max_size=14).map("".join))
@example("a: 'b\n  \n  c'")
@example("a: b\n\n  c")
@example("- a: b\n  - c")
@example("a: [b\n---\n]")
def test_random_texts_are_read_as_by_ruamel(text: str) -> None:
    assert_same(text)


LINES = st.builds(
    lambda indent, begin, rest, end: " " * indent + begin + rest + end,
    st.integers(0, 6),
    st.sampled_from(["", "- ", "- - ", "key: ", "other: ", "key:", "- key: ", "'q k': ", '"d": ', "-", "? ", "a b: "]),
    st.sampled_from(
        ["", "text", "two words", "'q'", '"d\\n"', "[a, 'b', {c: d}]", "{e: [f]}", "1.5", "x:y", "not a(b, c)"]
    ),
    st.sampled_from(["", "", "", " ", " # why", ": ", ":", " x", ","]),
)


@given(st.lists(LINES, max_size=9).map("\n".join))
def test_random_lines_are_read_as_by_ruamel(text: str) -> None:
    assert_same(text)
