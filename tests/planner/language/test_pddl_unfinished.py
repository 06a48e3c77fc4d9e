"""What a domain file leaves to problems: objects, constraints, and what preferences in preconditions are worth."""

from __future__ import annotations

import pytest

from htn.language import hddl
from htn.language.hddl.hddl_writer import write_domain as write_hddl
from htn.model import HtnProblem
from htn.verification.plan_verification import validate as validate_decomposition
from planner import load
from planner.errors import InputError, PddlError, UnsupportedError
from planner.language import pddl
from planner.language.documents.document_writer import write_yaml
from planner.language.pddl.pddl_writer import write_domain
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.language.pddl.syntax import FileWarning
from planner.lint.problem_lint import check_domain
from planner.model import Atom, DomainModel, Goal, Object, Problem
from planner.plan import Plan, Step
from planner.problem_kinds import AnyProblem
from planner.solve import solve
from planner.validation.validate import validate


def said(caught: pytest.WarningsRecorder) -> list[str]:
    """The warnings of the readers."""
    return [str(each.message) for each in caught if isinstance(each.message, FileWarning)]


def steps_of(problem: AnyProblem) -> list[str]:
    """The steps of a plan for the problem, which the checker has accepted."""
    plan = solve(problem).expect_plan()
    if isinstance(problem, HtnProblem):
        assert validate_decomposition(problem, plan).valid
    else:
        assert validate(problem, plan).valid
    return [str(step) for step in plan.steps]


def read_pddl(domain: str, problem: str) -> Problem:
    return pddl.parse_problem(problem, pddl.parse_domain(domain, "d.pddl"), "p.pddl")


def read_hddl(domain: str, problem: str) -> HtnProblem:
    return hddl.parse_problem(problem, hddl.parse_domain(domain, "d.hddl"), "p.hddl")


NAMED = """(define (domain d) (:types place - object box) (:predicates (at ?x - place) (open ?b - box))
 (:action go :parameters () :effect (and (not (at hall))
    (at lab))))"""


def test_the_domain_may_name_objects_that_only_the_problem_declares():
    text = "(define (problem p) (:domain d) (:objects lab hall - place) (:init (at hall)) (:goal (at lab)))"
    with pytest.warns(FileWarning) as caught:
        problem = read_pddl(NAMED, text)
    assert said(caught) == [
        ("d.pddl:2:51: the domain names the object 'hall', which only the problem declares"),
        ("d.pddl:3:9: the domain names the object 'lab', which only the problem declares"),
    ]
    assert [each.name for each in problem.domain.constants] == ["hall", "lab"]
    assert not problem.objects
    assert steps_of(problem) == ["go()"]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ("hall - place", "d.pddl:3:9: the object 'lab' is not declared; declare it in ':constants', or in the"),
        ("hall labs - place", "d.pddl:3:9: the object 'lab' is not declared; did you mean 'labs'?"),
        ("hall - place lab - box", "d.pddl:3:9: 'lab' is of type 'box', but argument 1 of 'at' has to be of type 'pla"),
    ],
)
@pytest.mark.filterwarnings("ignore::planner.language.pddl.syntax.FileWarning")
def test_an_object_that_the_problem_does_not_declare_as_the_domain_needs_it(objects, message):
    text = f"(define (problem p) (:domain d) (:objects {objects}) (:init (at hall)) (:goal (at hall)))"
    with pytest.raises(PddlError) as caught:
        read_pddl(NAMED, text)
    assert str(caught.value).startswith(message)


def test_a_domain_alone_says_which_objects_problems_have_to_declare():
    found = check_domain(pddl.parse_domain(NAMED, "d.pddl"))
    assert [str(each) for each in found if each.rule == "undeclared-object"] == [
        (
            "warning: d.pddl:2:51: the object 'hall' is not declared, so that each problem has to declare it;"
            " declare it in ':constants' [undeclared-object]"
        ),
        (
            "warning: d.pddl:3:9: the object 'lab' is not declared, so that each problem has to declare it;"
            " declare it in ':constants' [undeclared-object]"
        ),
    ]


def test_a_variable_without_its_question_mark_is_no_object():
    with pytest.raises(PddlError, match=r"d.pddl:1:101: the object 'x' is not declared; write '\?x'"):
        pddl.parse_domain(
            "(define (domain d) (:predicates (p ?x)) (:action a :parameters (?x) :precondition (p ?x) :effect (p x)))",
            "d.pddl",
        )


