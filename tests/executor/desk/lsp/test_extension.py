"""The extension for Visual Studio Code: what its manifest names is there, and its grammar tells words apart."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "docs" / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
CONTRIBUTED = MANIFEST["contributes"]
GRAMMAR = json.loads((FOLDER / CONTRIBUTED["grammars"][0]["path"]).read_text(encoding="utf-8"))


def test_the_manifest_names_what_is_there() -> None:
    named = [MANIFEST["main"], *[each["configuration"] for each in CONTRIBUTED["languages"]]]
    named += [each["path"] for each in CONTRIBUTED["grammars"]]
    assert [each for each in named if not (FOLDER / each).is_file()] == []
    assert MANIFEST["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    script = (FOLDER / MANIFEST["main"]).read_text(encoding="utf-8")
    assert all(each["command"].partition(".")[2] in script for each in CONTRIBUTED["commands"])
    assert {each["language"] for each in CONTRIBUTED["grammars"]} == {each["id"] for each in CONTRIBUTED["languages"]}


def find_scopes(text: str) -> dict[str, str]:
    """Return the scope of each part of a line: at each place, the first rule that matches there is taken."""
    found: dict[str, str] = {}
    at = 0
    rules = [(re.compile(rule["match"]), rule) for rule in GRAMMAR["patterns"]]
    while at < len(text):
        matches = [(match, rule) for pattern, rule in rules if (match := pattern.search(text, at))]
        if not matches:
            break
        match, rule = min(matches, key=lambda each: each[0].start())
        if "name" in rule:
            found[match[0]] = rule["name"]
        for group, capture in rule.get("captures", {}).items():
            found[match[int(group)]] = capture["name"]
        at = max(match.end(), at + 1)
    return {part: scope.removesuffix(".pddl") for part, scope in found.items()}


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("(define (domain shop)", {"define": "keyword.control", "shop": "entity.name.section"}),
        ("(:types a-b - object)", {":types": "keyword.other", "object": "entity.name.type"}),
        ("(:durative-action go-on ; (and", {"go-on": "entity.name.function", "; (and": "comment.line.semicolon"}),
        (
            "(:derived (ok ?x - box)",
            {"ok": "entity.name.function", "?x": "variable.parameter", "box": "entity.name.type"},
        ),
        ("(sometime-after (p) (q))", {"sometime-after": "keyword.operator"}),
        ("(- total -3.5)", {"-3.5": "constant.numeric"}),
        ("(android ?a)", {"?a": "variable.parameter"}),
        ("(:metric minimize (total-time))", {":metric": "keyword.other", "minimize": "keyword.operator"}),
    ],
)
def test_the_grammar_tells_words_apart(text: str, scopes: dict[str, str]) -> None:
    found = find_scopes(text)
    assert {part: found.get(part) for part in scopes} == scopes
    assert "total" not in found
    assert "and" not in found
