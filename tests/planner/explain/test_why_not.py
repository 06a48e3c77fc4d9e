"""Contrastive questions: what a plan costs that does otherwise, and what forbids it."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from timed_domains import letters

from benchmarks.random_problems import random_problem
from benchmarks.why_not_brute import explore, watch_use
from benchmarks.why_not_trials import Asked, Subject, draw_timed_trials, draw_trials, judge
from planner import (
    Domain,
    InputError,
    Limits,
    PlanError,
    UnsupportedError,
    explain_unsolvable,
    forbidden,
    load,
    solve,
    validate,
    why_not,
)
from planner.cli import Exit, main
from planner.compilations.foils import FoilKind, StepFoil, StepSet, apply_foils
from planner.explain.conflicts import Kind
from planner.explain.contrastive_answer import Outcome
from planner.language.loading.python_files import list_shipped_names
from planner.lightweight import replace
from planner.model import Atom
from planner.model.problem import seal
from planner.plan import Status


def deliveries(**extra):
    """Return a problem in which a truck or a plane brings a parcel, at different costs."""
    domain = Domain(
        "deliveries", types={"vehicle": "object", "truck": "vehicle", "plane": "vehicle", "place": "object"}
    )
    domain.function("km", "place", "place")
    domain.predicate("lost")
    moved = {"provides": "at(v, b)", "modifies": "at(v, _)"}
    domain.action(
        "drive",
        {"v": "truck", "a": "place", "b": "place"},
        requires=["at(v, a)", "road(a, b)"],
        cost="km(a, b)",
        **moved,
    )
    domain.action("fly", {"v": "plane", "a": "place", "b": "place"}, requires=["at(v, a)", "a != b"], cost=20, **moved)
    domain.action(
        "load", {"v": "vehicle", "a": "place"}, requires=["at(v, a)", "here(a)"], provides="on(v)", modifies="here(_)"
    )
    domain.action(
        "unload", {"v": "vehicle", "a": "place"}, requires=["at(v, a)", "on(v)"], provides="here(a)", modifies="on(v)"
    )
    domain.action("wash", {"v": "truck"}, provides="clean(v)")
    return domain.problem(
        **{
            "objects": {"truck1": "truck", "plane1": "plane", "home": "place", "city": "place", "isle": "place"},
            "initial": ["at(truck1, home)", "at(plane1, home)", "here(home)", "road(home, city)", "road(city, home)"],
            "values": {"km(home, city)": 5, "km(city, home)": 5},
            "goal": ["here(city)", "clean(truck1)"],
            **extra,
        }
    )


@pytest.mark.parametrize(
    ("question", "outcome", "cost"),
    [
        ("by plane1", Outcome.DEARER, 10),
        ("with a plane", Outcome.DEARER, 10),
        ("unload(plane1, city)", Outcome.DEARER, 23),
        ("fly", Outcome.DEARER, 23),
        ("fly(plane1, _, city)", Outcome.DEARER, 23),
        ("not by truck", Outcome.IMPOSSIBLE, None),
        ("without drive", Outcome.DEARER, 23),
        ("why drive?", Outcome.DEARER, 23),
        ("without drive(truck1, home, city)", Outcome.DEARER, 23),
        ("drive", Outcome.SAME, 8),
        ("by plane1 or truck1", Outcome.SAME, 8),
        ("fly and without load(plane1, _)", Outcome.DEARER, 28),
        ("fly to nowhere", Outcome.OPEN, None),
        ("wash before drive", Outcome.SAME, 8),
        ("drive before load", Outcome.DEARER, 18),
        ("why load before drive", Outcome.DEARER, 18),
        ("load after drive", Outcome.DEARER, 18),
        ("never at(truck1, city)", Outcome.DEARER, 23),
        ("through at(truck1, city)", Outcome.SAME, 8),
        ("cheaper", Outcome.IMPOSSIBLE, None),
        ("if not road(home, city)", Outcome.DEARER, 23),
        ("if road(home, city) were false", Outcome.DEARER, 23),
        ("what if at(truck1, city)?", Outcome.DEARER, 13),
        ("if km(home, city) = 30", Outcome.DEARER, 23),
        ("if no drive", Outcome.DEARER, 23),
        ("if cost <= 7", Outcome.IMPOSSIBLE, None),
        ("if no goal clean(truck1)", Outcome.CHEAPER, 7),
        ("if goal here(isle) and no goal here(city)", Outcome.DEARER, 23),
    ],
)
def test_answers(question: str, outcome: Outcome, cost: int | None) -> None:
    if outcome is Outcome.OPEN:
        with pytest.raises(InputError):
            why_not(deliveries(), question)
        return
    answer = why_not(deliveries(), question)
    assert (answer.outcome, answer.plan and answer.plan.cost) == (outcome, cost)
    assert answer.proved
    assert answer.describe()
    json.dumps(answer.to_dict())
    if answer.plan is not None:
        assert validate(answer.plan.problem, answer.plan).valid
        assert answer.extra == cost - 8


def test_reasons_are_smallest_and_name_the_question() -> None:
    answer = why_not(deliveries(), "not by truck")
    (conflict,) = answer.conflicts
    assert {each.kind for each in conflict.demands} == {Kind.GOAL, Kind.FOIL}
    assert str(conflict) == "cannot hold together: goal clean(truck1); asked for: without a truck"
    assert conflict.smallest
    assert answer.to_dict()["conflicts"][0]["demands"][1]["kind"] == "foil"


def test_the_order_of_steps_is_explained() -> None:
    answer = why_not(deliveries(), "why load before drive")
    (reason,) = answer.reasons
    first, second = "1. load(truck1, home)", "2. drive(truck1, home, city)"
    assert reason == f"{first} comes before {second}: {second} undoes at(truck1, home), which {first} needs."
    assert str(answer).splitlines()[0] == "Why not drive(_, _, _) before load(_, _)?"


def test_an_order_without_a_reason_is_turned_round_at_once() -> None:
    problem = deliveries()
    steps = ["wash(truck1)", "load(truck1, home)", "drive(truck1, home, city)", "unload(truck1, city)"]
    answer = why_not(problem, "why 1 before 4", plan=steps)
    assert answer.outcome is Outcome.SAME
    assert answer.reasons == ("Nothing in the plan orders these steps: they may come the other way round.",)
    order = [step.action for step in answer.plan.steps]
    assert order.index("unload") < order.index("wash")


def test_a_plan_that_is_given_may_cost_more_than_needed() -> None:
    problem = deliveries()
    steps = ["wash(truck1)", "load(plane1, home)", "fly(plane1, home, city)", "unload(plane1, city)"]
    answer = why_not(problem, "cheaper", plan=steps)
    assert (answer.outcome, answer.extra, answer.plan.cost) == (Outcome.CHEAPER, -15, 8)
    answer = why_not(problem, "without step 3", plan=steps)
    assert (answer.outcome, answer.plan.cost) == (Outcome.CHEAPER, 8)
    assert "provides at(plane1, city)" in answer.reasons[0]


def test_what_every_plan_pays_is_less_than_what_it_costs() -> None:
    answer = why_not(deliveries(), "cheaper")
    assert {str(each) for each in answer.shares} >= {"1 for wash(truck1)"}
    assert sum(each.worth for each in answer.shares) <= 8
    assert "It is proved that no plan costs less than 8." in str(answer)


def test_a_change_that_makes_it_possible_is_named_but_not_the_question_turned_round() -> None:
    problem = deliveries(
        objects={"truck1": "truck", "home": "place", "city": "place", "isle": "place"},
        initial=["at(truck1, home)", "here(home)", "road(home, city)"],
    )
    answer = why_not(problem, "drive(truck1, _, isle)")
    assert answer.outcome is Outcome.IMPOSSIBLE
    assert "road(city, isle)" in str(answer)
    assert why_not(problem, "if not road(home, city)").diagnosis.change is None


def test_a_problem_without_any_plan_is_said_to_be_one() -> None:
    answer = why_not(deliveries(initial=["here(home)"]), "by truck1")
    assert answer.outcome is Outcome.IMPOSSIBLE
    assert answer.reasons == ("The problem has no plan at all.",)
    assert answer.diagnosis.solvable is False
    solvable = why_not(deliveries(initial=["here(home)"]), "if here(city)")
    assert (solvable.outcome, solvable.plan.cost) == (Outcome.POSSIBLE, 1)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("by truck2", "did you mean 'truck1'?"),
        ("drvie", "did you mean 'drive'?"),
        ("drive(truck1, hom, _)", "did you mean 'home'?"),
        ("drive(plane1, _, _)", "'plane1' is of type plane, expected truck"),
        ("without step 9", "the plan has no step 9; its steps have the numbers 1 to 4"),
        ("if not raod(home, city)", "did you mean 'road'?"),
        ("if kmm(home, city) = 3", "did you mean 'km'?"),
        ("if no goal here(isle)", "here(isle) is no part of the goal"),
        ("", "found no question"),
        ("through lsot", "did you mean 'lost'?"),
    ],
)
def test_mistakes_in_questions(question: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        why_not(deliveries(), question)


MISTAKES = ("", "by nobody", "if", "if qqqqqq", "through qqqqqq", "qqqqqq before wwwwww", "if qqqqqq = 3", "if cheaper")


def find_hint(problem, question: str) -> str:
    with pytest.raises(InputError) as raised:
        why_not(problem, question)
    return raised.value.hint or ""


def find_advice(problem, question: str) -> list[str]:
    """Return what the message about a mistaken question quotes as examples."""
    return re.findall(r"'([^']+)'", find_hint(problem, question))


@pytest.mark.parametrize("question", MISTAKES)
def test_what_messages_advise_can_be_asked(question: str) -> None:
    problem = deliveries()
    examples = find_advice(problem, question)
    assert examples or find_hint(problem, question) == "numbers are those of deadline, cost, km(place1, place2)"
    for each in examples:
        assert each.startswith("if ") or not question.startswith("if")
        assert why_not(problem, each).outcome is not Outcome.OPEN


@pytest.mark.parametrize("name", list_shipped_names())
def test_advice_fits_the_problem_that_is_asked_about(name: str) -> None:
    problem = load(name)
    examples = dict.fromkeys(text for question in MISTAKES[:-1] for text in find_advice(problem, question))
    assert len(examples) > 4
    for each in examples:
        with contextlib.suppress(UnsupportedError):
            why_not(problem, each, time_limit=0)


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        ("by truck2", "truck2"),
        ("if not raod(home, city)", "raod"),
        ("if kmm(home, city) = 3", "kmm"),
        ("drvie", "drvie"),
    ],
)
def test_names_that_messages_advise_are_right(question: str, wrong: str) -> None:
    (name,) = find_advice(deliveries(), question)
    assert why_not(deliveries(), question.replace(wrong, name)).proved


def test_numbers_are_changed_by_equal_signs() -> None:
    (corrected,) = find_advice(deliveries(), "if km(home, city) <= 9")
    assert corrected == "if km(home, city) = 9"
    assert why_not(deliveries(), corrected).extra == 4
    assert why_not(deliveries(), "if cost = 7").question.text == "cost <= 7"


@pytest.mark.parametrize("change", ["if not road(home, city)", "what if not road(home, city)", "not road(home, city)"])
def test_changes_may_begin_with_if(capsys, change: str) -> None:
    text = "road(home, city)"
    answers = [why_not(deliveries(), f"{words}not {text}") for words in ("if ", "if if ", "what if ", "if what if ")]
    assert len({str(each) for each in answers}) == 1
    with pytest.raises(SystemExit) as left:
        main(["explain", "courier", "one-parcel", "--quiet", "--what-if", change.replace(text, "at(r2, office)")])
    assert left.value.code == Exit.NEGATIVE
    assert capsys.readouterr().out.startswith("If not at(r2, office)")


def test_an_invalid_plan_is_refused() -> None:
    with pytest.raises(PlanError, match="not valid"):
        why_not(deliveries(), "cheaper", plan=["wash(truck1)"])


def test_budgets_are_explained_where_changes_have_steps_without_a_cost() -> None:
    found = explain_unsolvable(deliveries(budgets={"cost": 7}), Limits(10))
    assert found.solvable is False
    assert found.change is not None


def test_constraints_of_the_problem_are_among_the_reasons() -> None:
    answer = why_not(deliveries(constraints=[forbidden("fly")]), "without drive")
    assert {each.kind for each in answer.conflicts[0].demands} == {Kind.GOAL, Kind.CONSTRAINT, Kind.FOIL}


@pytest.mark.parametrize(
    ("question", "outcome", "extra"),
    [
        ("without light(desk1)", Outcome.DEARER, None),
        ("by desk1", Outcome.SAME, 0),
        ("write(letter1, _) before write(letter0, _)", Outcome.SAME, 0),
        ("without light", Outcome.IMPOSSIBLE, None),
        ("post", Outcome.IMPOSSIBLE, None),
        ("if written(letter1) by 2", Outcome.IMPOSSIBLE, None),
        ("if ink = 1", Outcome.IMPOSSIBLE, None),
        ("cheaper", Outcome.IMPOSSIBLE, None),
    ],
)
def test_problems_in_time(question: str, outcome: Outcome, extra: int | None) -> None:
    problem = letters((9, 30), desks=2)
    answer = why_not(problem, question, time_limit=6)
    assert answer.outcome is outcome
    assert answer.describe()
    if extra is not None:
        assert answer.extra == extra
    if answer.plan is not None:
        assert validate(answer.plan.problem, answer.plan).valid
        assert all(each.holds_for(answer.plan) for each in answer.question.foils)


def test_foils_are_compiled_into_problems_that_solve_takes() -> None:
    problem = deliveries()
    foil = StepFoil(FoilKind.USE, StepSet("fly(_, _, _)", (Atom("fly", ("_", "_", "_")),)))
    result = solve(apply_foils(problem, [foil]))
    assert (result.status, result.cost) == (Status.OPTIMAL, 23)
    assert foil.holds_for(result.plan)
    assert why_not(problem, foil).plan.cost == 23


def test_the_command_answers_in_text_and_json(capsys) -> None:
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["explain", "courier", "one-parcel", *arguments])
        return Exit(ended.value.code), capsys.readouterr().out

    code, out = run("--why-not", "without put_down", "--quiet")
    assert code is Exit.NEGATIVE
    assert "There is proved to be no such plan." in out
    code, out = run("--why-not", "cheaper", "--what-if", "distance(hall, lab) = 1", "--json")
    assert code is Exit.OK
    assert [each["outcome"] for each in json.loads(out)] == ["IMPOSSIBLE", "CHEAPER"]
    code, out = run("--json")
    assert json.loads(out)["redundant"] == []


def test_wrong_answers_are_seen_by_the_trials() -> None:
    problem = seal(random_problem(6))
    subject = Subject(problem, explore(problem), None)
    name = min({step[0] for steps in subject.graph.edges for step, _, _ in steps})
    asked = Asked(name, "use", watch_use(lambda step: step[0] == name))
    answer = why_not(problem, asked.text)
    assert answer.plan is not None
    assert judge(subject, asked, answer) == ""
    assert "there is such a plan" in judge(subject, asked, replace(answer, outcome=Outcome.IMPOSSIBLE))
    assert "is above the least cost" in judge(subject, asked, replace(answer, lower_bound=1000))
    none = replace(answer, plan=replace(answer.plan, steps=()))
    assert "does not do what is asked for" in judge(subject, asked, none)


def test_estimates_stay_positive_where_actions_have_several_effects() -> None:
    answer = why_not(load("elevator", "quarrel"), "without step 1", time_limit=5)
    assert answer.outcome is Outcome.IMPOSSIBLE


@pytest.mark.parametrize("seed", range(0, 600, 100))
def test_answers_in_time_are_as_enumerated(seed: int) -> None:
    for where, asked, trial in draw_timed_trials(seed, 2, 3):
        assert not trial.wrong, f"seed {where}, {asked.text!r}: {trial.wrong}"


@pytest.mark.parametrize("seed", range(0, 2400, 100))
def test_answers_are_as_enumerated(seed: int) -> None:
    for where, asked, trial in draw_trials(seed, 4, 20):
        assert not trial.wrong, f"seed {where}, {asked.text!r}: {trial.wrong}"