HIERARCHY = """(define (domain d) (:types dir) (:predicates (p ?d - dir) (q))
 (:task top :parameters ())
 (:task turn :parameters (?d - dir))
 (:method m :parameters () :task (top) {network})
 (:method t :parameters (?d - dir) :task (turn ?d) :subtasks (go ?d))
 (:action go :parameters (?d - dir) :effect (p ?d))
 (:action look :parameters () :precondition (p east) :effect (q)))"""
TOP = "(define (problem x) (:domain d) (:objects east west - dir) (:htn :subtasks (top)) (:init))"


def test_methods_may_name_objects_that_only_the_problem_declares():
    with pytest.warns(FileWarning) as caught:
        problem = read_hddl(HIERARCHY.format(network=":ordered-subtasks (and (turn east) (look))"), TOP)
    assert said(caught) == [("d.hddl:7:48: the domain names the object 'east', which only the problem declares")]
    assert problem.domain.classical is problem.classical.domain
    assert steps_of(problem) == ["go(east)", "look()"]


def test_a_subtask_with_an_object_of_another_type():
    text = HIERARCHY.replace("(:types dir)", "(:types dir box) (:constants east - dir)").format(
        network=":ordered-subtasks (turn crate)"
    )
    with pytest.raises(PddlError, match=r"'crate' is of type 'box', but argument 1 of 'turn' has to be of type 'dir'"):
        read_hddl(text, TOP.replace("east west - dir", "crate - box"))


DECLARED = HIERARCHY.replace("(:types dir)", "(:types dir) (:constants east - dir)")
UNDER_ORDER = ":subtasks (and (a (look)) (b (go east)))"


CONSTRAINED = """(define (domain d) (:types room) (:constants hall - room)
 (:predicates (at ?x - room) (lit ?x - room))
 (:constraints (and (always (not (at hall))) {more}))
 (:action go :parameters (?x ?y - room) :precondition (at ?x) :effect (and (not (at ?x)) (at ?y)))
 (:action light :parameters (?x - room) :effect (lit ?x)))"""
ROOMS = "(:objects lab attic - room) (:init (at attic)) (:goal (at lab))"


def test_constraints_of_the_domain_are_those_of_each_problem():
    more = "(forall (?x - room) (sometime (lit ?x))) (sometime-before (at lab) (lit lab))"
    domain = CONSTRAINED.format(more=more).replace("(:constants hall", "(:constants hall lab")
    with pytest.warns(FileWarning, match="^d.pddl:3:2: the domain's constraints are taken as constraints of each"):
        problem = read_pddl(domain, f"(define (problem p) (:domain d) {ROOMS.replace('lab attic', 'attic')})")
    assert [str(each) for each in problem.constraints] == [
        "always not at(hall)",
        "sometime lit(hall)",
        "sometime lit(lab)",
        "sometime lit(attic)",
        "lit(lab) before at(lab)",
    ]
    steps = steps_of(problem)
    assert sorted(steps) == ["go(attic, lab)", "light(attic)", "light(hall)", "light(lab)"]
    assert steps.index("light(lab)") < steps.index("go(attic, lab)")
    assert not validate(problem, Plan((Step("go", ("attic", "lab")),), problem)).valid


@pytest.mark.parametrize(("weight", "expected"), [(3, 2), (1, 1)])
def test_preferences_among_the_domains_constraints(weight, expected):
    metric = f"(:metric minimize (+ (total-cost) (* {weight} (is-violated bright))))"
    domain = CONSTRAINED.format(more="(preference bright (sometime (lit attic)))").replace(
        ":effect (", ":effect (and (increase (total-cost) 2) ("
    )
    domain = (
        domain.replace("(at ?y)))", "(at ?y))))").replace("(lit ?x)))", "(lit ?x))))").replace("hall -", "hall attic -")
    )
    with pytest.warns(FileWarning):
        problem = read_pddl(domain, f"(define (problem p) (:domain d) {ROOMS} {metric})")
    assert len(steps_of(problem)) == expected


def test_a_hierarchical_domain_may_have_constraints():
    text = DECLARED.replace("(:task top", "(:constraints (always (not (q)))) (:task top", 1)
    with pytest.warns(FileWarning, match="the domain's constraints"):
        problem = read_hddl(text.format(network=f"{UNDER_ORDER} :ordering (< b a)"), TOP)
    assert not solve(problem).has_plan


