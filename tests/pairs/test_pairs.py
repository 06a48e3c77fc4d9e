"""Pairs of features in the services, by the enumeration: a sample in each run, all of them in `make test-all`."""

from __future__ import annotations

import pytest
from effort import PART, PARTS
from pairs.features import FEATURES, PAIRS, SENSELESS
from pairs.matrix import triples
from pairs.services import SERVICES, Case, Kind, judge

from planner.model.constructs import Construct

SAMPLE = {"solve": 24}
"""How many pairs a service gets in each run."""
LIMIT = 2.0
"""Time limit of one answer, in seconds."""
WORST = (Kind.WRONG, Kind.INTERNAL)


def test_each_construct_is_a_feature() -> None:
    known = {each for feature in FEATURES.values() for each in feature.constructs}
    assert known == set(Construct)


def test_pairs_without_sense_are_named_by_features() -> None:
    assert {name for pair in SENSELESS for name in pair} <= set(FEATURES)
    assert len(PAIRS) + len(SENSELESS) == len(FEATURES) * (len(FEATURES) - 1) / 2


@pytest.mark.parametrize("name", SERVICES)
def test_no_answer_about_a_pair_is_wrong(name: str) -> None:
    number = SAMPLE.get(name, 8)
    sample = PAIRS[PART::PARTS][:number] if number < len(PAIRS) // PARTS else PAIRS[PART::PARTS]
    verdicts = {pair: judge(name, Case(pair, LIMIT)) for pair in sample}
    assert not {pair: each for pair, each in verdicts.items() if each.kind in WORST}


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SERVICES)
def test_no_answer_about_any_pair_is_wrong(name: str) -> None:
    verdicts = {pair: judge(name, Case(pair)) for pair in [*PAIRS, *triples(60, seed=1)]}
    assert not {pair: each for pair, each in verdicts.items() if each.kind in WORST}
