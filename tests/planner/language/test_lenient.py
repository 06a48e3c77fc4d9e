"""Files are read as the field's other tools read them, with a warning that names the place."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path

import pytest

from executor import ExecutionPolicy, World
from htn import problem_kind
from htn.verification.plan_verification import validate as validate_htn
from planner import decide, load, solve, validate
from planner.cli import main
from planner.errors import PddlError, UnsupportedError
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.language.pddl.syntax import FileWarning
from planner.model import Atom
from planner.plan import Status
from planner.policies.evaluation import Declared

HDDL = """(define (domain d) (:requirements :hierarchy) (:predicates (p) (q))
 (:task top :parameters ())
 (:method m :parameters () :task (top) :subtasks (and (t1 (b)) (t2 (a))) {order} (and (< t2 t1)){more})
 (:action a :parameters () :effect (p))
 (:action b :parameters () :precondition (p) :effect (q)))"""
TASKS = "(define (problem x) (:domain d) (:objects) (:htn :parameters () :subtasks (and (t (top)))) (:init))"
PDDL = "(define (problem x) (:domain d) (:objects a b) (:init {init}) (:goal {goal}))"


def loaded(tmp_path: Path, domain: str, problem: str, suffix: str = "pddl"):
    """Return the problem in two files, and the warnings that came with it."""
    (tmp_path / f"d.{suffix}").write_text(domain)
    (tmp_path / f"p.{suffix}").write_text(problem)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = load(tmp_path / f"d.{suffix}", tmp_path / f"p.{suffix}")
    assert all(each.category is FileWarning for each in told)
    return found, [str(each.message).removeprefix(f"{tmp_path}/") for each in told]


@pytest.mark.parametrize(
    ("order", "more", "told"),
    [
        (":ordering", "", []),
        (":order", "", ["d.hddl:3:74: ':order' is read as ':ordering'"]),
        (":ordering", " :causal-links (and (t1 p t2))", ["d.hddl:3:100: ':causal-links' is left out"]),
        (":ordering", " :causallinks (and (t1 p t2))", ["d.hddl:3:100: ':causallinks' is left out"]),
    ],
)
def test_keywords_of_other_tools(tmp_path: Path, order: str, more: str, told: list[str]) -> None:
    problem, found = loaded(tmp_path, HDDL.format(order=order, more=more), TASKS, "hddl")
    assert [each.split(": the order")[0] for each in found] == told
    plan = solve(problem).expect_plan()
    assert [step.action for step in plan.steps] == ["a", "b"]
    assert validate_htn(problem, plan).valid


@pytest.mark.parametrize(("subtasks", "is_valid"), [("0 1", True), ("1 0", False)])
def test_subtasks_are_listed_in_a_linearisation(tmp_path: Path, subtasks: str, *, is_valid: bool) -> None:
    problem, _ = loaded(tmp_path, HDDL.format(order=":ordering", more=""), TASKS, "hddl")
    assert problem_kind.write_plan(solve(problem).expect_plan()) == "==>\n0 a\n1 b\nroot 2\n2 top -> m 0 1\n<==\n"
    read = problem_kind.read_plan(problem, f"==>\n0 a\n1 b\nroot 2\n2 top -> m {subtasks}\n<==\n")
    assert validate_htn(problem, read).valid is is_valid
    flat = TASKS.replace("(and (t (top)))", "(and (t1 (b)) (t2 (a))) :ordering (and (< t2 t1))")
    problem, _ = loaded(tmp_path, HDDL.format(order=":ordering", more=""), flat, "hddl")
    assert problem_kind.write_plan(solve(problem).expect_plan()).splitlines()[3] == "root 0 1"
    read = problem_kind.read_plan(problem, f"==>\n0 a\n1 b\nroot {subtasks}\n<==\n")
    assert validate_htn(problem, read).valid is is_valid


def test_subtasks_in_an_order_that_the_method_forbids_are_refused(tmp_path: Path) -> None:
    problem, _ = loaded(
        tmp_path, HDDL.format(order=":ordering", more="").replace("(p) :effect", "() :effect"), TASKS, "hddl"
    )
    read = problem_kind.read_plan(problem, "==>\n0 b\n1 a\nroot 2\n2 top -> m 0 1\n<==\n")
    assert not validate_htn(problem, read).valid


def test_plans_are_written_as_the_files_spell_their_names(tmp_path: Path) -> None:
    domain = HDDL.format(order=":ordering", more="").replace("top", "doIt").replace("action a", "action actA")
    domain = domain.replace("(t2 (a))", "(t2 (actA)) ; NOT THIS\n")
    problem, _ = loaded(tmp_path, domain, TASKS.replace("top", "doIt"), "hddl")
    text = problem_kind.write_plan(solve(problem).expect_plan())
    assert text == "==>\n0 actA\n1 b\nroot 2\n2 doIt -> m 0 1\n<==\n"
    assert validate_htn(problem, problem_kind.read_plan(problem, text)).valid
    assert validate_htn(problem, problem_kind.read_plan(problem, text.lower())).valid


def test_two_actions_of_one_name(tmp_path: Path) -> None:
    domain = """(define (domain d) (:requirements :strips) (:predicates (p) (q))
 (:action a :parameters () :effect (p))
 (:action a :parameters () :precondition (p) :effect (q)))"""
    problem, told = loaded(tmp_path, domain, PDDL.format(init="", goal="(q)"))
    assert told == ["d.pddl:3:11: the action 'a' is declared twice; this one is read as 'a-2'"]
    plan = solve(problem).expect_plan()
    assert [step.action for step in plan.steps] == ["a", "a-2"]
    assert validate(problem, plan).valid


def test_an_action_that_is_called_like_the_new_name_of_another(tmp_path: Path) -> None:
    domain = """(define (domain d) (:predicates (p) (q) (r))
 (:action a :effect (p))
 (:action a :precondition (p) :effect (q))
 (:action a-2 :precondition (q) :effect (r)))"""
    problem, told = loaded(tmp_path, domain, PDDL.format(init="", goal="(r)"))
    assert told == ["d.pddl:3:11: the action 'a' is declared twice; this one is read as 'a-3'"]
    assert [step.action for step in solve(problem).expect_plan().steps] == ["a", "a-3", "a-2"]


def test_of_two_actions_of_one_name_hierarchies_have_the_last(tmp_path: Path) -> None:
    """As the competition's verifier has it."""
    domain = HDDL.format(order=":ordering", more="").replace("(:action a", "(:action A :effect (q))\n (:action a")
    problem, told = loaded(tmp_path, domain, TASKS, "hddl")
    assert told == ["d.hddl:5:11: the action 'a' is declared twice; only this one counts"]
    assert problem_kind.write_plan(solve(problem).expect_plan()) == "==>\n0 a\n1 b\nroot 2\n2 top -> m 0 1\n<==\n"


