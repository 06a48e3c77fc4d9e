"""Decision processes by hand: what becomes of risk, outcomes, harm, history and wishes."""

from __future__ import annotations

from decimal import Decimal

from planner import OPEN, Domain, Entity, Outcome, decide, evaluate
from planner.compilations.determinization import determinize
from planner.lightweight import replace
from planner.limits import Limits
from planner.model.actions import Case
from planner.model.problem import seal
from planner.policies.markov_decision_process import NOTHING
from planner.policies.process_grounding import process_of


def bridge(goal="there"):
    """Return a problem with a short way over a bridge that may break, and a long way round."""
    domain = Domain("bridge")
    domain.action(
        "cross",
        {},
        requires=["here", "bridge"],
        provides=["there"],
        modifies=["here"],
        outcomes=[Outcome(0.75, ["there", "not here"]), Outcome(0.25, ["not bridge"])],
    )
    domain.action("walk", {}, requires=["here"], provides=["there", "not here"], cost=5, risk=0.5)
    return domain.problem(initial=["here", "bridge"], goal=goal)


def by_name(process):
    return {choice.step.action: choice for choice in process.choices}


def test_outcomes_that_only_do_harm_are_kept():
    process = process_of(bridge(), Limits())
    cross = by_name(process)["cross"]
    assert [probability for probability, _ in cross.branches] == [0.75, 0.25]
    harm = dict(process.outcomes(process.initial, process.choices.index(cross)))[0.25]
    assert [process.choices[number].step.action for number in process.applicable(harm)] == ["walk"]


def test_risk_is_a_branch_that_changes_nothing():
    process = process_of(bridge(), Limits())
    walk = by_name(process)["walk"]
    assert walk.branches[-1] == (0.5, NOTHING)
    assert walk.cost == 5
    outcomes = process.outcomes(process.initial, process.choices.index(walk))
    assert sorted(outcomes) == sorted([(0.5, process.initial), (0.5, after_walking(process))])


def after_walking(process):
    (action,) = [n for n, each in enumerate(process.task.actions) if each.step.action == "walk"]
    return process.space.apply(action, process.initial)


def test_outcomes_with_the_same_effects_are_one_branch():
    domain = Domain("coin")
    domain.action(
        "toss", {}, provides=["heads"], outcomes=[Outcome(0.5, ["heads"]), Outcome(0.3, ["tails"]), Outcome(0.2)]
    )
    process = process_of(domain.problem(initial=[], goal=["heads"]), Limits())
    (toss,) = process.choices
    assert [probability for probability, _ in toss.branches] == [0.5, 0.5]
    assert toss.branches[-1][1] == NOTHING


def test_every_outcome_counts_as_having_run():
    domain = Domain("after")
    domain.action("first", {}, provides=["a"], outcomes=[Outcome(0.5, ["a"]), Outcome(0.5, ["b"])])
    domain.action("second", {}, provides=["done"], after=["first"])
    process = process_of(domain.problem(initial=[], goal=["done"]), Limits())
    (first,) = process.applicable(process.initial)
    for _, state in process.outcomes(process.initial, first):
        assert "second" in {process.choices[number].step.action for number in process.applicable(state)}


def test_one_action_for_each_outcome():
    compiled = determinize(bridge())
    assert {(way.action, way.number) for way in compiled.ways.values()} == {("cross", 0), ("cross", 1), ("walk", 0)}
    assert compiled.ways.keys() == compiled.problem.domain.actions.keys()
    assert not any(action.outcomes or action.modifies for action in compiled.problem.domain.actions.values())


def test_wishes_are_asked_about_in_states():
    process = process_of(
        bridge({"hard": "there", "soft": {"bridge": 3, "(or (there) (here))": 2, "(not (here))": 9}}), Limits()
    )
    assert process.utility(process.initial) == 5
    cross = process.choices.index(by_name(process)["cross"])
    assert [process.utility(state) for _, state in process.outcomes(process.initial, cross)] == [14, 2]
    assert not process.is_goal(process.initial)
    assert len(process.choices) == 2


def test_a_goal_that_no_outcome_reaches():
    domain = Domain("never")
    domain.action("try", {}, requires=["b"], provides=["a"], modifies=["b"], risk=0.5)
    process = process_of(domain.problem(initial=[], goal=["a"]), Limits())
    assert process.task.unreachable_goal is not None
    assert not process.is_goal(process.initial)
    assert process.choices == ()


def test_steps_have_the_odds_of_their_case():
    domain = Domain("tools")

    class Tool(Entity):
        """More or less reliable."""

    domain.action(
        "use", {"tool": Tool}, provides=["done"], outcomes=[Outcome(0.5, ["done"]), Outcome(0.5, ["broken(tool)"])]
    )
    problem = domain.problem(
        objects=[Tool("old"), Tool("new"), Tool("void")], initial=[], goal=["done", "not broken(new)"]
    )
    use = replace(
        domain.model.actions["use"],
        cases=(
            Case(("old",), Decimal("0.5")),
            Case(("void",), Decimal("0.25"), (Decimal(0), Decimal(1))),
            Case((OPEN,), Decimal(0), (Decimal("0.75"), Decimal("0.25"))),
        ),
    )
    problem = seal(replace(problem, domain=replace(problem.domain, actions={"use": use})))
    process = process_of(problem, Limits())
    odds = {choice.step.arguments: [share for share, _ in choice.branches] for choice in process.choices}
    assert odds == {("old",): [0.25, 0.75], ("new",): [0.75, 0.25]}
    assert evaluate(problem, decide(problem).policy).cost == 1 / 0.25
