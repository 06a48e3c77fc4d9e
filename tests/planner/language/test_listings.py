"""Listings: what an action that lists a pattern provides, who takes it away, and what needs it."""

import pytest

from planner import Domain, Status, When, decide, load, solve
from planner.errors import DeclarationError, InputError
from planner.language.documents.document_writer import write_domain_document
from planner.language.pddl.pddl_writer import write_domain
from planner.model import Atom, Not
from planner.plan import Step
from planner.validation.validate import check_steps


def shop(**more):
    domain = Domain("shop", types=["order", "customer"])
    domain.action("list_orders", lists="pending(_)")
    domain.action("handle", {"o": "order"}, requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
    for name, fields in more.items():
        domain.action(name, fields.pop("parameters", {}), **fields)
    return domain


ALL = "(forall (?o - order) (not (pending ?o)))"


@pytest.mark.parametrize(
    "goal",
    [
        ALL,
        "(not (exists (?o - order) (pending ?o)))",
        "(forall (?o - order) (imply (pending ?o) (handled ?o)))",
        "(forall (?o - order) (or (not (pending ?o)) (handled ?o)))",
        "(forall (?o - order) (handled ?o))",
    ],
)
def test_a_goal_over_all_objects_is_reached_only_after_a_listing(goal):
    problem = shop().problem(objects={"o1": "order"}, initial=["pending(o1)"], goal=goal)
    assert not check_steps(problem, [Step("handle", ("o1",))]).valid
    assert check_steps(problem, [Step("list_orders"), Step("handle", ("o1",))]).valid
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    assert sorted(step.action for step in found.plan.steps) == ["handle", "list_orders"]
    assert "as if list_orders() found nothing new" in found.reason


def test_a_goal_about_known_objects_needs_no_listing():
    problem = shop().problem(objects={"o1": "order"}, initial=["pending(o1)"], goal=["handled(o1)", "not pending(o1)"])
    assert [step.action for step in solve(problem).plan.steps] == ["handle"]


@pytest.mark.parametrize(
    ("effect", "is_lost"),
    [
        ({"parameters": {"o": "order"}, "provides": ["pending(o)"]}, True),
        ({"modifies": ["pending(_)"]}, True),
        ({"parameters": {"o": "order"}, "when": [When(["handled(o)"], ["pending(o)"])]}, True),
        ({"parameters": {"o": "order"}, "provides": ["not pending(o)"]}, False),
        ({"parameters": {"o": "order"}, "modifies": ["pending(o)"], "requires": ["pending(o)"]}, False),
        ({"provides": ["other"]}, False),
    ],
)
def test_what_may_add_items_takes_the_fact_away_and_what_ends_a_named_item_does_not(effect, is_lost):
    domain = shop(change=effect)
    action = domain.model.actions["change"]
    written = [action.provides, *(when.provides for when in action.when)]
    lost = any(Not(Atom("listed_pending")) in literals for literals in written)
    assert lost is is_lost


def test_a_listing_with_constants_and_bound_arguments_is_about_these_alone():
    domain = Domain("shop", types=["order", "customer", "state"], constants={"open": "state", "done": "state"})
    domain.predicate("status", o="order", s="state")
    domain.action("list_open", lists="status(_, open)")
    domain.action("list_of", {"c": "customer"}, lists=["order_of(_, c)"])
    domain.action("close", {"o": "order"}, modifies=["status(o, _)"], provides=["status(o, done)"])
    domain.action("reopen", {"o": "order"}, modifies=["status(o, _)"], provides=["status(o, open)"])
    domain.action("give", {"o": "order", "c": "customer"}, provides=["order_of(o, c)"])
    actions = domain.model.actions
    assert Atom("listed_status_open") in actions["list_open"].provides
    assert Atom("listed_order_of", ("?c",)) in actions["list_of"].provides
    assert Not(Atom("listed_status_open")) not in actions["close"].provides
    assert Not(Atom("listed_status_open")) in actions["reopen"].provides
    assert Not(Atom("listed_order_of", ("?c",))) in actions["give"].provides
    goal = "(forall (?o - order) (not (order_of ?o ada)))"
    problem = domain.problem(objects={"ada": "customer", "bob": "customer"}, goal=goal)
    assert [str(step) for step in solve(problem).plan.steps] == ["list_of(ada)"]
    problem = domain.problem(
        objects={"ada": "customer", "bob": "customer"}, goal="(forall (?o - order) (status ?o done))"
    )
    assert sorted(map(str, solve(problem).plan.steps)) == ["list_of(ada)", "list_of(bob)", "list_open()"]
    everybody = "(forall (?c - customer ?o - order) (not (order_of ?o ?c)))"
    problem = domain.problem(objects={"ada": "customer", "bob": "customer"}, goal=everybody)
    assert sorted(map(str, solve(problem).plan.steps)) == ["list_of(ada)", "list_of(bob)"]


def test_conditions_of_actions_conditional_effects_and_axioms_need_it_as_goals_do():
    domain = shop(
        close={"requires": [ALL], "provides": ["closed"]},
        look={"when": [When([ALL], ["quiet"])], "provides": ["looked"]},
    )
    domain.derive("idle", {}, ALL)
    model = domain.model
    assert "listed_pending" in str(model.actions["close"].requires)
    assert "listed_pending" in str(model.actions["look"].when[0].requires)
    assert "listed_pending" in str(model.axioms[0].condition)
    for goal in ("closed", "quiet", "idle"):
        found = solve(domain.problem(goal=[goal]))
        assert found.plan.steps[0].action == "list_orders", goal


def test_what_goes_stale_takes_the_listing_with_it():
    domain = Domain("shop", types=["order"])
    domain.predicate("pending", "order", stale_with=["database"])
    domain.action("list_orders", lists="pending(_)")
    domain.action("load", modifies=["database"], provides=["loaded"])
    problem = domain.problem(goal=["loaded", ALL], initial=[])
    assert [step.action for step in solve(problem).plan.steps] == ["load", "list_orders"]


def test_without_a_listing_nothing_is_proved_unsolvable():
    domain = Domain("trip", types=["hotel"])
    domain.action("search", lists="free(_)")
    domain.action("book", {"h": "hotel"}, requires=["free(h)"], provides=["booked(h)"])
    goal = "(exists (?h - hotel) (booked ?h))"
    found = solve(domain.problem(goal=goal))
    assert found.status is Status.UNKNOWN
    assert "objects may turn up: listed_free does not hold yet" in found.reason
    decision = decide(domain.problem(goal=goal))
    assert (decision.status, decision.success_bound) == (Status.UNKNOWN, 1.0)
    listed = domain.problem(goal=goal, initial=["listed_free"])
    assert solve(listed).status is Status.UNSOLVABLE
    assert decide(listed).status is Status.UNSOLVABLE


def test_documents_and_pddl_have_it_and_writing_it_out_changes_nothing(tmp_path):
    text = """
domain: shop
types: [order]
actions:
  list_orders: {lists: ["pending(_)"]}
  handle: {parameters: {o: order}, requires: ["pending(o)"], provides: ["not pending(o)"]}
---
problem: all
domain: shop
objects: {o1: order}
initial: ["pending(o1)"]
goal: ["(forall (?o - order) (not (pending ?o)))"]
"""
    path = tmp_path / "shop.yaml"
    path.write_text(text)
    problem = load(path)
    written = write_domain_document(problem.domain)
    assert written["actions"]["list_orders"]["lists"] == ["pending(_)"]
    again = Domain.of(problem.domain).model
    assert again.actions["list_orders"].provides == problem.domain.actions["list_orders"].provides
    assert "(listed_pending)" in write_domain(problem.domain, costs=False)
    assert (
        problem.goal
        == Domain.of(problem.domain).problem(objects={"o1": "order"}, initial=["pending(o1)"], goal=problem.goal).goal
    )


def test_a_listing_leaves_something_open_and_its_fact_clashes_with_nothing():
    with pytest.raises(DeclarationError, match="lists pending\\(o\\), which leaves nothing open"):
        Domain("d", types=["order"]).action("one", {"o": "order"}, lists="pending(o)")
    domain = shop(other={"provides": ["listed_pending(a, b)"], "parameters": {"a": "order", "b": "order"}})
    with pytest.raises(InputError, match="the predicate 'listed_pending' has 2 arguments"):
        _ = domain.model


def test_nothing_is_proved_unsolvable_while_a_created_object_may_have_items():
    domain = Domain("desk", types=["ticket", "customer"])
    domain.action("create", provides=["open(t)"], creates={"t": "ticket"})
    domain.action("ask", {"t": "ticket"}, requires=["open(t)"], lists="owner(t, _)")
    domain.action("call", {"t": "ticket", "c": "customer"}, requires=["owner(t, c)"], provides=["called(t)"])
    found = solve(domain.problem(goal="(exists (?t - ticket) (called ?t))"))
    assert found.status is Status.UNKNOWN
    assert "objects may turn up: listed_owner does not hold of what is created" in found.reason


def test_what_only_lists_may_be_done_again():
    domain = shop(
        claim={"lists": "free(_)", "provides": ["claimed"]},
        open_list={"lists": "free(_)", "tags": ["irreversible"]},
        peek={"lists": "free(_)"},
    )
    domain.predicate("free", "order")
    tags = {name: "idempotent" in action.tags for name, action in domain.model.actions.items()}
    assert tags == {"list_orders": True, "handle": False, "claim": False, "open_list": False, "peek": True}