NAMESAKES = """(define (domain d) (:requirements :hierarchy) (:predicates (p) (q))
 (:task top) (:task low)
 (:method M :task (top) :ordered-subtasks (and (low) (low)))
 (:method M :task (low) :precondition (q) :subtasks (a))
 (:method m-2 :task (low) :precondition (q))
 (:method M :task (low) :precondition (not (q)) :subtasks (a))
 (:action a :effect (q)))"""


def test_methods_of_one_name(tmp_path: Path) -> None:
    """The verifier looks methods up by their task and name, and has the last of these."""
    problem, told = loaded(tmp_path, NAMESAKES, TASKS, "hddl")
    assert told == [
        "d.hddl:4:11: the task 'low' has another method 'm': this one is called 'm-3' in plans",
        "d.hddl:6:11: another task has a method 'm', too: this one is called so in plans for 'low' alone",
    ]
    plan = solve(problem).expect_plan()
    text = "==>\n0 a\nroot 1\n1 top -> M 2 3\n2 low -> M 0\n3 low -> m-2\n<==\n"
    assert problem_kind.write_plan(plan) == text
    assert validate_htn(problem, problem_kind.read_plan(problem, text)).valid
    other = "==>\n0 a\n1 a\nroot 2\n2 top -> M 3 4\n3 low -> M 0\n4 low -> m-3 1\n<==\n"
    read = problem_kind.read_plan(problem, other)
    assert validate_htn(problem, read).valid
    assert problem_kind.write_plan(read) == other


