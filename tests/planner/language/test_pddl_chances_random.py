"""Random effects of which one of several comes about, against what PPDDL says of them, part by part."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import UnsupportedError
from planner.language import pddl
from planner.policies.evaluation import Declared

FACTS = ("p", "q", "r")
Effect = tuple
"""A keyword and its parts: ("and", …), ("when", fact, effect), ("oneof", …), ("probabilistic", (share, effect), …)."""


def random_effect(rng: random.Random, depth: int) -> Effect:
    kind = rng.choice(("fact", "fact", "not", "and", "when", "oneof", "probabilistic") if depth else ("fact", "not"))
    if kind in ("fact", "not"):
        return kind, rng.choice(FACTS)
    if kind == "when":
        return kind, rng.choice(FACTS), random_effect(rng, depth - 1)
    parts = [random_effect(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if kind == "probabilistic":
        shares = [Fraction(rng.randint(1, 4), 12) for _ in parts]
        return kind, *zip(shares, parts, strict=True)
    return kind, *parts


def written(effect: Effect) -> str:
    match effect:
        case "fact", name:
            return f"({name})"
        case "not", name:
            return f"(not ({name}))"
        case "when", name, part:
            return f"(when ({name}) {written(part)})"
        case "probabilistic", *parts:
            return f"(probabilistic {' '.join(f'{share} {written(part)}' for share, part in parts)})"
        case keyword, *parts:
            return f"({keyword} {' '.join(map(written, parts))})"
    raise AssertionError(effect)


def drawn(effect: Effect, state: frozenset[str]) -> Counter[frozenset[str]]:
    """How probable each set of literals is that `effect` makes true in `state`."""
    match effect:
        case "fact", name:
            return Counter({frozenset([name]): Fraction(1)})
        case "not", name:
            return Counter({frozenset([f"not {name}"]): Fraction(1)})
        case "when", name, part:
            return drawn(part, state) if name in state else Counter({frozenset(): Fraction(1)})
        case "and", *parts:
            return together([drawn(part, state) for part in parts])
        case "oneof", *parts:
            return mixed([(Fraction(1, len(parts)), drawn(part, state)) for part in parts])
    nothing = 1 - sum(share for share, _ in effect[1:])
    return mixed(
        [*((share, drawn(part, state)) for share, part in effect[1:]), (nothing, Counter({frozenset(): Fraction(1)}))]
    )


def together(parts: list[Counter[frozenset[str]]]) -> Counter[frozenset[str]]:
    found = Counter({frozenset(): Fraction(1)})
    for part in parts:
        more: Counter[frozenset[str]] = Counter()
        for one, first in found.items():
            for other, second in part.items():
                more[one | other] += first * second
        found = more
    return found


def mixed(parts: list[tuple[Fraction, Counter[frozenset[str]]]]) -> Counter[frozenset[str]]:
    found: Counter[frozenset[str]] = Counter()
    for share, part in parts:
        for literals, probability in part.items():
            found[literals] += share * probability
    return found


def after(state: frozenset[str], literals: frozenset[str]) -> frozenset[str]:
    """The state in which `literals` were made true; adding wins."""
    return frozenset(name for name in FACTS if name in literals or (name in state and f"not {name}" not in literals))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=examples(150))
def test_random_chances_come_out_as_ppddl_says(seed: int):
    rng = random.Random(seed)
    effect, state = random_effect(rng, 4), frozenset(name for name in FACTS if rng.random() < 0.5)
    domain = f"(define (domain d) (:predicates (p) (q) (r)) (:action a :effect (and {written(effect)})))"
    initial = " ".join(f"({name})" for name in sorted(state))
    try:
        problem = pddl.parse_problem(
            f"(define (problem x) (:domain d) (:init {initial}) (:goal (p)))", pddl.parse_domain(domain)
        )
    except UnsupportedError as error:
        assert "more than" in str(error)  # noqa: PT017 - too many outcomes or conditions, and nothing else
        return
    expected: Counter[frozenset[str]] = Counter()
    for literals, share in drawn(effect, state).items():
        expected[after(state, literals)] += share
    declared = Declared(problem)
    (step,) = declared.initial.applicable()
    found: Counter[frozenset[str]] = Counter()
    for share, now in declared.outcomes(declared.initial, step):
        found[frozenset(fact.predicate for fact in now.facts)] += share
    assert {each: pytest.approx(float(share), abs=1e-9) for each, share in expected.items() if share} == dict(found)
