"""Events of YAML: their places, and that the parser reads a text once."""

from __future__ import annotations

import pytest
from ruamel.yaml.error import YAMLError

from planner.language.documents import yaml_events
from planner.language.documents.yaml_events import read_events

TEXT = "a: [b, 'c']\n---\n- d: e\n"


def test_events_have_places() -> None:
    scalars = [each for each in read_events(TEXT) if each.kind == "scalar"]
    assert [TEXT[each.start : each.end] for each in scalars] == ["a", "b", "'c'", "d", "e"]
    assert [(each.line, each.column) for each in scalars] == [(0, 0), (0, 4), (0, 7), (2, 2), (2, 5)]
    kinds = [each.kind for each in read_events(TEXT)]
    assert kinds.count("document") == kinds.count("document end") == 2
    assert kinds.count("map") + kinds.count("list") == kinds.count("end") == 4


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(read_events(TEXT))
    monkeypatch.setattr(yaml_events, "_parse", None)
    assert list(read_events(TEXT)) == first


@pytest.mark.parametrize("text", ["a: b: c", "a: [b", "a: 1\n  b: 2"])
def test_mistakes_are_raised_each_time(text: str) -> None:
    for _ in range(2):
        with pytest.raises(YAMLError):
            list(read_events(text))
