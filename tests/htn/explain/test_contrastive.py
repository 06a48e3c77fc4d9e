"""Contrastive questions about tasks: a decomposition that does otherwise, what it costs more, or what forbids it."""

from __future__ import annotations

import json

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.why_not_tasks import draw_task_trials
from domains import travel
from htn.compilations.htn_foils import MethodFoil, NodePattern, make_optional
from htn.language.declare import Methods
from htn.language.plan_text import write_plan
from htn.problem_kind import validate
from planner import Domain, InputError, PlanError, load, solve, why_not
from planner.cli import Exit, main
from planner.compilations.foils import FoilKind, apply_foils
from planner.explain.conflicts import Kind
from planner.explain.contrastive_answer import Outcome
from planner.model import Atom
from planner.plan import Status


def post(tasks=("deliver(box, city)", "deliver(bag, city)"), durations=(None, None), **extra):
    """Return a problem in which a truck or a plane delivers parcels."""
    domain = Domain(
        "post",
        types={"vehicle": "object", "truck": "vehicle", "plane": "vehicle", "place": "object", "parcel": "object"},
    )
    moved = {"provides": "at(v, b)", "modifies": "at(v, _)"}
    drive = {"v": "truck", "a": "place", "b": "place"}
    fly = {**drive, "v": "plane"}
    domain.action("drive", drive, requires=["at(v, a)", "road(a, b)"], cost=5, duration=durations[0], **moved)
    domain.action("fly", fly, requires="at(v, a)", cost=20, duration=durations[1], **moved)
    held = {"p": "parcel", "v": "vehicle", "a": "place"}
    domain.action("load", held, requires=["at(v, a)", "lies(p, a)"], provides="in(p, v)", modifies="lies(p, _)")
    domain.action("unload", held, requires=["at(v, a)", "in(p, v)"], provides="lies(p, a)", modifies="in(p, _)")
    how = Methods(domain)
    how.task("deliver", p="parcel", to="place")
    how.task("bring", v="vehicle", to="place")
    for name, kind in (("by-truck", "truck"), ("by-plane", "plane")):
        how.method(
            name,
            {"p": "parcel", "to": "place", "v": kind, "a": "place"},
            task="deliver(p, to)",
            requires="lies(p, a)",
            subtasks=["bring(v, a)", "load(p, v, a)", "bring(v, to)", "unload(p, v, to)"],
        )
    how.method("there", {"v": "vehicle", "to": "place"}, task="bring(v, to)", requires="at(v, to)", subtasks=[])
    onward = {"v": "truck", "a": "place", "b": "place", "to": "place"}
    how.method(
        "drive-on",
        onward,
        task="bring(v, to)",
        requires=["at(v, a)", "road(a, b)"],
        constraints=["a != to"],
        subtasks=["drive(v, a, b)", "bring(v, to)"],
    )
    how.method(
        "fly-there",
        {"v": "plane", "a": "place", "to": "place"},
        task="bring(v, to)",
        requires="at(v, a)",
        constraints=["a != to"],
        subtasks=["fly(v, a, to)"],
    )
    return how.problem(
        **{
            "objects": {
                "truck1": "truck",
                "plane1": "plane",
                "home": "place",
                "city": "place",
                "isle": "place",
                "box": "parcel",
                "bag": "parcel",
            },
            "initial": [
                *["at(truck1, home)", "at(plane1, home)", "lies(box, home)", "lies(bag, home)"],
                *["road(home, city)", "road(city, home)"],
            ],
            "tasks": list(tasks),
            **extra,
        }
    )


