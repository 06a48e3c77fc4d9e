"""Rules about items, roles, values, costs and traps: each with a case that it tells, and one that it does not."""

from __future__ import annotations

import pytest

from planner.language.declare import Domain
from planner.lint.check_files import check_texts
from planner.lint.outlines import SourceText
from planner.lint.problem_lint import check_domain, check_problem
from planner.model import Problem

DOMAIN = """\
domain: lab
types: {robot: object, room: object, key: object}
actions:
  go:
    parameters: {r: robot, a: room, b: room}
    requires: ["at(r, a)", "door(a, b)"]
    provides: ["at(r, b)"]
    modifies: ["at(r, _)"]
"""
PROBLEM = """\
---
problem: p
objects: {x: robot, y: robot, h: room, k: room, l: room, m: room, n: room, s: key}
initial: ["at(x, h)", "at(y, k)", "door(h, k)", "door(k, l)", "door(l, m)", "door(m, n)"]
goal: ["at(x, k)"]
"""


def codes(text: str, *changes: tuple[str, str]) -> set[str]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return {each.code for each in check_texts([SourceText("lab.yaml", text)]).findings}


def action(name: str, **fields: str) -> tuple[str, str]:
    lines = "\n".join(f"    {key}: {value}" for key, value in fields.items())
    return "---\nproblem", f"  {name}:\n{lines}\n---\nproblem"


CLEAN = DOMAIN + PROBLEM

