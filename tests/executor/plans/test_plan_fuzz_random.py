"""Whatever stands in a plan that is read: it gives a plan, or says what is wrong with it."""

from __future__ import annotations

import copy
import json
import random

import pytest
from random_plans import random_plan

from executor.plan_check.check_plan import errors_in
from executor.plan_check.read_plan import read_plan
from executor.plans.action_plan import ActionPlan

TEXTS = ["", "p", "a", "s1", "?x", "_", "not p", "(or)", "(forall (?x - object) (p))", "a b", "x == y", "\0", "é"]
ODD = [
    *TEXTS,
    *("{{s1.data}}", "{{", "{{s1}} {{s9.data.a}}"),
    *(None, True, 0, -1, 1.5, 10**30, [], {}, ["p"], {"a": 1}, [[]], {"hard": ["p"]}, {"soft": {"p": -1}}),
]


def parts(data):
    """Yield each part of `data` that can be changed: what it is in, and under which key."""
    stack = [data]
    while stack:
        part = stack.pop()
        if isinstance(part, dict | list):
            for key in part if isinstance(part, dict) else range(len(part)):
                yield part, key
                stack.append(part[key])


def changed(rng, data):
    """Return `data` with something else in one to three places, or without what was there."""
    data = copy.deepcopy(data)
    for _ in range(rng.randint(1, 3)):
        places = list(parts(data))
        if places:
            part, key = rng.choice(places)
            if rng.random() < 0.7:
                part[key] = copy.deepcopy(rng.choice(ODD))
            else:
                del part[key]
    return data


@pytest.mark.parametrize("block", range(4))
def test_a_plan_that_was_tampered_with_is_read_or_refused(block):
    rng, taken, refused = random.Random(block), 0, 0
    for _ in range(20):
        plan = random_plan(rng, longest=4)
        data = ActionPlan.of(plan, model=rng.choice(["sequential", "dag"])).model_dump(mode="json")
        for _ in range(20):
            text = json.dumps(changed(rng, data))
            read, findings = read_plan(text, plan.problem.domain)
            assert all(each.rule and each.message and str(each) for each in findings), text
            assert read is not None or errors_in(findings), text
            taken, refused = taken + (not errors_in(findings)), refused + bool(errors_in(findings))
    assert (taken > 15, refused > 100) == (True, True)


@pytest.mark.parametrize("data", [each for each in ODD if not isinstance(each, str)], ids=str)
def test_what_is_no_plan_is_told(data):
    read, findings = read_plan(json.dumps(data) + "\n", random_plan(random.Random(1)).problem.domain)
    assert findings or read is not None


def test_what_cannot_be_kept_is_a_finding():
    domain = random_plan(random.Random(1)).problem.domain
    data = {"steps": [{"id": "s1", "action": "a", "parameters": {"x": {"deep": [object()]}}}]}
    read, [finding] = read_plan(data, domain)
    assert read is None
    assert (finding.step, finding.path[:4]) == ("s1", ("steps", 0, "parameters", "x"))
    assert "expected data that JSON can hold (<class 'object'>)" in str(finding)