PREFERRED = """(define (domain d) (:types room) (:predicates (at ?x - room) (lit ?x - room) (door ?x ?y - room))
 (:functions (total-cost))
 (:action go :parameters (?x ?y - room)
  :precondition (and (at ?x) {where} (preference bright (lit ?y)) (preference (lit ?x)))
  :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 1)))
 (:action light :parameters (?x - room) :effect (and (lit ?x) (increase (total-cost) 5))))"""
WAY = """(define (problem p) (:domain d) (:objects a b c - room)
 (:init (at a) (door a b) (door b c) (= (total-cost) 0)) (:goal (at c)) {metric})"""


def preferred(metric: str, where: str = "(door ?x ?y)") -> Problem:
    with pytest.warns(FileWarning) as caught:
        problem = read_pddl(PREFERRED.format(where=where), WAY.format(metric=metric))
    [message] = said(caught)
    start = "d.pddl:4:17: the precondition of the action 'go' has preferences"
    assert message == f"{start}: a step that breaks one costs what the metric says"
    return problem


@pytest.mark.parametrize("metric", ["", "(:metric minimize (total-cost))"])
def test_preferences_of_preconditions_that_nothing_counts(metric):
    problem = preferred(metric)
    assert steps_of(problem) == ["go(a, b)", "go(b, c)"]
    assert list(problem.domain.actions) == ["go", "light"]


@pytest.mark.parametrize(
    ("weight", "steps", "cost"),
    [
        (4, ["go-without-bright(a, b)", "go-without-bright(b, c)"], 10),
        (6, ["light(b)", "light(c)", "go(a, b)", "go(b, c)"], 12),
    ],
)
def test_each_step_that_breaks_a_preference_pays(weight, steps, cost):
    """As PDDL 3 counts `is-violated` of a precondition: once for each step."""
    problem = preferred(f"(:metric minimize (+ (total-cost) (* {weight} (is-violated bright))))")
    plan = solve(problem).expect_plan()
    assert plan.cost == cost
    assert sorted(map(str, plan.steps)) == sorted(steps)
    assert validate(problem, plan).valid
    assert "without" not in write_plan(plan)
    assert read_plan(write_plan(plan), problem) == plan


def test_plans_from_elsewhere_pay_for_what_they_break():
    problem = preferred("(:metric minimize (+ (total-cost) (* 2 (is-violated bright))))")
    plan = read_plan("(go a b)\n(light c)\n(go b c)", problem)
    assert validate(problem, plan).valid
    assert plan.cost == 1 + 2 + 5 + 1
    impossible = read_plan("(go a b)\n(go a b)\n(light b)", problem)
    assert validate(problem, impossible).failing_step == 2


def test_two_preferences_of_one_precondition():
    metric = "(:metric minimize (+ (total-cost) (* 2 (is-violated bright)) (* 3 (is-violated dark))))"
    domain = PREFERRED.format(where="").replace("(preference (lit ?x))", "(preference dark (not (lit ?y)))")
    with pytest.warns(FileWarning):
        problem = read_pddl(domain, WAY.format(metric=metric))
    assert sorted(problem.domain.actions) == [
        "go",
        "go-without-bright",
        "go-without-bright-dark",
        "go-without-dark",
        "light",
    ]
    assert solve(problem).expect_plan().cost == 3


def test_quantified_preferences_of_preconditions_are_counted_one_by_one():
    metric = "(:metric minimize (is-violated each))"
    domain = PREFERRED.format(where="(forall (?z - room) (preference each (lit ?z)))")
    with pytest.warns(FileWarning):
        problem = read_pddl(domain, WAY.format(metric=metric))
    assert read_plan("(light b) (go a c)", problem).cost == 2


def test_conditions_beside_preferences_hold():
    problem = preferred("", where="(forall (?z - room) (or (door ?x ?z) (not (door ?x ?z)))) (door ?x ?y)")
    assert not validate(problem, read_plan("(go a c)", problem)).valid


def test_too_many_counted_preferences_are_refused():
    many = " ".join(f"(preference w{number} (lit ?y))" for number in range(7))
    counted = " ".join(f"(is-violated w{number})" for number in range(7))
    with pytest.warns(FileWarning), pytest.raises(UnsupportedError, match="7 counted preferences in the prec"):
        read_pddl(PREFERRED.format(where=many), WAY.format(metric=f"(:metric minimize (+ {counted}))"))


