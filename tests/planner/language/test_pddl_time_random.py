"""Problems in time as PDDL: what is written reads back as the same, and means what the declared problem means."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from planner import Domain, Problem, When, load, read_documents, solve, validate, write_yaml
from planner.compilations.required_values import require_values
from planner.errors import UnsupportedError
from planner.language.pddl.export import export
from planner.language.pddl.plan_files import write_plan
from planner.lightweight import replace
from planner.model.actions import DURATION, NO_MOMENT, Action, DurationRange, Moment, NumericEffect
from planner.model.actions import When as ModelWhen
from planner.model.domain import DomainModel, Function, Predicate
from planner.model.formulas import (
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Exists,
    Expression,
    Formula,
    Not,
    Number,
    Object,
    Or,
    Variable,
    conjunction,
)
from planner.model.problem import Goal, NumericMetric, seal
from planner.model.timing import TOTAL_TIME, TimedEffect

PLACE = ("place",)
X, Y, Z = (Variable(name, PLACE) for name in ("?x", "?y", "?z"))


class Draw:
    """Draws problems in the form that PDDL 2.1, level 3, writes, with timed initial literals."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def problem(self) -> Problem:
        predicates = {name: Predicate(name, (X,) if name != "q" else ()) for name in ("at", "lit", "q")}
        functions = {"far": Function("far", (X, Y)), "fuel": Function("fuel")}
        actions = [self.action(f"act-{number}") for number in range(self.random.randint(1, 3))]
        domain = DomainModel(
            "times", {"place": ("object",)}, (), predicates, functions, {each.name: each for each in actions}
        )
        objects = (Object("a", PLACE), Object("b", PLACE))
        values: dict[Atom, Number] = {
            Atom("far", (one, two)): self.number() for one in "ab" for two in "ab" if self.random.random() < 0.8
        }
        changes = [self.change(("a", "b")) for _ in range(self.random.randint(0, 4))]
        timed = sorted([TimedEffect(self.number(), *each) for each in changes], key=lambda each: each.time)
        found = Problem(
            "some",
            domain,
            objects,
            tuple(dict.fromkeys(self.atom(("a", "b")) for _ in range(2))),
            Goal(self.condition(("a", "b"))),
            {**values, Atom("fuel"): self.number()},
            NumericMetric(self.random.choice([TOTAL_TIME, Arithmetic("+", (TOTAL_TIME, Atom("fuel")))])),
            timed=tuple(timed),
        )
        return seal(found)

    def number(self) -> Number:
        return self.random.choice([1, 2, 7, Decimal("0.5"), Decimal("12.25")])

    def atom(self, terms: tuple[str, ...]) -> Atom:
        name = self.random.choice(["at", "lit", "q"])
        return Atom(name, () if name == "q" else (self.random.choice(terms),))

    def literal(self, terms: tuple[str, ...]) -> Any:
        atom = self.atom(terms)
        return atom if self.random.random() < 0.6 else Not(atom)

    def condition(self, terms: tuple[str, ...]) -> Formula:
        parts: list[Formula] = []
        for _ in range(self.random.randint(0, 2)):
            kind = self.random.randrange(5)
            if kind == 0:
                parts.append(Comparison(Atom("fuel"), ">=", self.number()))
            elif kind == 1:
                parts.append(Or((self.literal(terms), self.literal(terms))))
            elif kind == 2:
                parts.append(Exists((Z,), self.literal((*terms, "?z"))))
            else:
                parts.append(self.literal(terms))
        return conjunction(list(dict.fromkeys(parts)))

    def change(self, terms: tuple[str, ...]) -> tuple[tuple[Any, ...], tuple[NumericEffect, ...]]:
        if self.random.random() < 0.2:
            return (), (NumericEffect(Atom("fuel"), ":=", self.number()),)
        return (self.literal(terms),), ()

    def length(self) -> Expression:
        terms: list[Expression] = [self.number(), Atom("far", ("?x", "?y"))]
        return self.random.choice([*terms, Arithmetic("*", (2, terms[1]))])

    def action(self, name: str) -> Action:
        terms = ("?x", "?y")
        lengths = [self.length(), DurationRange(1, 5), DurationRange(self.length()), DurationRange(0, self.length())]
        duration = self.random.choice(lengths)
        ending = self.moment(duration)
        end = replace(ending, requires=self.condition(terms))
        start = self.moment(duration)
        return Action(
            name,
            (X, Y),
            self.condition(terms),
            cost=(),
            duration=duration,
            throughout=self.condition(terms),
            at_start=NO_MOMENT if start.is_empty else start,
            at_end=NO_MOMENT if end.is_empty else end,
        )

    def moment(self, duration: Any) -> Moment:
        terms = ("?x", "?y")
        whens = [
            ModelWhen(
                self.literal((*terms, "?z")) if self.random.random() < 0.7 else TRUE,
                tuple(dict.fromkeys(self.literal((*terms, "?z")) for _ in range(self.random.randint(1, 2)))),
                variables=(Z,),
            )
            for _ in range(self.random.randint(0, 1))
        ]
        spent = DURATION if isinstance(duration, DurationRange) and self.random.random() < 0.5 else 1
        numbers = (NumericEffect(Atom("fuel"), self.random.choice(["-=", "+="]), spent),)
        literals = tuple(dict.fromkeys(self.literal(terms) for _ in range(self.random.randint(0, 2))))
        return Moment(TRUE, literals, (), tuple(whens), numbers if self.random.random() < 0.3 else ())


