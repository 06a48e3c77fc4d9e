"""PDDL → model → PDDL gives the same syntax tree, and model → PDDL → model the same model."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effort import examples, share
from hypothesis import given, settings
from hypothesis import strategies as st
from pddl_trees import canonical_domain, canonical_problem

from planner.language.pddl import parse_domain, parse_problem, read
from planner.language.pddl.pddl_writer import write_domain, write_problem
from planner.language.pddl.syntax import _COMMENT, _WORD, _split, read_text
from planner.model.actions import Action, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Metric, Problem

TASKS = Path(__file__).parents[4] / "shared" / "data" / "ipc-classical"


def tasks() -> dict[str, list[tuple[Path, Path]]]:
    """Return the domain and problem files of the competition's tasks, by domain; none where they are not at hand."""
    found: dict[str, list[tuple[Path, Path]]] = defaultdict(list)
    if (TASKS / "tasks.tsv").exists():
        with (TASKS / "tasks.tsv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                folder = TASKS / row["domain"]
                found[row["domain"]].append((folder / row["domain_file"], folder / row["problem_file"]))
    return found


@pytest.mark.skipif(not TASKS.exists(), reason="the competition's tasks are not beside this checkout")
def test_all_tasks_are_at_hand() -> None:
    assert sum(map(len, tasks().values())) == 560


@pytest.mark.drawn
@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in share([*tasks().items()], 4)])
def test_real_files_come_back_as_they_were(files: list[tuple[Path, Path]]) -> None:
    for domain_file, problem_file in files:
        problem = read(domain_file, problem_file)
        domain_text, problem_text = written(problem)
        assert parse_problem(problem_text, parse_domain(domain_text)) == problem
        tree = canonical_domain(read_text(domain_file))
        assert canonical_domain(domain_text) == tree
        assert canonical_problem(problem_text, tree["constants"]) == canonical_problem(
            read_text(problem_file), tree["constants"]
        )


def written(problem: Problem) -> tuple[str, str]:
    actions = problem.domain.actions.values()
    costs = problem.metric is Metric.COST or bool(problem.domain.functions) or any(action.cost for action in actions)
    return write_domain(problem.domain, costs=costs), write_problem(problem, costs=costs)