def test_a_variable_twice_in_a_derived_head(tmp_path: Path) -> None:
    domain = """(define (domain d) (:requirements :adl :derived-predicates) (:predicates (e ?x ?y) (s ?x ?y) (g) (h))
 (:derived (s ?x ?x) (e ?x ?x))
 (:action a :parameters (?x) :precondition (s ?x ?x) :effect (g))
 (:action b :parameters (?x ?y) :precondition (and (s ?x ?y) (not (= ?x ?y))) :effect (h)))"""
    problem, told = loaded(tmp_path, domain, PDDL.format(init="(e a a)", goal="(g)"))
    assert told == ["d.pddl:2:12: '?x' stands twice in the head: both are the same object"]
    plan = solve(problem).expect_plan()
    assert [str(step) for step in plan.steps] == ["a(a)"]
    assert validate(problem, plan).valid
    problem, _ = loaded(tmp_path, domain, PDDL.format(init="(e a a) (e a b)", goal="(h)"))
    assert solve(problem).status is Status.UNSOLVABLE


CHANCES = "(define (domain d) (:requirements :strips) (:predicates (p) (q) (r)) (:action a :effect {effect}))"


@pytest.mark.parametrize(
    ("effect", "outcomes"),
    [
        ("(oneof (p) (q))", {"p": "0.5", "q": "0.5"}),
        ("(and (r) (oneof (p) (and (q) (not (r)))))", {"r p": "0.5", "r q -r": "0.5"}),
        ("(oneof (p) (q) (r))", {"p": "0.333333333333", "q": "0.333333333333", "r": "0.333333333334"}),
        ("(probabilistic 0.3 (p) 0.7 (q))", {"q": "0.7", "p": "0.3"}),
        ("(probabilistic 0.3 (p) 0.5 (q))", {"q": "0.5", "p": "0.3", "": "0.2"}),
        ("(probabilistic 1/4 (p))", {"": "0.75", "p": "0.25"}),
        ("(probabilistic 1/3 (p) 1/3 (q))", {"p": "0.333333333333", "q": "0.333333333333", "": "0.333333333334"}),
        ("(oneof (p) (p) (q))", {"p": "0.666666666667", "q": "0.333333333333"}),
        ("(oneof (p) (probabilistic 0.5 (q) 0.5 (oneof (r) (p))))", {"p": "0.625", "q": "0.25", "r": "0.125"}),
        (
            "(and (oneof (p) (q)) (probabilistic 0.25 (r)))",
            {"p r": "0.125", "p": "0.375", "q r": "0.125", "q": "0.375"},
        ),
    ],
)
def test_chances_become_outcomes(tmp_path: Path, effect: str, outcomes: dict[str, str]) -> None:
    problem, told = loaded(tmp_path, CHANCES.format(effect=effect), PDDL.format(init="", goal="(q)"))
    found = problem.domain.actions["a"].outcomes
    short = {" ".join(str(each).replace("not ", "-") for each in one.provides): one.probability for one in found}
    assert short == {name: Decimal(chance) for name, chance in outcomes.items()}
    assert told == []