@pytest.mark.parametrize("seed", range(90))
def test_what_is_written_reads_back_as_the_same_problem(seed: int) -> None:
    problem = Draw(seed).problem()
    written = export(problem)
    valued = require_values(problem)
    assert written.written == valued
    assert load(written.domain, written.problem) == valued
    assert read_documents(write_yaml(problem)).problems == (problem,)


def declared(seed: int) -> Problem:
    """Draw a small problem with items to modify, capacities, windows and deadlines."""
    random = Random(seed)
    domain = Domain("depot", types=["robot", "place"])
    domain.function("far", "place", "place")
    fuel = domain.function("fuel", "robot", low=0, high=9)
    domain.action(
        "move",
        {"r": "robot", "a": "place", "b": "place"},
        requires=["at(r, a)", "a != b"],
        provides="at(r, b)",
        modifies=["at(r, _)", *(["fuel(r) -= 1"] if random.random() < 0.5 else [])],
        duration=random.choice(["far(a, b)", 2, "far(a, b) / 2"]),
        holds=random.choice([{}, {"track": 1}]),
        **random.choice([{}, {"throughout": "open(b)"}, {"at_start": {"requires": "open(b)"}}]),  # type: ignore[arg-type]
    )
    domain.action(
        "work",
        {"r": "robot", "a": "place"},
        requires=["at(r, a)"],
        throughout=random.choice([(), ("at(r, a)",)]),
        provides="done(a)",
        modifies=random.choice([[], ["tool"]]),
        duration=random.choice([3, "2..4"]),
        holds={"worker": random.choice([1, 2])},
        when=When("open(a)", "shown(a)"),
        cost=2,
    )
    places, robots = ["p1", "p2"], ["r1", "r2"]
    limit = random.choice([8, 14, 40])
    return domain.problem(
        objects={**dict.fromkeys(places, "place"), **dict.fromkeys(robots, "robot")},
        initial=["at(r1, p1)", "at(r2, p1)", "open(p1)"],
        goal=["done(p1)", "done(p2)"],
        values={
            **{f"far({a}, {b})": random.randint(1, 4) for a in places for b in places},
            **{fuel(r): 3 for r in robots},
        },
        capacity={name: random.choice([1, 2, 3]) for name in ("worker", "track") if name in _held(domain)},
        windows={"open(p2)": random.choice(["0:00..", ["0:00:02", "0:00:20"]])},
        due=random.choice([{}, {"done(p2)": limit}]),
        deadline=random.choice([None, limit]),
        objective=random.choice(["makespan", "makespan + cost"]),
    )


def _held(domain: Domain) -> set[str]:
    return {name for action in domain.model.actions.values() for name in action.holds}


@pytest.mark.parametrize("seed", range(12))
def test_plans_of_what_is_written_are_plans_of_what_is_declared(seed: int) -> None:
    problem = declared(seed)
    written = export(problem)
    assert load(written.domain, written.problem) == written.written
    own, other = (solve(each, mode="first", time_limit=20) for each in (problem, written.written))
    if other.plan is not None:
        back = written.read_plan(write_plan(other.plan))
        assert len(back.steps) == len(other.plan.steps) - sum(step.action in written.added for step in other.plan.steps)
        verdict = validate(problem, back)
        assert verdict.valid, verdict.reason
    assert own.has_plan == other.has_plan, (own.status, other.status)


def test_what_pddl_cannot_say_is_refused_by_name() -> None:
    domain = Domain("kiosk")
    domain.action("sell", duration=3, provides="sold", holds={"till": 1}, cost=lambda: 2)
    given: dict[str, Any] = {"goal": "sold", "capacity": {"till": 1}}
    cases = [
        ({"due": {"sold": {"by": 5, "weight": 1}}}, "a price for lateness (of sold by 5), in PDDL"),
        ({"timed": {5: "price += 1"}}, "the change 'price += 1' at 5, in PDDL"),
        ({}, "a cost of 'sell' that Python computes, in PDDL"),
    ]
    domain.function("price")
    for fields, construct in cases:
        with pytest.raises(UnsupportedError) as caught:
            export(domain.problem(**given, **fields, objective="makespan + cost"))
        assert caught.value.construct == construct
    with pytest.raises(UnsupportedError, match="time in STRIPS"):
        export(domain.problem(**given), "strips")