SMALL = """(define (domain d) (:types a b) (:predicates (p ?x ?y - a) (q)) (:functions (c ?x))
  (:action act :parameters (?x ?y - a ?z - b)
    :precondition (and (p ?x ?y) (not (q)))
    :effect (and (q) (when (p ?y ?x) (not (p ?x ?y))) (increase (total-cost) (c ?x)))))"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(p ?x ?y) (not", "(p ?y ?x) (not"),
        ("(not (q))", "(q)"),
        ("(when (p ?y ?x)", "(when (p ?x ?y)"),
        ("(c ?x)))))", "(c ?y)))))"),
        ("(c ?x)))))", "3))))"),
        ("?z - b", "?z - a"),
        ("?z - b", "?z - (either a b)"),
        ("a b)", "a - b)"),
        ("(q)) (:f", "(q ?x)) (:f"),
        (":action act", ":action other"),
    ],
)
def test_the_comparison_sees_differences(old: str, new: str) -> None:
    assert SMALL.count(old) == 1
    assert canonical_domain(SMALL) != canonical_domain(SMALL.replace(old, new))


def test_the_comparison_overlooks_what_means_nothing() -> None:
    other = """(DEFINE (domain D) ; as above
      (:requirements :adl) (:types a - object b) (:predicates (p ?u - a ?v - a) (q))
      (:functions (total-cost) (c ?y) - number)
      (:action act :parameters (?x - a ?y - a ?z - b) :precondition (and (and (p ?x ?y)) (not (q)))
        :effect (and (increase (total-cost) (c ?x)) (and (when (and (p ?y ?x)) (and (not (p ?x ?y)))) (q)))))"""
    assert canonical_domain(SMALL) == canonical_domain(other)


TYPES = st.sampled_from([("object",), ("a",), ("b",), ("c",), ("a", "c")])
OBJECTS = ("o1", "o2", "o3")
ARITIES = {"p": 0, "q": 1, "r": 2, "not": 1, "at": 2, "when": 1}


@st.composite
def formulas(draw: st.DrawFn, terms: tuple[str, ...], depth: int = 3) -> Formula:
    """Draw a condition over `terms`."""
    kinds = ["atom", "=", "not", "and", "or", "imply", "forall", "exists"] if depth else ["atom", "="]
    kind = draw(st.sampled_from(kinds))
    part = formulas(terms, depth - 1)
    match kind:
        case "atom":
            return draw(atoms(terms))
        case "=":
            return Equals(draw(st.sampled_from(terms)), draw(st.sampled_from(terms)))
        case "not":
            return Not(draw(part))
        case "and" | "or":
            parts = tuple(draw(st.lists(part, max_size=3)))
            return And(parts) if kind == "and" else Or(parts)
        case "imply":
            return Imply(draw(part), draw(part))
    bound = draw(variables(len(terms)))
    inner = draw(formulas((*terms, *(each.name for each in bound)), depth - 1))
    return Forall(bound, inner) if kind == "forall" else Exists(bound, inner)


@st.composite
def atoms(draw: st.DrawFn, terms: tuple[str, ...], predicates: tuple[str, ...] = tuple(ARITIES)) -> Atom:
    """Draw an atom over `terms`."""
    name = draw(st.sampled_from(predicates))
    return Atom(name, tuple(draw(st.sampled_from(terms)) for _ in range(ARITIES[name])))


@st.composite
def variables(draw: st.DrawFn, first: int) -> tuple[Variable, ...]:
    """Draw variables whose names are numbered from `first` on, so that none hides another."""
    return tuple(Variable(f"?v{first + place}", draw(TYPES)) for place in range(draw(st.integers(1, 2))))


@st.composite
def literals(draw: st.DrawFn, terms: tuple[str, ...]) -> tuple[Atom | Not, ...]:
    """Draw at least one literal of a predicate that is not derived."""
    found = draw(st.lists(atoms(terms, ("p", "q", "r", "at")), min_size=1, max_size=3))
    return tuple(Not(atom) if draw(st.booleans()) else atom for atom in found)


@st.composite
def actions(draw: st.DrawFn, name: str) -> Action:
    """Draw an action with all that PDDL can say of one."""
    parameters = draw(variables(0))
    terms = (*(each.name for each in parameters), "o1")
    when = []
    for _ in range(draw(st.integers(0, 2))):
        bound = draw(variables(len(terms))) if draw(st.booleans()) else ()
        inner = (*terms, *(each.name for each in bound))
        condition = draw(formulas(inner, 1))
        if bound or condition != And():
            when.append(When(condition, draw(literals(inner)), (), bound))
    numbers = st.integers(0, 10**9) | st.decimals(0, 1000, places=3).map(normal)
    cost = draw(st.lists(numbers | st.just(Atom("cost", (terms[0],))), max_size=2))
    provides = draw(literals(terms)) if draw(st.booleans()) else ()
    return Action(name, parameters, draw(formulas(terms)), provides, when=tuple(when), cost=tuple(cost))


def normal(number: Decimal) -> Decimal | int:
    return int(number) if number == int(number) else number.normalize()


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a plain ADL problem."""
    x, y = Variable("?x", draw(TYPES)), Variable("?y", draw(TYPES))
    axioms = tuple(Axiom("when", (x,), draw(formulas(("?x", "o1"), 2))) for _ in range(draw(st.integers(0, 2))))
    names = {name: Predicate(name, (Variable("?x"), Variable("?y"))[:arity]) for name, arity in ARITIES.items()}
    domain = DomainModel(
        "d",
        {"a": ("object",), "b": ("a", "c"), "c": ("object",)},
        (Object("o1", draw(TYPES)),),
        names,
        {"cost": Function("cost", (Variable("?x"),)), "far": Function("far", (x, y))},
        {name: draw(actions(name)) for name in draw(st.sets(st.sampled_from(["act", "domain", "not"])))},
        axioms,
    )
    basic = tuple(name for name in ARITIES if name != "when")
    facts = draw(st.lists(atoms(OBJECTS, basic), max_size=5, unique=True))
    values: dict[Atom, Any] = {
        Atom("cost", (each,)): draw(st.integers(0, 9)) for each in draw(st.sets(st.sampled_from(OBJECTS)))
    }
    objects = tuple(Object(name, draw(TYPES)) for name in OBJECTS[1:])
    metric = draw(st.sampled_from(Metric))
    return Problem("p", domain, objects, tuple(facts), Goal(draw(formulas(OBJECTS))), values, metric)


@settings(max_examples=examples(150), deadline=None)
@given(problems())
def test_any_plain_problem_is_read_back(problem: Problem) -> None:
    domain = parse_domain(write_domain(problem.domain, costs=True))
    assert domain == problem.domain
    assert parse_problem(write_problem(problem), domain) == problem


NOISE = st.sampled_from([" ", "\n", "\t", "\r\n", " ; (comment\n", ";)\r", "  "])


@settings(max_examples=examples(50), deadline=None)
@given(problems(), st.data())
def test_case_spacing_and_comments_mean_nothing(problem: Problem, data: st.DataObject) -> None:
    text = write_domain(problem.domain, costs=True)
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    shouted = [word.upper() if data.draw(st.booleans()) else word for word in words]
    assert parse_domain("".join(word + data.draw(NOISE) for word in shouted)) == problem.domain


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet=st.sampled_from("(()) ?;ab-\n\r\tİß\x1c\x85\xa0\u2028") | st.characters(), max_size=60))
def test_words_are_found_again_where_they_were_read(text: str) -> None:
    """What the fast reader takes for a word is one where positions are looked up: errors point at the right place."""
    words = _split(text.lower())
    blank = re.sub(_COMMENT, lambda comment: " " * len(comment[0]), text)
    places = [match.span() for match in re.finditer(_WORD, blank)]
    assert [text[start:end].lower() for start, end in places] == words
