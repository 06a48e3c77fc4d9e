"""Any text is the name of an object, in Python, YAML, JSON, PDDL and plans, there and back."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planner import Atom, Domain, Entity, Status, load, solve, validate
from planner.language.declare.atom_syntax import KEYWORDS, NotationError, parse_atom, parse_literal
from planner.language.documents.document_writer import write_json, write_yaml
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.model.object_names import find_term, object_name, qualified_term, read_term, term_of, written_name
from planner.plan_json import read_json_plan
from planner.questions.notation import read_facts, read_step, split_expressions
from planner.testing import steps_from

NAMES = (
    "o 7",
    "Müller & Söhne",
    "https://x/a?b=1&c=(d)",
    'he said "no", (yes) \\',
    "it's",
    "_",
    "-",
    "?x",
    "",
    " ",
    "two\nlines\tand\u2028three",
    "not",
    "forall",
    "7",
    "1.5",
    "注文 七",
    "A",
    "a",
    "x=1",
    "x == 1",
    "a<b",
    "[a]{b}|c;d",
    '"quoted"',
    'Order:"x"',
    "null",
    "o: 7",
)
names = st.lists(st.text(max_size=12), min_size=1, max_size=4, unique=True)


class Order(Entity):
    """An order."""


class Customer(Entity):
    """A customer."""


def shop():
    domain = Domain("shop")
    domain.function("weight", Order)
    domain.action(
        "send",
        {"o": Order, "c": Customer},
        requires=["bears(o, c)"],
        provides=["not bears(o, c)", "sent(o)"],
        cost="weight(o)",
    )
    return domain


def problem_of(given, domain=None):
    """Return the problem to send every order to the customer with its own name."""
    domain = domain or shop()
    bears, weight = domain.predicate("bears", Order, Customer), domain.model.functions["weight"].name
    return domain.problem(
        objects=[*map(Order, given), *map(Customer, given)],
        initial=[bears(Order(each), Customer(each)) for each in given],
        values={f"{weight}({term_of(each)})": 2 for each in given},
        goal="(forall (?o - Order) (sent ?o))",
    )


@given(st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_a_term_is_read_as_it_is_written(name):
    term = term_of(name)
    assert object_name(term) == name
    assert read_term(term) == term
    assert read_term(written_name(term)) == term
    assert parse_atom(f"pending({term})") == Atom("pending", (term,))
    assert parse_atom(str(Atom("bears", (term, "o7", term)))) == Atom("bears", (term, "o7", term))
    assert str(parse_literal(f"not pending({term})")) == f"not pending({term})"
    assert term.isprintable() or term == name, "quotes hide no sign"
    typed = qualified_term(name, "Order")
    assert object_name(typed) == name
    assert parse_atom(f"pending({typed})").args == (typed,)
    assert find_term(name, {term, typed}, ("Order",)) == typed


@pytest.mark.parametrize("text", ['p("a)', 'p("a"b)', 'p(a"b")', '"p"(a)', '"p"', 'p("a" "b")', "p('a b')"])
def test_quotes_that_enclose_no_object_are_refused(text):
    with pytest.raises(NotationError):
        parse_atom(text)


@pytest.mark.parametrize("text", ['amount("r 3") = 60', 'p("a b") and q', 'p("a b"'])
def test_a_refusal_shows_names_as_they_were_written(text):
    with pytest.raises(NotationError) as refused:
        parse_atom(text)
    assert '"r 3"' in refused.value.problem or '"a b"' in refused.value.problem
    assert "ue000" not in str(refused.value)


@given(names)
@example(list(NAMES))
@settings(max_examples=40, deadline=None)
def test_plans_for_any_names_are_those_for_plain_names(given_names):
    plain = solve(problem_of([f"o{at}" for at in range(len(given_names))]))
    strange = solve(problem_of(given_names))
    assert plain.status is strange.status is Status.OPTIMAL
    assert plain.cost == strange.cost == 2 * len(given_names)
    assert strange.plan is not None
    assert validate(strange.plan.problem, strange.plan).valid
    assert {object_name(each.arguments[0]) for each in strange.plan.steps} == set(given_names)
    assert all(object_name(each.arguments[0]) == object_name(each.arguments[1]) for each in strange.plan.steps)


@pytest.mark.parametrize("write", [write_yaml, write_json])
@given(given_names=names)
@example(given_names=list(NAMES))
@settings(max_examples=40, deadline=None)
def test_documents_keep_any_names(write, given_names):
    problem = problem_of(given_names)
    again = load(write(problem))
    assert again.objects == problem.objects
    assert again.initial == problem.initial
    assert again.values == problem.values
    assert again.goal == problem.goal


@given(names)
@example(list(NAMES))
@settings(max_examples=40, deadline=None)
def test_plans_for_exported_names_are_mapped_back(given_names):
    problem = problem_of(given_names)
    exported = export(problem)
    assert exported.domain.isascii()
    assert exported.problem.isascii()
    assert export(problem_of(given_names)).problem == exported.problem, "names are the same on every run"
    read = parse_problem(exported.problem, parse_domain(exported.domain))
    found = solve(read)
    assert found.status is Status.OPTIMAL
    again = exported.read_plan(write_plan(found.expect_plan()))
    assert validate(problem, again).valid
    assert {object_name(each.arguments[0]) for each in again.steps} == set(given_names)


@given(names)
@example(list(NAMES))
@settings(max_examples=40, deadline=None)
def test_plan_files_keep_any_names(given_names):
    plan = solve(problem_of(given_names)).expect_plan()
    text = write_plan(plan)
    assert read_plan(text, plan.problem) == plan
    steps = [{"action": each.action, "arguments": list(each.arguments), "cost": 2} for each in plan.steps]
    assert read_json_plan(json.dumps({"steps": steps}), plan.problem, "plan")[0].steps == plan.steps


def test_a_plan_may_name_objects_without_quotes_and_types():
    problem = problem_of(["o 7", "x"])
    steps = [{"action": "send", "arguments": [each, each], "cost": 2} for each in ("o 7", "x")]
    plan, _ = read_json_plan(json.dumps(steps), problem, "plan")
    assert validate(problem, plan).valid


def test_a_name_in_two_types_means_the_one_that_fits_its_place():
    domain = shop()
    problem = domain.problem(
        objects={"x": "Order", 'Customer:"x"': "Customer", "o 7": "Order"},
        initial=["bears(x, x)", 'bears("o 7", x)'],
        values={"weight(x)": 1, 'weight("o 7")': 2},
        goal=["sent(x)", '(or (sent "o 7") (not (bears "o 7" x)))', 'weight("o 7") >= 2'],
    )
    assert problem == domain.problem(
        objects=[Order("x"), Customer("x"), Order("o 7")],
        initial=["bears(x, x)", Atom("bears", ("o 7", "x"))],
        values={"weight(x)": 1, 'weight("o 7")': 2},
        goal=["sent(x)", '(or (sent "o 7") (not (bears "o 7" x)))', 'weight("o 7") >= 2'],
    )
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    assert found.cost == 3


@given(names)
@example(list(NAMES))
@settings(max_examples=20, deadline=None)
def test_questions_take_states_and_steps_about_any_names(given_names):
    problem = problem_of(given_names)
    facts = [str(each) for each in problem.initial]
    assert read_facts(problem, ", ".join(facts)) == list(problem.initial)
    stated = [each for each in problem.initial if each.args[0].lower() not in KEYWORDS]
    pddl = [f"({each.predicate} {' '.join(each.args)})" for each in stated]
    assert read_facts(problem, " ".join(pddl)) == stated
    steps = "\n".join([f"send({', '.join(each.args)})" for each in problem.initial])
    assert [each.arguments for each in steps_from(steps)] == [each.args for each in problem.initial]
    assert [read_step(problem, each).arguments for each in split_expressions(steps)] == [
        each.args for each in problem.initial
    ]
