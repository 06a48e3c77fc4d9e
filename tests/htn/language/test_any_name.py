"""Any text is the name of an object in hierarchies: in documents, in HDDL and its plans, there and back."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from htn.language.declare import Methods
from htn.language.hddl import parse_domain, parse_problem
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.language.plan_text import read_plan, write_plan
from htn.verification.plan_verification import validate
from planner import Domain, Entity, Status, load, solve
from planner.language.documents.document_writer import write_yaml
from planner.model.object_names import object_name, term_of

NAMES = (
    "o 7",
    "Müller & Söhne",
    "https://x/a?b=1&c=(d)",
    'he said "no", (yes) \\',
    "_",
    "?x",
    "",
    "a : b",
    "->",
    "==>",
    "root",
    "two\nlines\u2028",
    "not",
    "7",
    "注文 七",
    "A",
    "a",
    '"quoted"',
)


class Order(Entity):
    """An order."""


class Customer(Entity):
    """A customer."""


def problem_of(names):
    domain = Domain("shop")
    domain.action(
        "send", {"o": Order, "c": Customer}, requires=["bears(o, c)"], provides=["sent(o)", "not bears(o, c)"]
    )
    how = Methods(domain)
    how.task("serve", o=Order)
    how.method("by_sending", {"o": Order, "c": Customer}, task="serve(o)", subtasks=["send(o, c)"])
    return how.problem(
        objects=[*map(Customer, names), *map(Order, names)],
        initial=[f"bears({term_of(each)}, {term_of(each)})" for each in names],
        tasks=[f"serve({term_of(each)})" for each in names],
    )


def names_of(plan):
    return [object_name(each.arguments[0]) for each in plan.steps]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=3, unique=True))
@example(list(NAMES))
@settings(max_examples=25, deadline=None)
def test_hierarchies_take_any_names(names):
    problem = problem_of(names)
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    plan = found.expect_plan()
    assert names_of(plan) == names
    assert validate(problem, plan).valid
    again = read_plan(write_plan(plan), problem)
    assert again.steps == plan.steps
    assert validate(problem, again).valid
    assert names_of(solve(load(write_yaml(problem))).expect_plan()) == names


@given(st.lists(st.text(max_size=12), min_size=1, max_size=3, unique=True))
@example(list(NAMES))
@settings(max_examples=25, deadline=None)
def test_exported_names_are_legal_and_plans_for_them_are_read_back(names):
    problem = problem_of(names)
    texts = write_domain(problem.domain), write_problem(problem)
    assert all(each.isascii() for each in texts)
    assert write_problem(problem_of(names)) == texts[1], "names are the same on every run"
    plan = solve(parse_problem(texts[1], parse_domain(texts[0]))).expect_plan()
    again = read_plan(write_plan(plan), problem)
    assert names_of(again) == names
    assert validate(problem, again).valid
