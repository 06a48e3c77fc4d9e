"""Ranking plans: criteria on plans whose measures are plain to see, rules, orders, and what is said about them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.model import Action, Atom, DomainModel, Goal, Object, Outcome, Predicate, Problem, SoftGoal, Variable
from planner.plan import Plan, Step
from planner.ranking.criteria import Criterion, measure_plan, read_criterion
from planner.ranking.rank import rank

WHO = Variable("?who")
ACTIONS = (
    Action("mail", (WHO,), provides=(Atom("told", ("?who",)),), cost=(1,), duration=Decimal(60), risk=Decimal("0.1")),
    Action(
        "ring",
        (WHO,),
        provides=(Atom("told", ("?who",)),),
        cost=(3,),
        duration=Decimal(5),
        uses={"money": (Decimal("0.5"),)},
        outcomes=(Outcome(Decimal("0.75"), (Atom("told", ("?who",)),)), Outcome(Decimal("0.25"))),
    ),
    Action(
        "shout",
        (WHO,),
        provides=(Atom("told", ("?who",)),),
        cost=(1,),
        tags=frozenset({"irreversible", "needs_approval"}),
    ),
)
OFFICE = Problem(
    "tell",
    DomainModel(
        "office", predicates={"told": Predicate("told", (WHO,))}, actions={each.name: each for each in ACTIONS}
    ),
    (Object("ann"), Object("bob")),
    goal=Goal(Atom("told", ("ann",))),
)


def plan(text):
    costs = {"mail": 1, "ring": 3, "shout": 1}
    steps = [word.split(":") for word in text.split()]
    return Plan(tuple([Step(name, (who,), costs[name]) for name, who in steps]), OFFICE)


MAIL, RING, SHOUT = plan("mail:ann"), plan("ring:ann"), plan("shout:ann")


@pytest.mark.parametrize(
    ("name", "of_mail", "of_ring", "of_shout"),
    [
        ("cost", 1, 3, 1),
        ("length", 1, 1, 1),
        ("duration", 60, 5, 0),
        ("risk", Decimal("0.1"), Decimal("0.25"), 0),
        ("irreversible", 0, 0, 1),
        ("approvals", 0, 0, 1),
        ("money", 0, Decimal("0.5"), 0),
        ("count mail", 1, 0, 0),
        ("count ring(bob)", 0, 0, 0),
        ("count @irreversible", 0, 0, 1),
    ],
)
def test_criteria(name, of_mail, of_ring, of_shout):
    found = read_criterion(name, OFFICE)
    assert [measure_plan(found, each) for each in (MAIL, RING, SHOUT)] == [of_mail, of_ring, of_shout]


def test_risks_of_steps_add_up_to_that_of_the_plan():
    both = plan("ring:ann mail:bob")
    assert measure_plan(read_criterion("risk", OFFICE), both) == 1 - Decimal("0.75") * Decimal("0.9")


def test_what_is_forgone_counts_by_its_utility():
    wishes = (SoftGoal(Atom("told", ("bob",)), 3), SoftGoal(Atom("told", ("ann",)), 2))
    wishful = replace(OFFICE, goal=Goal(OFFICE.goal.hard, wishes))
    found = [
        measure_plan(read_criterion("forgone", OFFICE), Plan(each.steps, wishful))
        for each in (MAIL, plan("mail:ann mail:bob"))
    ]
    assert found == [3, 0]


def test_one_criterion_after_the_other():
    ranking = rank([RING, MAIL, SHOUT], "cost, duration")
    assert list(ranking) == [SHOUT, MAIL, RING]
    assert [each.place for each in ranking.ranked] == [1, 2, 3]
    assert [ranking.decided_by(each) for each in ranking.ranked] == [None, "duration", "cost"]
    assert ranking.why() == (
        "Candidates 2 and 3 have the least cost (1).\n"
        "Of these, candidate 3 has the least duration (0 s).\n"
        "It needs approval for step 1 shout(ann)."
    )
    assert ranking.table() == (
        "    candidate  cost  duration  decided by\n"
        "1.          3     1       0 s\n"
        "2.          2     1      60 s  duration\n"
        "3.          1     3       5 s  cost"
    )


def test_a_weighted_sum():
    ranking = rank([MAIL, RING], "10*cost + duration")
    assert ranking.best is RING
    assert [each.score for each in ranking.ranked] == [35, 70]
    assert ranking.decided_by(ranking.ranked[1]) == "duration"
    assert ranking.why() == (
        "Candidate 2 comes first: 10*cost + duration is the least (35).\n"
        "The next, candidate 1, comes to 70: cost -20, duration +55."
    )
    assert ranking == rank([MAIL, RING], {"cost": 10, "duration": 1})


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("2*cost+duration", "2*cost + duration"),
        ("cost + 0.5*duration - 3*count ring(_)", "cost + 0.5*duration - 3*count ring(_)"),
        ("cost,count ring(ann), -money", "cost, then count ring(ann), then -money"),
        ({"cost": 1, "-money": 2}, "cost - 2*money"),
    ],
)
def test_orders_are_written_as_they_are_read(by, said):
    assert str(rank([MAIL], by).order) == said


def test_more_may_be_better():
    assert rank([MAIL, RING], "-duration").best is MAIL
    assert rank([MAIL, RING], "-duration").why() == "Candidate 1 has the most duration (60 s)."


def test_equal_plans_share_a_place_and_keep_their_order():
    ranking = rank([SHOUT, RING, MAIL], "cost")
    assert [each.place for each in ranking.ranked] == [1, 1, 3]
    assert ranking.best is SHOUT
    assert ranking.why().startswith(
        "Candidates 1 and 3 have the least cost (1).\nCandidates 1 and 3 are equally good; the one given first comes"
    )


def test_functions_are_criteria():
    def letters(plan):
        return sum(len(step.action) for step in plan.steps) / 2

    ranking = rank([SHOUT, MAIL], letters)
    assert ranking.best is MAIL
    assert ranking.ranked[0].values == (2,)
    assert str(ranking.order) == "letters"
    assert rank([SHOUT, MAIL], [Criterion("letters", letters, more=True)]).best is SHOUT


@pytest.mark.parametrize(
    ("rule", "reasons"),
    [
        ("never @irreversible", ["never @irreversible: step 2 shout(bob)"]),
        ("never shout", ["never shout(_): step 2 shout(bob)"]),
        ("never mail(bob)", []),
        ("at most 1 times mail", ["at most 1 times mail(_): steps 1 mail(ann), 3 mail(ann)"]),
        ("at most 2 mail(_)", []),
    ],
)
def test_rules_exclude_plans(rule, reasons):
    broken = plan("mail:ann shout:bob mail:ann")
    ranking = rank([broken, RING], "length", rules=[rule])
    assert [list(each.reasons) for each in ranking.excluded] == ([reasons] if reasons else [])
    assert len(ranking) == 2 - len(ranking.excluded)


def test_what_wants_approval_is_named():
    ranking = rank([plan("mail:ann shout:bob ring:ann")], rules=["only if approved ring(ann)"])
    assert ranking.ranked[0].approvals == (2, 3)
    assert "It needs approval for steps 2 shout(bob), 3 ring(ann)." in ranking.why()


def test_where_every_plan_is_excluded_the_reasons_are_given():
    ranking = rank([SHOUT], rules=["never @irreversible"])
    assert ranking.why() == (
        "No plan is left to choose.\nCandidate 1 is excluded: never @irreversible: step 1 shout(ann)."
    )
    with pytest.raises(InputError, match="no plan is left to choose"):
        ranking.best  # noqa: B018 - it raises


def test_the_pareto_set():
    both = plan("mail:ann mail:bob")
    ranking = rank([both, MAIL, RING], "cost, duration", pareto=True)
    assert list(ranking) == [MAIL, RING]
    assert ranking.excluded[0].reasons == ("candidate 2 is better in cost, and worse in nothing",)


VALUES = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=8)


@given(VALUES)
def test_the_pareto_set_is_that_of_all_pairs(values):
    plans = [Plan((Step("mail", (str(number),)),), OFFICE) for number in range(len(values))]
    of = dict(zip(plans, values, strict=True))
    criteria = [Criterion(name, lambda plan, at=at: of[plan][at]) for at, name in enumerate("abc")]
    ranking = rank(plans, criteria, pareto=True)
    beaten = {
        one
        for one, other in product(plans, plans)
        if of[one] != of[other] and all(b <= a for a, b in zip(of[one], of[other], strict=True))
    }
    assert {each.plan for each in ranking.excluded} == beaten
    assert list(ranking) == sorted((each for each in plans if each not in beaten), key=of.__getitem__)


@given(VALUES, st.tuples(*[st.integers(-2, 3)] * 3))
def test_a_sum_orders_as_the_sum_does(values, weights):
    plans = [Plan((Step("mail", (str(number),)),), OFFICE) for number in range(len(values))]
    of = dict(zip(plans, values, strict=True))
    criteria = [Criterion(name, lambda plan, at=at: of[plan][at]) for at, name in enumerate("abc")]
    ranking = rank(plans, dict(zip(criteria, weights, strict=True)))
    assert list(ranking) == sorted(plans, key=lambda each: sum(w * v for w, v in zip(weights, of[each], strict=True)))


def test_as_data():
    data = rank([RING, MAIL, SHOUT], "cost, risk", rules=["never @irreversible"]).to_dict()
    assert data["by"] == [
        {"criterion": "cost", "weight": None, "more_is_better": False},
        {"criterion": "risk", "weight": None, "more_is_better": False},
    ]
    assert [each["candidate"] for each in data["ranked"]] == [2, 1]
    assert data["ranked"][0]["values"] == {"cost": 1, "risk": 0.1}
    assert data["ranked"][1]["loses"] == {"cost": 2, "risk": 0.15}
    assert data["ranked"][1]["decided_by"] == "cost"
    assert data["excluded"][0]["candidate"] == 3
    assert data["ranked"][0]["plan"] == MAIL.to_dict()


@pytest.mark.parametrize(
    ("by", "rules", "message"),
    [
        ("price", (), "there is no criterion 'price'"),
        ("cots", (), "did you mean 'cost'"),
        ("count fax", (), "there is no action 'fax'"),
        ("count mail(ann, bob)", (), "mail(ann, bob) has 2 arguments, not 1"),
        ("count @silly", (), "there is no tag 'silly'"),
        ("cost, cost", (), "the criterion 'cost' is given twice"),
        ("2*cost + *", (), "is no sum of criteria"),
        ({"cost": "much"}, (), "the weight of 'cost' is 'much', which is no number"),
        ({"cost": float("inf")}, (), "the weight of 'cost' is inf, which is no number"),
        ([], (), "no criteria to rank by"),
        (7, (), "7 is no order of plans"),
        ([lambda _plan: "dear"], (), "the criterion '<lambda>' gives 'dear', which is no number"),
        ("cost", ["sometimes mail"], "'sometimes mail' is no rule"),
        ("cost", ["never"], "'never' is no rule"),
        ("cost", ["never fax"], "there is no action 'fax'"),
        ("cost", ["never mail(zoe)"], "mail(zoe): there is no object 'zoe'"),
        ("cost", ["never mail(anne)"], "did you mean 'ann'"),
        ("count ring(bobb)", (), "there is no object 'bobb'"),
    ],
)
def test_mistakes_are_named(by, rules, message):
    with pytest.raises(InputError) as caught:
        rank([MAIL], by, rules=rules)
    assert message in str(caught.value)


def test_what_is_no_plan_is_refused():
    with pytest.raises(InputError, match="a str is no plan"):
        rank(["mail"])


def test_what_is_not_several_plans_is_refused():
    with pytest.raises(InputError, match="takes several plans, not a Plan; k_best"):
        rank(RING)


def test_one_rule_needs_no_list():
    ranking = rank([RING, SHOUT], "cost", rules="never shout")
    assert list(ranking) == [RING]
    assert ranking.excluded == rank([RING, SHOUT], "cost", rules=["never shout"]).excluded


def test_no_plans_are_no_mistake():
    assert list(rank([])) == []
    assert rank([]).why() == "No plan is left to choose."


def test_plans_of_one_domain_with_other_problems_are_ranked_together():
    other = Plan(RING.steps, replace(OFFICE, name="other"))
    assert list(rank([other, MAIL])) == [MAIL, other]
