"""Pairs of features in the services, by the enumeration: a sample in each run, all of them in `make test-all`."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from pairs.features import FEATURES, PAIRS, SENSELESS
from pairs.matrix import GOOD, REFUSALS, triples
from pairs.refusals import read_refusals
from pairs.services import SERVICES, Case, Kind, Verdict, judge

from planner.model.constructs import Construct

SAMPLE = {"solve": 30, "decide": 12}
"""How many pairs a service gets in each run; other services get 5."""
LIMIT = 1.0
"""Time limit of one answer of the sample, in seconds."""
WORST = (Kind.WRONG, Kind.INTERNAL)

MENDED = {
    "run": ["after,durations", "created,windows", "soft_goals,due", "disjunctive,ranges"],
    "validate": ["conditional,durations", "stale,capacities", "ranges,maximized"],
    "pddl": ["stale,durations"],
    "mend": ["due,maximized,tasks_total"],
}
"""Pairs and triples that were answered wrongly once; they are asked in each run, besides the sample."""


def test_each_construct_is_a_feature() -> None:
    known = {each for feature in FEATURES.values() for each in feature.constructs}
    assert known == set(Construct)


def test_pairs_without_sense_are_named_by_features() -> None:
    assert {name for pair in SENSELESS for name in pair} <= set(FEATURES)
    assert len(PAIRS) + len(SENSELESS) == len(FEATURES) * (len(FEATURES) - 1) / 2


def find_faults(name: str, cases: Iterable[tuple[str, ...]], limit: float) -> dict[tuple[str, ...], Verdict]:
    """Return the answers that are wrong, and those that are refused but not in the table, or the other way round."""
    refusals, faults = read_refusals().get(name), {}
    for names in cases:
        verdict = judge(name, Case(names, limit))
        is_pair = len(names) == 2 and refusals is not None
        is_wrong = verdict.kind in WORST
        if is_wrong or (is_pair and (frozenset(names) in refusals) != (verdict.kind in REFUSALS)):
            faults[names] = verdict
    return faults


@pytest.mark.parametrize("name", SERVICES)
def test_answers_about_some_pairs(name: str) -> None:
    sample = random.Random(name).sample(PAIRS, SAMPLE.get(name, 5))
    assert not find_faults(name, sample, LIMIT)


@pytest.mark.parametrize("name", MENDED)
def test_pairs_that_were_mended_are_answered(name: str) -> None:
    answers = {each: judge(name, Case(tuple(each.split(",")), 5)) for each in MENDED[name]}
    assert all(each.kind in GOOD for each in answers.values()), answers


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SERVICES)
def test_answers_about_all_pairs_and_some_triples(name: str) -> None:
    assert not find_faults(name, [*PAIRS, *triples(60, seed=1)], 10)