def test_hierarchies_count_no_preferences_of_preconditions():
    text = DECLARED.replace(":precondition (p east)", ":precondition (preference w (p east))")
    text = text.format(network=":ordered-subtasks (look)")
    with pytest.warns(FileWarning):
        assert steps_of(read_hddl(text, TOP)) == ["look()"]
    with pytest.warns(FileWarning), pytest.raises(UnsupportedError, match="in hierarchical problems"):
        read_hddl(text, TOP.replace("(:init)", "(:init) (:metric minimize (is-violated w))"))


def constrained() -> DomainModel:
    with pytest.warns(FileWarning):
        return pddl.parse_domain(CONSTRAINED.format(more=""), "d.pddl")


def preferring() -> DomainModel:
    with pytest.warns(FileWarning):
        return pddl.parse_domain(PREFERRED.format(where=""), "d.pddl")


@pytest.mark.parametrize("domain", [constrained, preferring])
def test_problems_that_no_reader_of_pddl_made_do_not_lose_what_the_domain_demands(domain):
    with pytest.raises(InputError, match="which hold for problems in PDDL alone; write the problem in PDDL"):
        solve(Problem("p", domain(), (Object("lab", ("room",)),)))


@pytest.mark.parametrize("domain", [constrained, preferring])
@pytest.mark.parametrize("write", [write_yaml, lambda domain: write_domain(domain, costs=True)])
def test_the_domain_alone_is_not_written_without_what_it_demands(domain, write):
    with pytest.raises(UnsupportedError, match=r"of the domain 'd' alone, in .*; give a problem as well"):
        write(domain())


def test_the_domain_alone_is_written_with_the_objects_that_it_names():
    text = write_domain(pddl.parse_domain(NAMED, "d.pddl"), costs=True)
    problem = "(define (problem p) (:domain d) (:objects lab hall - place) (:init (at hall)) (:goal (at lab)))"
    with pytest.warns(FileWarning):
        assert steps_of(read_pddl(text, problem)) == ["go()"]
    hierarchy = hddl.parse_domain(HIERARCHY.format(network=":ordered-subtasks (and (turn east) (look))"))
    with pytest.warns(FileWarning):
        assert steps_of(read_hddl(write_hddl(hierarchy), TOP)) == ["go(east)", "look()"]


def test_documents_declare_all_objects():
    for domain in (pddl.parse_domain(NAMED), hddl.parse_domain(HIERARCHY.format(network=":subtasks (turn east)"))):
        with pytest.raises(UnsupportedError, match="undeclared objects of the domain 'd' alone, in a document"):
            write_yaml(domain)


def test_a_hierarchical_domain_alone_is_not_written_without_its_preferences():
    text = DECLARED.replace(":precondition (p east)", ":precondition (preference w (p east))")
    with pytest.warns(FileWarning):
        domain = hddl.parse_domain(text.format(network=":ordered-subtasks (look)"))
    with pytest.raises(UnsupportedError, match="of the domain 'd' alone, in HDDL; give a problem as well"):
        write_hddl(domain)


def test_a_problem_in_python_declares_what_the_domain_names():
    domain, hall, lab = pddl.parse_domain(NAMED, "d.pddl"), Object("hall", ("place",)), Object("lab", ("place",))
    goal = Goal(Atom("at", ("lab",)))
    assert steps_of(Problem("p", domain, (hall, lab), goal=goal)) == ["go()"]
    with pytest.raises(InputError, match=r"'lab' in .* is no object of action 'go'"):
        solve(Problem("p", domain, (hall,), goal=goal))


def test_a_document_declares_what_the_domain_names(tmp_path):
    (tmp_path / "d.pddl").write_text(NAMED)
    text = "problem: p\ndomain: d\nobjects: {{{}}}\ngoal: ['at(lab)']\n"
    (tmp_path / "good.yaml").write_text(text.format("hall: place, lab: place"))
    (tmp_path / "bad.yaml").write_text(text.format("lab: place"))
    assert steps_of(load(tmp_path / "d.pddl", tmp_path / "good.yaml")) == ["go()"]
    with pytest.raises(InputError, match=r"names the object 'hall' at .*d\.pddl:2:51, and nothing declares it"):
        load(tmp_path / "d.pddl", tmp_path / "bad.yaml")