def test_policies_solve_what_may_come_out_in_several_ways(tmp_path: Path) -> None:
    problem, _ = loaded(tmp_path, CHANCES.format(effect="(oneof (p) (q))"), PDDL.format(init="", goal="(q)"))
    found = decide(problem)
    assert found.status is Status.OPTIMAL
    assert found.expect_policy().success == 1
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(tmp_path / "d.pddl"), str(tmp_path / "p.pddl"), "--objective", "success", "--quiet"])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        ("(probabilistic 0.6 (p) 0.7 (q))", PddlError),
        ("(probabilistic 0.6)", PddlError),
        ("(probabilistic 0.3 (p) 0.2)", PddlError),
        ("(probabilistic 1/0 (p))", PddlError),
        ("(probabilistic 1/x (p))", PddlError),
        (f"(probabilistic 1/{'9' * 5000} (p))", PddlError),
        ("(probabilistic -0.5 (p))", PddlError),
        ("(probabilistic)", PddlError),
        ("(oneof)", PddlError),
        ("(oneof (p) (forall (?x) (p)))", UnsupportedError),
        ("(forall (?x) (oneof (p) (q)))", UnsupportedError),
        ("(oneof (p) (increase (total-cost) 2))", UnsupportedError),
        ("(oneof (p) (when (q) (increase (total-cost) 2)))", UnsupportedError),
        (f"(and {'(oneof (p) (q)) ' * 10})", UnsupportedError),
        (f"(oneof (p) {' '.join(f'(when (= a o{number}) (q))' for number in range(7))})", UnsupportedError),
    ],
)
def test_chances_that_mean_nothing_or_too_much(tmp_path: Path, effect: str, error: type[Exception]) -> None:
    objects = PDDL.replace("(:objects a b)", f"(:objects a b {' '.join(f'o{number}' for number in range(7))})")
    with pytest.raises(error, match=r"d\.pddl:1:"):
        loaded(tmp_path, CHANCES.format(effect=effect), objects.format(init="", goal="(q)"))


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (
            "(oneof)",
            "found '(oneof)' without parts, expected effects of which one comes about; such as '(oneof (p) (q))'",
        ),
        ("(probabilistic)", "found '(probabilistic)' without parts, expected effects of which one comes about"),
        ("(oneof p q)", "found 'p', expected an effect in parentheses; write '(p)'"),
        ("(probabilistic 0.3)", "found the end of '(probabilistic 0.3)', expected an effect"),
        ("(probabilistic -0.5 (p))", "found '-0.5', expected a probability, which is not negative"),
        ("(increase (total-cost) -1)", "found '-1', expected a cost, which is not negative"),
    ],
)
def test_messages_about_chances_speak_of_chances(tmp_path: Path, effect: str, message: str) -> None:
    with pytest.raises(PddlError) as caught:
        loaded(tmp_path, CHANCES.format(effect=effect), PDDL.format(init="", goal="(q)"))
    assert message in str(caught.value)


VERSIONS = """(define (domain d) (:predicates (armed) (broken) (dry) (p) (done))
 (:action put :effect (and (done) {effect}))
 (:action disarm :precondition ({disarm}) :effect (not (armed))))"""


@pytest.mark.parametrize(
    "effect",
    ["(probabilistic 2/5 (when (armed) (broken)))", "(when (armed) (probabilistic 0.4 (broken) 0.1 (when (dry) (p))))"],
)
@pytest.mark.parametrize(("disarm", "success"), [("armed", 1), ("done", 0.6)])
def test_conditional_chances_make_versions_of_the_action(
    tmp_path: Path, effect: str, disarm: str, success: float
) -> None:
    """As in the competition's exploding blocksworld."""
    goal = PDDL.format(init="(armed)", goal="(and (done) (not (broken)))")
    problem, told = loaded(tmp_path, VERSIONS.format(effect=effect, disarm=disarm), goal)
    assert told == []
    assert decide(problem).expect_policy().success == pytest.approx(success)
    assert set(problem.domain.versions.values()) == {"put"}
    declared = Declared(problem)
    (put,) = [step for step in declared.initial.applicable() if step.action != "disarm"]
    ways = [(share, Atom("broken") in after.facts) for share, after in declared.outcomes(declared.initial, put)]
    assert sum(share for share, is_broken in ways if is_broken) == pytest.approx(0.4)
    assert sum(share for share, is_broken in ways if not is_broken) == pytest.approx(0.6)