@pytest.mark.parametrize(
    ("question", "outcome", "cost"),
    [
        ("by-plane", Outcome.DEARER, 29),
        ("by method by-plane", Outcome.DEARER, 29),
        ("why not deliver(bag, _) by by-plane?", Outcome.DEARER, 29),
        ("deliver by by-plane and deliver(bag, _) by by-truck", Outcome.DEARER, 29),
        ("by-plane(box, city, plane1, home) and by-plane(bag, city, _, _)", Outcome.DEARER, 64),
        ("why deliver(box, _) by by-truck", Outcome.DEARER, 29),
        ("without by-truck", Outcome.DEARER, 64),
        ("without truck1", Outcome.DEARER, 64),
        ("with a plane", Outcome.DEARER, 29),
        ("without step 3", Outcome.DEARER, 29),
        ("unload(box, plane1, city)", Outcome.DEARER, 29),
        ("drive-on(truck1, city, _, _)", Outcome.SAME, 19),
        ("task bring(truck1, home) or method fly-there", Outcome.SAME, 19),
        ("load(bag, _, _) before load(box, _, _)", Outcome.SAME, 19),
        ("deliver(_, _) by fly-there", Outcome.IMPOSSIBLE, None),
        ("without deliver", Outcome.IMPOSSIBLE, None),
        ("never at(truck1, city)", Outcome.DEARER, 64),
        ("cheaper", Outcome.IMPOSSIBLE, None),
        ("if not road(home, city)", Outcome.DEARER, 64),
        ("what if at(truck1, city)?", Outcome.DEARER, 24),
        ("if no by-truck", Outcome.DEARER, 64),
        ("if cost <= 18", Outcome.IMPOSSIBLE, None),
        ("if goal lies(box, home)", Outcome.IMPOSSIBLE, None),
    ],
)
def test_answers_are_decompositions(question: str, outcome: Outcome, cost: int | None) -> None:
    tasks = ("deliver(box, city)", "deliver(bag, city)")
    problem = post(tasks) if "before" not in question else post(tasks[::-1])
    answer = why_not(problem, question)
    assert (answer.outcome, answer.plan and answer.plan.cost) == (outcome, cost)
    assert answer.proved
    assert answer.describe()
    json.dumps(answer.to_dict())
    if answer.plan is not None:
        assert validate(answer.plan.problem, answer.plan).valid
        assert answer.extra == cost - 19
        names = {*problem.domain.methods, ""}
        assert {node.method for node in answer.plan.tree.nodes} <= names
        assert all(" " not in node.task.predicate for node in answer.plan.tree.nodes)


def test_the_methods_that_change_are_named() -> None:
    answer = why_not(post(), "without by-truck")
    changed = tuple([f"deliver({each}, city) by by-plane, not by by-truck" for each in ("box", "bag")])
    assert answer.methods_changed == changed
    assert answer.reasons[0] == "The plan does deliver(box, city) by by-truck."
    assert f"It does {changed[0]}." in str(answer)


def test_tasks_are_among_the_smallest_reasons() -> None:
    answer = why_not(post(), "without by-plane and without by-truck")
    assert [str(each) for each in answer.conflicts] == [
        f"cannot hold together: task deliver({each}, city); asked for: without by-plane; asked for: without by-truck"
        for each in ("box", "bag")
    ]
    assert all(each.smallest for each in answer.conflicts)
    assert answer.conflicts[0].demands[0].kind is Kind.TASK
    assert "by-plane: the question is for a plan without it" in str(answer)


def test_marks_of_the_compilation_are_not_shown() -> None:
    answer = why_not(post(), "bring(plane1, isle) and without by-plane")
    assert answer.outcome is Outcome.IMPOSSIBLE
    assert "below" not in json.dumps(answer.to_dict())
    assert "the tasks" not in str(answer.diagnosis or "")


def test_methods_order_steps() -> None:
    (reason,) = why_not(post(), "why 2 before 3").reasons
    first, second = "2. drive(truck1, home, city)", "3. unload(box, truck1, city)"
    because = "by-truck, for deliver(box, city), does bring(truck1, city) before unload(box, truck1, city)"
    assert reason == f"{first} comes before {second}: {because}."
    (reason,) = why_not(post(), "why 3 before 4").reasons
    assert reason.endswith("the problem asks for deliver(box, city) before deliver(bag, city).")


