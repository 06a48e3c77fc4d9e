"""How command lines are read: in any order, and whatever they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli import root
from planner.cli.parser import Parser
from planner.errors import InputError, UnsupportedError

OPTIONS: dict[str, tuple[str, Any]] = {
    "--mode": ("first", "first"),
    "--search": ("-odd", "-odd"),
    "--heuristic": ("a b", "a b"),
    "--engine": ("", ""),
    "--time-limit": ("2.5", 2.5),
    "--memory-limit": ("none", float("inf")),
    "--simulations": ("7", 7),
    "--seed": ("3", 3),
    "--jobs": ("2", 2),
    "--exploration": ("0.5", Decimal("0.5")),
    "--pruning": ("h2", ["h2"]),
    "--expansion-limit": ("4", 4),
    "--search-tree-dump": ("http://localhost:8000", "http://localhost:8000"),
    "--objective": ("cost", "cost"),
    "--penalty": ("2.5", Decimal("2.5")),
    "--budget": ("money=2.5", [("money", Decimal("2.5"))]),
    "--deadline": ("30", Decimal(30)),
    "--candidates": ("5", 5),
    "--within": ("1.2", Decimal("1.2")),
    "--diverse": ("links", "links"),
    "--least": ("0.5", Decimal("0.5")),
    "--rank": ("cost, duration", "cost, duration"),
    "--rule": ("never -x", ["never -x"]),
    "--plan-file": ("a=b", Path("a=b")),
}
FLAGS = {
    "--tree": "tree",
    "--orders": "orders",
    "--wasteful": "wasteful",
    "--fill": "fill",
    "--pareto": "pareto",
    "--plain": "plain",
    "--every-plan": "every_plan",
    "--proved": "proved",
    "--json": "json",
}
FLAGS |= {"--fill": "fill", "--quiet": "quiet", "-q": "quiet"}
DEFAULTS = {
    "problem": None,
    "mode": "anytime",
    "time_limit": 10.0,
    "seed": 0,
    "jobs": None,
    **dict.fromkeys(FLAGS.values(), False),
    **dict.fromkeys(
        ("search", "heuristic", "engine", "simulations", "memory_limit", "plan_file", "objective", "penalty", "budget")
    ),
    **dict.fromkeys(("pruning", "expansion_limit", "search_tree_dump", "exploration")),
    **dict.fromkeys(("deadline", "soft", "candidates", "within", "diverse", "least", "rank", "rule")),
}


def parser_of(name: str) -> Parser:
    command = root.module_of(name)
    parser = Parser(name, command.ABOUT)
    command.add_arguments(parser)
    return parser


@given(st.data())
def test_options_stand_anywhere_with_their_values_in_either_form(data: st.DataObject) -> None:
    places = data.draw(st.sampled_from([["a.pddl"], ["a.pddl", "b"], ["-", ""]]))
    options = data.draw(st.lists(st.sampled_from(sorted(OPTIONS)), unique=True))
    flags = data.draw(st.lists(st.sampled_from(sorted(FLAGS)), unique=True))
    write: Callable[[str], list[str]] = data.draw(
        st.sampled_from([lambda name: [name, OPTIONS[name][0]], lambda name: [f"{name}={OPTIONS[name][0]}"]])
    )
    groups = [*map(write, options), *[[flag] for flag in flags], *[[] for _ in places]]
    rest = iter(places)
    words = [word for group in data.draw(st.permutations(groups)) for word in group or [next(rest)]]
    expected = DEFAULTS | dict(zip(("domain", "problem"), places, strict=False))
    expected |= {name[2:].replace("-", "_"): OPTIONS[name][1] for name in options}
    expected |= {FLAGS[flag]: True for flag in flags}
    assert parser_of("solve").read(words) == expected


@pytest.mark.parametrize("name", root.OWN)
@given(
    words=st.lists(
        st.sampled_from(
            ["--", "-", "", "-1", "-h", "--to", "--to=", "--mode", "-q=", "--json", "=", "%s", "hddl", "pddl"]
        )
        | st.text(max_size=5)
    )
)
def test_any_line_is_read_or_refused(name: str, words: list[str]) -> None:
    with contextlib.redirect_stdout(None), contextlib.suppress(InputError, UnsupportedError, SystemExit):
        assert isinstance(parser_of(name).read(words), dict)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--", "-a", "--json"], {"domain": "-a", "problem": "--json", "json": False}),
        (["--json", "--", "a"], {"domain": "a", "problem": None, "json": True}),
        (["a", "--", "-q"], {"domain": "a", "problem": "-q", "quiet": False}),
        (["--mode", "first", "--mode=optimal", "a"], {"domain": "a", "mode": "optimal"}),
    ],
)
def test_the_end_of_options(words: list[str], expected: dict[str, Any]) -> None:
    assert parser_of("solve").read(words).items() >= expected.items()