def test_plans_call_the_versions_of_an_action_by_its_name(tmp_path: Path) -> None:
    domain = VERSIONS.format(effect="(probabilistic 0.4 (when (armed) (broken)))", disarm="done")
    problem, _ = loaded(tmp_path, domain, PDDL.format(init="", goal="(done)"))
    assert [step.action for step in solve(problem).expect_plan().steps] == ["put-otherwise"]
    assert write_plan(solve(problem).expect_plan()) == "(put)\n; cost = 1\n"
    assert [step.action for step in read_plan("(put)", problem).steps] == ["put-otherwise"]


def test_a_handler_of_an_action_is_one_of_its_versions(tmp_path: Path) -> None:
    domain = VERSIONS.format(effect="(probabilistic 0.4 (when (armed) (broken)))", disarm="done")
    problem, _ = loaded(tmp_path, domain, PDDL.format(init="", goal="(done)"))
    world, patient = World(problem.domain), ExecutionPolicy(timeout=60)

    @world.handler("put", policy=patient)
    def put() -> None: ...

    assert world.without_handler() == ["disarm"]
    assert [each.function for each in world.skills["put-otherwise"]] == [put]
    assert world.policy_of("put-otherwise") is patient


def test_the_reward_of_a_goal_is_left_out(tmp_path: Path) -> None:
    goal = PDDL.replace(" (:goal", "\n (:goal-reward 100) (:metric maximize (reward))\n (:goal")
    problem, told = loaded(tmp_path, CHANCES.format(effect="(oneof (p) (q))"), goal.format(init="", goal="(q)"))
    assert told == ["p.pddl:2:21: the reward is left out: what counts is that the goal is reached"]
    assert decide(problem).expect_policy().success == 1


def test_versions_by_chances_and_by_preferences(tmp_path: Path) -> None:
    domain = """(define (domain d) (:predicates (armed) (broken) (lit) (done))
 (:action put :precondition (preference bright (lit))
  :effect (and (done) (probabilistic 0.4 (when (armed) (broken))))))"""
    problem, _ = loaded(
        tmp_path,
        domain,
        PDDL.format(init="", goal="(done)").replace("(:goal", "(:metric minimize (is-violated bright))\n(:goal"),
    )
    assert list(problem.domain.versions) == ["put-otherwise", "put-without-bright", "put-otherwise-without-bright"]
    assert set(problem.domain.versions.values()) == {"put"}
    plan = solve(problem).expect_plan()
    assert [str(step) for step in plan.steps] == ["put-otherwise-without-bright()"]
    assert (plan.cost, write_plan(plan)) == (1, "(put)\n; cost = 1\n")
    assert read_plan("(put)", problem) == plan


def test_hierarchies_have_no_conditional_chances(tmp_path: Path) -> None:
    domain = HDDL.format(order=":ordering", more="").replace(":effect (p)", ":effect (oneof (p) (when (q) (p)))")
    with pytest.raises(UnsupportedError, match=r"in hierarchical domains, at .*d\.hddl:4:2; write an action for each"):
        loaded(tmp_path, domain, TASKS, "hddl")


def test_the_command_says_warnings_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.hddl").write_text(HDDL.format(order=":order", more=""))
    (tmp_path / "p.hddl").write_text(TASKS)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit):
            main(["solve", str(tmp_path / "d.hddl"), str(tmp_path / "p.hddl"), "--quiet"])
    said = capsys.readouterr().err.splitlines()
    assert said == [f"Warning: {tmp_path}/d.hddl:3:74: ':order' is read as ':ordering'"]