CASES = {
    "FT202 by what another action modifies": (
        [action("jump", parameters="{r: robot, a: room, b: room}", requires='["at(r, a)"]', provides='["at(r, b)"]')],
        [
            action(
                "jump",
                parameters="{r: robot, a: room, b: room}",
                requires='["at(r, a)"]',
                provides='["at(r, b)", "not at(r, a)"]',
            )
        ],
    ),
    "FT202 from a place that nobody asks for": (
        [
            action(
                "blow",
                parameters="{r: robot, a: room, b: room}",
                requires='["door(a, b)"]',
                provides='["at(r, b)", "not at(r, a)"]',
            )
        ],
        [
            action(
                "blow",
                parameters="{r: robot, a: room, b: room}",
                requires='["door(a, b)", "at(r, a)"]',
                provides='["at(r, b)", "not at(r, a)"]',
            )
        ],
    ),
    "FT203 a place that is given back": (
        [('provides: ["at(r, b)"]', 'provides: ["at(r, a)"]')],
        [('provides: ["at(r, b)"]', 'provides: ["at(r, a)", "at(r, b)"]')],
    ),
    "FT204 two places": (
        [('"at(y, k)"', '"at(y, k)", "at(y, l)"')],
        [('"at(y, k)"', '"at(y, k)"')],
    ),
    "FT205 two wanted places": (
        [('goal: ["at(x, k)"]', 'goal: ["at(x, k)", "at(x, l)"]')],
        [('goal: ["at(x, k)"]', 'goal: ["at(x, k)", "at(y, l)"]')],
    ),
    "FT206 a key that is used up": (
        [
            ('requires: ["at(r, a)", ', 'requires: ["not spent(r)", "at(r, a)", '),
            ('["at(r, b)"]', '["at(r, b)", "spent(r)"]'),
        ],
        [
            ('requires: ["at(r, a)", ', 'requires: ["not spent(r)", "at(r, a)", '),
            ('["at(r, b)"]', '["at(r, b)", "spent(r)"]'),
            action("rest", parameters="{r: robot}", requires='["spent(r)"]', provides='["not spent(r)"]'),
        ],
    ),
    "FT207 functional and broken": (
        [
            ("actions:", "predicates: {at: {parameters: [robot, room], functional: true}}\nactions:"),
            ('    modifies: ["at(r, _)"]\n', ""),
        ],
        [("actions:", "predicates: {at: {parameters: [robot, room], functional: true}}\nactions:")],
    ),
    "FT208 functional without a proof": (
        [
            ("actions:", "predicates: {has: {parameters: [key, robot], functional: true}}\nactions:"),
            action("take", parameters="{r: robot, s: key}", requires='["at(r, n)"]', provides='["has(s, r)"]'),
            ("types:", "constants: {n: room}\ntypes:"),
            ("m: room, n: room", "m: room"),
            ('"door(h, k)"', '"door(h, k)", "door(h, n)"'),
        ],
        [
            ("actions:", "predicates: {has: {parameters: [key, robot], functional: true}}\nactions:"),
            action(
                "take", parameters="{r: robot, s: key}", requires='["lies(s)"]', provides='["has(s, r)", "not lies(s)"]'
            ),
            ('"door(h, k)"', '"door(h, k)", "lies(s)"'),
        ],
    ),
    "FT209 a door the other way": (
        [('"door(l, m)"', '"door(m, l)"')],
        [('"door(l, m)"', '"door(m, l)", "door(l, m)"')],
    ),
    "FT118 a door against its length": (
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ('"door(a, b)"]', '"door(b, a)"]'),
            ("    modifies", "    cost: far(a, b)\n    modifies"),
        ],
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b)\n    modifies"),
        ],
    ),
    "FT103 two places at once": (
        [('"door(a, b)"]', '"door(a, b)", "at(r, b)", "a != b"]')],
        [('"door(a, b)"]', '"door(a, b)", "a != b"]')],
    ),
    "FT301 nothing wanted": ([('goal: ["at(x, k)"]', "goal: []")], [("goal:", "goal:")]),
    "FT307 a fact that is lost": (
        [
            action("smash", parameters="{s: key}", requires='["whole(s)"]', provides='["not whole(s)"]'),
            ('goal: ["at(x, k)"]', 'goal: ["at(x, k)", "whole(s)"]'),
            ('"door(h, k)"', '"door(h, k)", "whole(s)"'),
        ],
        [
            action("smash", parameters="{s: key}", requires='["whole(s)"]', provides='["not whole(s)"]'),
            ('"door(h, k)"', '"door(h, k)", "whole(s)"'),
        ],
    ),
    "FT308 a way without return": (
        [
            ('goal: ["at(x, k)"]', 'goal: ["at(x, h)", "at(y, l)", "lit(k)"]'),
            action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lit(a)"]'),
        ],
        [("goal:", "goal:")],
    ),
    "FT309 an action for nothing": (
        [action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lit(a)"]')],
        [action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["at(r, a)"]')],
    ),
    "FT310 one room without light": (
        [
            ('"door(a, b)"]', '"door(a, b)", "open(b)"]'),
            ('"door(h, k)"', '"door(h, k)", "open(h)", "open(l)", "open(m)", "open(n)"'),
        ],
        [
            ('"door(a, b)"]', '"door(a, b)", "open(b)"]'),
            ('"door(h, k)"', '"door(h, k)", "open(h)", "open(k)", "open(m)", "open(n)"'),
        ],
    ),
    "FT407 a length that is missing": (
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b)\n    modifies"),
        ],
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b)\n    modifies"),
            ("goal:", 'values: {"far(h, k)": 1, "far(k, l)": 1, "far(l, m)": 1, "far(m, n)": 1}\ngoal:'),
        ],
    ),
    "FT001 a cost below 0": (
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b) - 2\n    modifies"),
            ("goal:", 'values: {"far(h, k)": 1, "far(k, l)": 2, "far(l, m)": 3, "far(m, n)": 2}\ngoal:'),
        ],
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b) - 2\n    modifies"),
            (
                "goal:",
                'values: {"far(h, k)": 2, "far(k, l)": 2, "far(l, m)": 3, "far(m, n)": 2}\ngoal:',
            ),
        ],
    ),
    "FT001 a value below 0 that is a cost": (
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    cost: far(a, b)\n    modifies"),
            ("goal:", 'values: {"far(h, k)": -1, "far(k, l)": 1, "far(l, m)": 1, "far(m, n)": 1}\ngoal:'),
        ],
        [
            ("actions:", "functions: {far: [room, room]}\nactions:"),
            ("    modifies", "    modifies"),
            ("goal:", 'values: {"far(h, k)": -1, "far(k, l)": 1, "far(l, m)": 1, "far(m, n)": 1}\ngoal:'),
        ],
    ),
    "FT408 circles for nothing": (
        [
            ("    modifies", "    cost: 0\n    modifies"),
            ('"door(h, k)"', '"door(h, k)", "door(k, h)"'),
            action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lit(a)"]'),
        ],
        [
            ("    modifies", "    cost: 0\n    modifies"),
            action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lit(a)"]'),
        ],
    ),
    "FT409 one free action": (
        [
            action(
                "light",
                parameters="{r: robot, a: room}",
                requires='["at(r, a)"]',
                provides='["lit(a)"]',
                cost="0",
                uses="{money: 2}",
            )
        ],
        [
            action(
                "light",
                parameters="{r: robot, a: room}",
                requires='["at(r, a)"]',
                provides='["lit(a)"]',
                uses="{money: 2}",
            )
        ],
    ),
    "FT115 a misspelt effect": (
        [
            action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lighted(a)"]'),
            action("see", parameters="{a: room}", requires='["lihgted(a)"]', provides='["seen(a)"]'),
        ],
        [
            action("light", parameters="{r: robot, a: room}", requires='["at(r, a)"]', provides='["lighted(a)"]'),
            action("see", parameters="{a: room}", requires='["lighted(a)"]', provides='["seen(a)"]'),
        ],
    ),
}