def test_an_order_without_a_reason_is_turned_round() -> None:
    problem = post(ordered=False)
    steps = "load(box, truck1, home)\nload(bag, truck1, home)\ndrive(truck1, home, city)\n"
    answer = why_not(problem, "why 1 before 2", plan=f"{steps}unload(box, truck1, city)\nunload(bag, truck1, city)")
    assert answer.outcome is Outcome.SAME
    assert answer.reasons == ("Nothing in the plan orders these steps: they may come the other way round.",)
    assert [step.arguments[0] for step in answer.plan.steps[:2]] == ["bag", "box"]
    assert validate(problem, answer.plan).valid


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("deliver before bring", "'deliver' is a task, and orders are asked for between steps"),
        ("by method by-plain", "the problem has no method 'by-plain'; did you mean 'by-plane'"),
        ("by-plain", "did you mean 'by-plane'"),
        ("by-plane or drive", "'or' joins steps, or methods and tasks, not both"),
        ("by-plane(box)", "has 1 arguments, expected 4"),
        ("by-plane(city, _, _, _)", "'city' is of type place, expected parcel"),
        ("deliver(box, moon)", "an object 'moon'"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_reason(question: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        why_not(post(), question)
    assert words in str(caught.value)


def test_a_plan_that_is_given_is_checked_and_decomposed() -> None:
    problem = post(["deliver(box, city)"])
    steps = ["load(box, plane1, home)", "fly(plane1, home, city)", "unload(box, plane1, city)"]
    answer = why_not(problem, "without step 2", plan=steps)
    assert (answer.outcome, answer.plan.cost, answer.reference.cost) == (Outcome.CHEAPER, 7, 22)
    assert answer.reasons == (
        "Step 2, fly(plane1, home, city), is for bring(plane1, city) by fly-there, for deliver(box, city) by by-plane.",
    )
    with pytest.raises(PlanError, match="no decomposition"):
        why_not(problem, "cheaper", plan=[*steps, "fly(plane1, city, isle)"])


def test_a_problem_without_any_plan_is_said_to_be_one() -> None:
    answer = why_not(post(initial=["lies(box, home)"]), "by-plane")
    assert answer.outcome is Outcome.IMPOSSIBLE
    assert answer.reasons == ("The problem has no plan at all.",)
    assert answer.diagnosis is not None


def test_constraints_and_wishes_count() -> None:
    problem = post(["deliver(box, city)"], goal={"hard": [], "soft": {"at(plane1, city)": 3}})
    answer = why_not(problem, "by-plane")
    assert (answer.outcome, answer.reference.charge, answer.plan.charge) == (Outcome.DEARER, 10, 22)


def test_in_time_the_schedules_are_compared() -> None:
    problem = post(["deliver(box, city)"], durations=(10, 3), deadline=60)
    answer = why_not(problem, "by-truck")
    assert float(answer.plan.makespan) == pytest.approx(10, abs=0.01)
    assert validate(answer.plan.problem, answer.plan).valid
    late = why_not(problem, "if deadline = 2")
    assert late.outcome is not Outcome.DEARER
    assert late.plan is None
    flown = why_not(problem, "never at(truck1, city)")
    assert flown.outcome is Outcome.DEARER
    assert "fly" in [step.action for step in flown.plan.steps]
    assert validate(flown.plan.problem, flown.plan).valid


def test_methods_of_files_are_known_by_their_names(tmp_path) -> None:
    domain, task = tmp_path / "domain.hddl", tmp_path / "task.hddl"
    domain.write_text("""(define (domain walks) (:types place)
      (:predicates (at ?p - place))
      (:task Go :parameters (?p - place))
      (:method M-Walk :parameters (?p - place) :task (Go ?p) :subtasks (and (walk ?p)))
      (:method M-Ride :parameters (?p - place) :task (Go ?p) :subtasks (and (ride ?p)))
      (:action walk :parameters (?p - place) :precondition () :effect (at ?p))
      (:action ride :parameters (?p - place) :precondition () :effect (at ?p)))""")
    task.write_text("""(define (problem one) (:domain walks) (:objects Park - place)
      (:htn :subtasks (and (Go Park))) (:init))""")
    answer = why_not(load(domain, task), "M-Ride and not (go park) by method M-walk")
    assert answer.proved
    assert [step.action for step in answer.plan.steps] == ["ride"]


def test_foils_change_neither_steps_nor_costs() -> None:
    problem = post()
    foil = MethodFoil(FoilKind.USE, "by-plane", (NodePattern(method=Atom("by-plane", ("_",) * 4)),))
    compiled = apply_foils(problem, [foil])
    assert compiled.classical == problem.classical
    found = solve(compiled)
    assert (found.status, found.cost) == (Status.OPTIMAL, 29)
    assert why_not(problem, [foil]).plan.cost == 29
    assert solve(make_optional(problem, [0])).cost == 7


def test_the_command_answers_about_tasks(capsys, tmp_path) -> None:
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["explain", "travel", *arguments])
        return Exit(ended.value.code), capsys.readouterr().out

    first = next(iter(travel.problems()))
    code, out = run(first, "--why-not", "cheaper", "--json", "--quiet")
    assert code is Exit.NEGATIVE
    assert json.loads(out)["outcome"] == "IMPOSSIBLE"
    plan = tmp_path / "plan.txt"
    plan.write_text(write_plan(solve(travel.problems()[first]).expect_plan()))
    code, out = run(first, str(plan), "--why-not", "without step 1")
    assert code in (Exit.OK, Exit.NEGATIVE)
    assert "Step 1, " in out


def test_random_questions_are_answered_as_an_enumeration_answers_them() -> None:
    trials = list(draw_task_trials(0, 24, 10))
    assert [f"seed {seed}, {asked.text}: {trial.wrong}" for seed, asked, trial in trials if trial.wrong] == []
    assert sum(trial.proved for _, _, trial in trials) > 20


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 10_000))
def test_drawn_questions_are_answered_as_an_enumeration_answers_them(seed: int) -> None:
    for found, asked, trial in draw_task_trials(seed, 2, 10):
        assert not trial.wrong, f"seed {found}, {asked.text}: {trial.wrong}"
