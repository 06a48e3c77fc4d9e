"""What `diverse` gives and says, beyond brute force."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest

from planner import Domain, InputError, StoppedBy, diverse, k_best, rank, validate
from planner.cli import interrupt, main
from planner.topk.diverse import LISTED, Counter, distance, select_diverse


def parts(ways, count=2, dear=0):
    """A problem with `count` goals, for each of which there are so many `ways`; the last way costs `dear` more."""
    domain = Domain("parts", types=["part"])
    for number in range(ways):
        cost = 10 + (dear if number == ways - 1 else 0)
        domain.action(f"way{number}", {"what": "part"}, provides=["have(what)"], cost=cost)
    names = [f"p{number}" for number in range(count)]
    return domain.problem(objects=dict.fromkeys(names, "part"), goal=[f"have({name})" for name in names])


def test_plans_that_share_nothing_are_preferred():
    found = diverse(parts(3), 3)
    assert found.diversity.least == 1
    assert (found.diversity.seen, found.diversity.all_seen) == (9, True)
    assert all(validate(plan.problem, plan).valid for plan in found.plans)
    assert found.summary().startswith("3 candidates, the cheapest; others cost 20 or more; they differ by 1.00 or more")


def test_what_costs_too_much_is_left_out():
    assert len(diverse(parts(2, dear=30), 4, within=1).plans) == 1
    assert {plan.cost for plan in diverse(parts(2, dear=30), 4, within=4).plans} == {20, 50, 80}


def test_far_plans_are_drawn_where_the_cheapest_are_all_alike():
    """The plans are more than are listed; the least distance of listed ones alone is small."""
    problem = parts(3, count=6, dear=1)
    found = diverse(problem, 3, by="links", within=1.2, time_limit=60)
    assert 3**6 > found.diversity.seen > LISTED
    assert not found.diversity.all_seen
    assert found.diversity.least > Fraction(1, 2)
    listed = diverse(problem, 3, by="links", within=1, time_limit=60)
    assert found.diversity.least > listed.diversity.least
    assert all(validate(plan.problem, plan).valid for plan in found.plans)
    assert found.plans == diverse(problem, 3, by="links", within=1.2, time_limit=60).plans


def test_as_many_as_are_far_enough_from_each_other():
    found = diverse(parts(3), None, least=1)
    assert len(found.plans) == 3
    assert len(diverse(parts(3), None, least=0.5).plans) > 3
    assert len(diverse(parts(1), 4).plans) == 1


def test_links_tell_apart_what_the_same_actions_are_for():
    domain = Domain("rooms")
    domain.action("key", provides=["open"])
    domain.action("push", requires=["open"], provides=["in"], modifies=["open"])
    domain.action("light", requires=["in"], provides=["lit"])
    domain.action("torch", provides=["lit"])
    problem = domain.problem(goal=["in", "lit"])
    found = diverse(problem, 2, by="links")
    assert found.diversity.least == Fraction(3, 5)
    assert diverse(problem, 2).diversity.least == Fraction(1, 2)


def test_the_distance_counts_how_often():
    one, other = Counter("aab"), Counter("abc")
    assert distance(one, other) == Fraction(1, 2)
    assert distance(one, one) == 0
    assert distance(Counter(), Counter()) == 0
    assert select_diverse([one, one, other], 3, Fraction(0)) == ([0, 2], False)
    assert select_diverse([one, other], None, Fraction(1, 2)) == ([0, 1], False)
    assert select_diverse([one, other], None, Fraction(51, 100)) == ([0], False)
    assert select_diverse([Counter(), Counter(), one], 3, Fraction(1)) == ([0, 2], False)
    assert select_diverse([], 3, Fraction(0)) == ([], False)


def test_choosing_ends_when_its_time_does():
    letters = [Counter(each) for each in "abc"]
    assert select_diverse(letters, None, Fraction(1), until=-1.0) == ([0], True)
    assert select_diverse(letters[:1], None, Fraction(1), until=-1.0) == ([0], False)


def test_the_farthest_is_that_of_exact_distances():
    rng = Random(3)
    for _ in range(60):
        features = [Counter(rng.choices("abcdef", k=rng.randint(0, 7))) for _ in range(9)]
        (first, *others), least = select_diverse(features, None, Fraction(0))[0], Fraction(2)
        taken = [first]
        for place in others:
            far = [min(distance(each, features[other]) for other in taken) for each in features]
            assert far.index(max(far)) == place
            assert 0 < far[place] <= least
            least = far[place]
            taken.append(place)
        assert all(any(not distance(each, features[other]) for other in taken) for each in features)


def test_no_plan_is_said_so():
    domain = Domain("none")
    domain.action("wait", requires=["gone"], provides=["waited"])
    found = diverse(domain.problem(goal=["waited"]), 2)
    assert found.summary() == "proved unsolvable"
    assert found.complete


def test_time_that_ends_leaves_what_was_found():
    found = diverse(parts(4, count=9), 3, time_limit=0.0)
    assert found.stopped_by is StoppedBy.TIME
    assert not found.diversity.all_seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "action"}, "did you mean 'actions'"),
        ({"by": None}, "by actions or links, not by None"),
        ({"by": ["links"]}, "by actions or links, not by"),
        ({"least": 2}, "from 0 to 1"),
        ({"least": "far"}, "`least` is a distance"),
        ({"k": None}, "how far they are apart"),
        ({"k": 0}, "1 or more"),
        ({"within": 0.5}, "1 or more"),
    ],
)
def test_options_that_mean_nothing_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        diverse(parts(2), **{"k": 2, **options})


def test_diverse_plans_are_ranked():
    found = diverse(parts(3, dear=5), 3)
    assert rank(found.plans, "cost").best.cost == k_best(parts(3), 1).plans[0].cost


FILE = """
domain: parts
types: {part: object}
actions:
  buy: {parameters: {what: part}, provides: ["have(what)"], cost: 3}
  make: {parameters: {what: part}, provides: ["have(what)"], cost: 4}
---
problem: two
domain: parts
objects: {p: part, q: part}
goal: ["have(p)", "have(q)"]
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command on a file; return the exit code, stdout and stderr."""
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)
    path = tmp_path / "parts.yaml"
    path.write_text(FILE)

    def run_in_process(*options):
        with pytest.raises(SystemExit) as ended:
            main(["solve", str(path), *options])
        return ended.value.code, *capsys.readouterr()

    return run_in_process


def test_the_command_tells_how_far_plans_are_apart(run):
    code, out, err = run("--candidates", "2", "--diverse", "actions")
    assert (code, out.count("; candidate")) == (0, 2)
    assert (
        "2 candidates; they differ by 1.00 or more in their actions; all plans within the bound were compared, 4" in err
    )
    assert err.splitlines()[-1].split() == ["2", "8", "1", "1.00"]
    code, out, _ = run("--candidates", "2", "--diverse", "links", "--within", "1.1", "--least", "0.9", "--json")
    data = json.loads(out)
    assert data["diversity"] == {"by": "links", "distances": [[0.0]], "least": None, "seen": 1, "all_seen": True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--diverse", "actions"], "--diverse is for several plans"),
        (["--candidates", "2", "--least", "0.5"], "--least is for plans that differ"),
        (["--candidates", "2", "--diverse", "actions", "--orders"], "--diverse goes without --orders"),
        (["--candidates", "2", "--diverse", "actions", "--least", "3"], "from 0 to 1"),
    ],
)
def test_options_of_the_command_that_do_not_go_together(run, options, message):
    code, _, err = run(*options)
    assert code == 2
    assert message in err