def test_the_base_is_clean() -> None:
    assert codes(CLEAN) == {"FT116"}


@pytest.mark.parametrize(("wrong", "right"), CASES.values(), ids=CASES)
def test_a_rule_tells_what_is_wrong_and_nothing_else(
    request: pytest.FixtureRequest, wrong: list[tuple[str, str]], right: list[tuple[str, str]]
) -> None:
    code = request.node.callspec.id[:5]
    assert code in codes(CLEAN, *wrong)
    assert code not in codes(CLEAN, *right)


def test_functional_in_python() -> None:
    domain = Domain("lab", types=["robot", "room"])
    domain.predicate("at", "robot", "room", functional=True)
    domain.action("go", {"r": "robot", "a": "room", "b": "room"}, requires="at(r, a)", provides="at(r, b)")
    (finding,) = [each for each in check_domain(domain.model) if each.rule == "not-functional"]
    assert (
        finding.message
        == "'at' is functional, but it provides at(r, b), and at(r, a) stays true: at(r, _) has two values then"
    )
    assert domain.model.predicates["at"].functional == 1


def test_functional_is_proved_by_mutex_groups_over_several_predicates() -> None:
    domain = Domain("lab", types=["thing", "robot", "room"])
    domain.predicate("lies", "thing", "room", functional=True)
    domain.action(
        "take",
        {"t": "thing", "r": "robot", "a": "room"},
        requires="lies(t, a)",
        provides="held(t, r)",
        modifies="lies(t, _)",
    )
    domain.action(
        "put",
        {"t": "thing", "r": "robot", "a": "room"},
        requires="held(t, r)",
        provides="lies(t, a)",
        modifies="held(t, _)",
    )

    def problem(*initial: str) -> Problem:
        objects = {"t": "thing", "r": "robot", "s": "robot", "a": "room", "b": "room"}
        return domain.problem(objects=objects, initial=initial, goal="lies(t, b)")

    assert check_problem(problem("lies(t, a)")) == []
    assert "unproved-functional" in [each.rule for each in check_problem(problem("lies(t, a)", "held(t, r)"))]


def test_functional_names_a_parameter() -> None:
    text = CLEAN.replace(
        "actions:", "predicates: {at: {parameters: {who: robot, where: room}, functional: place}}\nactions:"
    )
    (finding,) = [each for each in check_texts([SourceText("lab.yaml", text)]).findings if each.code < "FT100"]
    assert "functional is 'place', which is no parameter" in finding.message
    assert finding.hint == "write true for the last argument, or one of who, where"


def test_fixes_add_what_an_action_modifies() -> None:
    from planner.lint.fixes import apply_fixes

    text = SourceText("lab.yaml", CLEAN.replace('    modifies: ["at(r, _)"]\n', ""))
    jump = """\
  jump:
    parameters: {r: robot, a: room, b: room}
    requires: ["at(r, a)"]
    provides:
      - at(r, b)
    modifies:
      - at(r, _)
---
"""
    text = SourceText("lab.yaml", text.text.replace("---\n", jump))
    fixes = [each.fix for each in check_texts([text]).findings if each.fix and each.code == "FT202"]
    changed, number = apply_fixes(text, fixes)
    assert number == 1
    assert changed == text.text.replace(
        'provides: ["at(r, b)"]\n', 'provides: ["at(r, b)"]\n    modifies: ["at(r, _)"]\n'
    )


def test_functional_is_kept_from_document_to_document() -> None:
    from planner import read_documents
    from planner.language.documents.document_writer import write_yaml

    text = CLEAN.replace(
        "actions:", "predicates: {at: {parameters: {who: robot, where: room}, functional: who}}\nactions:"
    )
    (domain,) = read_documents(text).classical_domains
    again = Domain.of(domain).model
    assert [each.predicates["at"].functional for each in (domain, again)] == [0, 0]
    assert "functional: who" in write_yaml(domain)
