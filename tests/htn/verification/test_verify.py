"""The checker of hierarchical plans: plans broken in one way each, with the reason, and plans that hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from htn_post import PLAN, ROUND, STEPS, TREE, Done, atom, by, did, differ, problem_of, steps_of, tree_of

from htn.model import Decomposition, HtnProblem, Node
from htn.verification.plan_verification import check_thoroughly, complete_bindings, validate
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Atom, Not
from planner.plan import Plan, Step


def changed(place: int, **changes: Any) -> Plan:
    """The plan with another node at `place`."""
    nodes = list(TREE.nodes)
    nodes[place] = replace(nodes[place], **changes)
    return treed(nodes=tuple(nodes))


def treed(**changes: Any) -> Plan:
    return replace(PLAN, tree=replace(TREE, **changes))


def stepped(*steps: Step) -> Plan:
    return replace(PLAN, steps=steps)


def reordered(*numbers: int) -> Plan:
    """The plan with its steps in another order; its tree follows them."""
    places = {number - 1: place for place, number in enumerate(numbers)}
    nodes = [node if node.step is None else replace(node, step=places[node.step]) for node in TREE.nodes]
    return replace(stepped(*(STEPS[number - 1] for number in numbers)), tree=replace(TREE, nodes=tuple(nodes)))


def open_tree(tree: Decomposition) -> Decomposition:
    """The tree as the competition's format knows it: without bindings."""
    return Decomposition(tuple([replace(node, binding=()) for node in tree.nodes]), tree.roots)


MUTANTS: dict[str, tuple[Plan, str]] = {
    "no tree": (replace(PLAN, tree=None), "the plan has no decomposition"),
    "a root is missing": (treed(roots=(0, 1)), "the initial network: it has 3 subtasks, but 2 here"),
    "a root too many": (treed(roots=(0, 1, 2, 2)), "the initial network: it has 3 subtasks, but 4 here"),
    "roots in another order": (
        treed(roots=(1, 0, 2)),
        "the initial network: its subtask 1 is deliver(p, c), not deliver(q, a)",
    ),
    "a root twice": (treed(roots=(0, 1, 1)), "deliver(q, a) (node 1) is a subtask twice"),
    "a child is missing": (
        changed(0, children=(3, 4, 5)),
        "method bring of deliver(p, c) (node 0): it has 4 subtasks, but 3 here",
    ),
    "a child too many": (changed(5, children=(12, 13, 17)), "method via of get(t, c) (node 5): it has 2 subtasks"),
    "no such child": (changed(2, children=(99,)), "method nap of break (node 2): there is no node 99"),
    "a negative child": (changed(2, children=(-7,)), "there is no node -7"),
    "a shared child": (
        changed(9, children=(14,)),
        (
            "drive(t, c, b) (node 14) is a subtask twice: of method go of get(t, b) (node 7) "
            "and of method go of get(t, a) (node 9)"
        ),
    ),
    "a task below itself": (changed(5, children=(12, 5)), "get(t, c) (node 5) is a subtask twice"),
    "a root below another": (changed(5, children=(0, 13)), "deliver(p, c) (node 0) is a subtask twice"),
    "a node that nothing needs": (
        treed(nodes=(*TREE.nodes, Node(atom("get t c"), None, "stay", ("t", "c")))),
        "get(t, c) (node 18) belongs to no task",
    ),
    "a step that nothing needs": (stepped(*STEPS, *steps_of("rest")), "step 10 rest() comes of no task"),
    "a step is missing": (stepped(*STEPS[:-1]), "unload(q, t, a) (node 10) is step 9 of a plan of 8 steps"),
    "a negative step": (changed(11, step=-1), "rest (node 11) is step 0 of a plan of 9 steps"),
    "another action": (
        stepped(*STEPS[:2], *steps_of("drive t b a"), *STEPS[3:]),
        "rest (node 11) is step 3, which is drive(t, b, a)",
    ),
    "other arguments": (
        stepped(STEPS[0], *steps_of("drive t b a"), *STEPS[2:]),
        "drive(t, a, b) (node 16) is step 2, which is drive(t, b, a)",
    ),
    "a wrong number of a step": (changed(16, step=7), "drive(t, a, b) (node 16) is step 8, which is drive(t, b, a)"),
    "a decomposed action": (changed(11, method="nap"), "rest (node 11) is step 3, and yet decomposed"),
    "an action with children": (changed(16, children=(17,)), "drive(t, a, b) (node 16) is step 2, and yet decomposed"),
    "a compound task as a step": (
        changed(2, step=2, method="", binding=(), children=()),
        "break (node 2) is step 3, which is rest()",
    ),
    "an action that is no step": (changed(11, step=None), "rest (node 11) is an action, but no step of the plan"),
    "an unknown task": (
        changed(0, task=atom("delver p c")),
        "no task is called 'delver'; did you mean 'deliver'?",
    ),
    "arguments of a task": (changed(2, task=atom("break t")), "break(t) (node 2): the task takes 0 arguments, not 1"),
    "an unknown object": (changed(0, task=atom("deliver p d")), "deliver(p, d) (node 0): no object is called 'd'"),
    "an object of another type": (
        changed(0, task=atom("deliver c c")),
        "'c' is of type place, but ?p wants parcel",
    ),
    "an unknown method": (
        changed(0, method="brong"),
        "deliver(p, c) (node 0): no method is called 'brong'; did you mean 'bring'?",
    ),
    "no method": (changed(2, method=""), "break (node 2): no method is called ''"),
    "a method of another task": (changed(0, method="nap"), "deliver(p, c) (node 0): method nap is one for break"),
    "another method of the task": (
        changed(7, method="stay", binding=("t", "b")),
        "method stay of get(t, b) (node 7): it has 0 subtasks, but 1 here",
    ),
    "a subtask of another method": (
        changed(7, method="late", binding=("t", "b")),
        "method late of get(t, b) (node 7): its subtask 1 is get(t, b), not drive(t, c, b)",
    ),
    "a short binding": (
        changed(7, binding=("t", "b")),
        "method go of get(t, b) (node 7): it has 3 parameters, but a binding of 2",
    ),
    "a long binding": (changed(2, binding=("t", "t")), "it has 1 parameter, but a binding of 2"),
    "an unknown object in a binding": (changed(2, binding=("u",)), "no object is called 'u'"),
    "a binding of another type": (changed(2, binding=("b",)), "'b' is of type place, but ?t wants truck"),
    "a binding that is not the task's": (
        changed(7, binding=("t", "a", "c")),
        "method go of get(t, b) (node 7): it is a method for get(t, a), not get(t, b)",
    ),
    "a binding that is not the subtask's": (
        changed(7, binding=("t", "b", "a")),
        "method go of get(t, b) (node 7): its subtask 1 is drive(t, a, b), not drive(t, c, b)",
    ),
    "a task that is not its parent's": (
        changed(7, task=atom("get t c")),
        "method bring of deliver(q, a) (node 1): its subtask 1 is get(t, b), not get(t, c)",
    ),
    "a long binding of the initial network": (
        treed(binding=("a", "b")),
        "the initial network: it has 1 parameter, but",
    ),
    "another binding of the initial network": (
        treed(binding=("b",)),
        "the initial network: its subtask 2 is deliver(q, b), not deliver(q, a)",
    ),
    "a type of the initial network": (
        treed(binding=("t",)),
        "the initial network: its subtask 2 is deliver(q, t), not deliver(q, a)",
    ),
    "two steps of a method exchanged": (
        reordered(1, 2, 3, 4, 5, 7, 6, 8, 9),
        (
            "step 6 load(q, t, b) comes before step 7 drive(t, c, b), but method bring of deliver(q, a) (node 1) "
            "puts get(t, b) before load(q, t, b)"
        ),
    ),
    "a subtask of a subtask too late": (
        reordered(1, 3, 4, 2, 5, 6, 7, 8, 9),
        (
            "step 3 drive(t, b, c) comes before step 4 drive(t, a, b), but method via of get(t, c) (node 5) "
            "puts get(t, b) before get(t, c)"
        ),
    ),
    "ordered tasks interleaved": (
        reordered(1, 2, 3, 4, 6, 5, 7, 8, 9),
        (
            "step 5 drive(t, c, b) comes before step 6 unload(p, t, c), but the initial network "
            "puts deliver(p, c) before deliver(q, a)"
        ),
    ),
    "a method too early": (
        reordered(3, 1, 2, 4, 5, 6, 7, 8, 9),
        (
            "method nap of break (node 2) requires at(t, b), which is false in the initial state and never provided "
            "before (before step 1 rest())"
        ),
    ),
    "a method too early, though late": (
        reordered(1, 3, 2, 4, 5, 6, 7, 8, 9),
        (
            "method nap of break (node 2) requires at(t, b), which is false in the initial state and never provided "
            "before (at no time between the beginning and step 2)"
        ),
    ),
    "a wrong cost": (
        stepped(replace(STEPS[0], cost=5), *STEPS[1:]),
        "the plan claims cost 16, but its steps cost 12",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refused_for_the_right_reason(name):
    plan, reason = MUTANTS[name]
    verdict = validate(ROUND, plan)
    assert not verdict.valid
    assert reason in verdict.reason


Case = tuple[HtnProblem, Sequence[str], Sequence[Done], str]
"""A problem, the steps and the decomposition of its tasks, and why this is no plan; "" where it is one."""

GO = by("get t b", "go", "t b a", did(1, "drive t a b"))
STAY_A, STAY_B, STAY_C = (by(f"get t {x}", "stay", f"t {x}") for x in "abc")
OUT, BACK = "drive t a b", "drive t b a"
FALSE_YET = "which is false in the initial state and never provided before"


def doubled(second: Done) -> Sequence[Done]:
    return [by("get t b", "via", "t b b", GO, second)]


HAND_MADE: dict[str, Case] = {
    "a broken constraint": (
        problem_of("get t b"),
        [OUT],
        doubled(STAY_B),
        "method via of get(t, b) (node 0): its constraint b != b is broken",
    ),
    "a broken constraint of the initial network": (
        problem_of("get t ?to", parameters="to", constraints=differ("?to", "b")),
        [OUT],
        [GO],
        "the initial network: its constraint b != b is broken",
    ),
    "order through a task without steps": (
        problem_of(OUT, "get t b", "rest", ordering=[(0, 1), (1, 2)]),
        ["rest", OUT],
        [did(2, OUT), STAY_B, did(1, "rest")],
        "step 1 rest() comes before step 2 drive(t, a, b), but the initial network puts drive(t, a, b) before get",
    ),
    "order through a task without steps that is kept": (
        problem_of(OUT, "get t b", "rest", ordering=[(0, 1), (1, 2)]),
        [OUT, "rest"],
        [did(1, OUT), STAY_B, did(2, "rest")],
        "",
    ),
    "an order that cannot be kept": (
        problem_of("rest", "rest", ordering=[(0, 1), (1, 0)]),
        ["rest", "rest"],
        [did(1, "rest"), did(2, "rest")],
        "the ordering of tasks has a cycle",
    ),
    "a step that cannot be done": (
        problem_of("drive t b c"),
        ["drive t b c"],
        [did(1, "drive t b c")],
        f"step 1 drive(t, b, c): requires at(t, b), {FALSE_YET}",
    ),
    "a step that can be done no more": (
        problem_of(OUT, OUT),
        [OUT, OUT],
        [did(1, OUT), did(2, OUT)],
        "step 2 drive(t, a, b): requires at(t, a), which was retracted by step 1 drive(t, a, b)",
    ),
    "a precondition that ended": (
        problem_of(OUT, "get t a", ordering=[(0, 1)]),
        [OUT],
        [did(1, OUT), STAY_A],
        "stay of get(t, a) (node 1) requires at(t, a), which was retracted by step 1 drive(t, a, b) (at the end)",
    ),
    "a precondition that held before": (problem_of(OUT, "get t a"), [OUT], [did(1, OUT), STAY_A], ""),
    "a precondition that comes too late": (
        problem_of("get t b", OUT, ordering=[(0, 1)]),
        [OUT],
        [STAY_B, did(1, OUT)],
        f"method stay of get(t, b) (node 0) requires at(t, b), {FALSE_YET} (before step 1 drive(t, a, b))",
    ),
    "a precondition that never holds": (
        problem_of("rest", "break"),
        ["rest"],
        [did(1, "rest"), by("break", "none", "t")],
        f"method none of break (node 1) requires at(t, c), {FALSE_YET} (at no time between the beginning and the end)",
    ),
    "a precondition that no objects meet": (
        problem_of("rest", "break"),
        ["rest"],
        [did(1, "rest"), by("break", "none", "")],
        "method none of break (node 1) requires at(?t, c), and there are no objects for ?t to make it hold",
    ),
    "a step of two tasks": (
        problem_of("rest", "break"),
        ["rest"],
        [did(1, "rest"), by("break", "tired", "", did(1, "rest"))],
        "step 1 rest() is both node 0 and node 2",
    ),
    "a parent's precondition only after its child's": (
        problem_of(OUT, "get t a"),
        [OUT],
        [did(1, OUT), by("get t a", "late", "t a", STAY_A)],
        "method stay of get(t, a) (node 2) requires at(t, a), which was retracted by step 1",
    ),
    "a parent's precondition before its child's": (
        problem_of(OUT, BACK, "get t a"),
        [OUT, BACK],
        [did(1, OUT), did(2, BACK), by("get t a", "late", "t a", STAY_A)],
        "",
    ),
    "preconditions of ordered tasks in the wrong order": (
        problem_of(OUT, "get t b", "get t a", ordering=[(1, 2)]),
        [OUT],
        [did(1, OUT), STAY_B, STAY_A],
        "method stay of get(t, a) (node 2) requires at(t, a), which was retracted by step 1",
    ),
    "preconditions of ordered tasks in order": (
        problem_of(OUT, "get t b", "get t a", ordering=[(2, 1)]),
        [OUT],
        [did(1, OUT), STAY_B, STAY_A],
        "",
    ),
    "preconditions of ordered tasks between steps": (
        problem_of("get t b", "get t a", OUT, BACK, ordering=[(0, 1), (1, 3)]),
        [OUT, BACK],
        [STAY_B, STAY_A, did(1, OUT), did(2, BACK)],
        (
            "method stay of get(t, a) (node 1) requires at(t, a), which was retracted by step 1 drive(t, a, b) "
            "(before step 2 drive(t, b, a))"
        ),
    ),
    "a negative precondition": (
        problem_of("break", "break"),
        ["rest", "rest"],
        [by("break", "tired", "", did(1, "rest")), by("break", "tired", "", did(2, "rest"))],
        "",
    ),
    "a negative precondition that failed": (
        problem_of("break", "break", ordering=[(0, 1)]),
        ["rest", "rest"],
        [by("break", "tired", "", did(1, "rest")), by("break", "tired", "", did(2, "rest"))],
        "method tired of break (node 1) requires not fresh, which ended when step 1 rest() provided fresh",
    ),
    "a goal that is not reached": (
        problem_of("get t b", goal=atom("at t c")),
        [OUT],
        [GO],
        f"at the end, the goal requires at(t, c), {FALSE_YET}",
    ),
    "a goal that is reached": (problem_of("get t b", goal=Not(atom("at t c"))), [OUT], [GO], ""),
    "no tasks": (problem_of(), [], [], ""),
    "no tasks, but a step": (problem_of(), ["rest"], [], "step 1 rest() comes of no task"),
    "steps that are of no action": (
        problem_of("fly t"),
        ["fly t"],
        [did(1, "fly t")],
        "step 1 fly(t): no action is called 'fly'",
    ),
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_plans_made_by_hand(name):
    problem, steps, roots, reason = HAND_MADE[name]
    binding = " ".join("b" for _ in problem.parameters)
    verdict = validate(problem, Plan(steps_of(*steps), problem, tree_of(*roots, binding=binding)))
    assert verdict.valid is (not reason)
    assert reason in verdict.reason


def test_the_table_is_long_enough():
    assert len(MUTANTS) + sum(bool(reason) for *_, reason in HAND_MADE.values()) >= 40


def test_a_plan_is_accepted_with_its_cost():
    verdict = validate(ROUND, PLAN)
    assert verdict.valid
    assert verdict.cost == 12


@pytest.mark.parametrize(
    "numbers", [(1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 4, 5, 6, 3, 7, 8, 9), (1, 2, 4, 5, 6, 7, 8, 9, 3)]
)
def test_what_is_not_ordered_may_be_anywhere(numbers):
    assert validate(ROUND, reordered(*numbers)).valid


def test_bindings_are_found():
    plan = replace(PLAN, tree=open_tree(TREE))
    assert validate(ROUND, plan).valid
    assert complete_bindings(ROUND, plan).tree == TREE


def test_bindings_are_found_that_meet_constraints():
    problem = problem_of("rest", parameters="to from", constraints=differ("?to", "?from"))
    plan = complete_bindings(problem, Plan(steps_of("rest"), problem, tree_of(did(1, "rest"))))
    assert validate(problem, plan).valid
    assert len(set(plan.tree.binding)) == 2


def test_a_plan_that_is_none_stays_as_it_is():
    broken = changed(0, children=())
    assert complete_bindings(ROUND, broken) is broken


def test_the_verdict_says_where_and_what():
    plan, _ = MUTANTS["a method too early, though late"]
    verdict = validate(ROUND, plan)
    assert (verdict.failing_step, verdict.condition, verdict.cost) == (2, Atom("at", ("t", "b")), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: validate(ROUND.classical, PLAN), "a Problem is no hierarchical problem"),  # type: ignore[arg-type]
        (lambda: validate(ROUND, list(STEPS)), "a list is no plan"),  # type: ignore[arg-type]
        (lambda: validate(ROUND, replace(PLAN, tree={})), "a dict is no decomposition"),
    ],
)
def test_what_is_no_plan(call: Callable[[], object], message: str):
    with pytest.raises(InputError, match=message):
        call()


DEPTH = 5_000


def level(number: int) -> list[Node]:
    """From b to a and back to b, and so on for ever."""
    place, step = 6 * number, 2 * number + 1
    return [
        Node(atom("get t c"), None, "via", ("t", "c", "b"), (place + 1, place + 6)),
        Node(atom("get t b"), None, "via", ("t", "b", "a"), (place + 2, place + 4)),
        Node(atom("get t a"), None, "go", ("t", "a", "b"), (place + 3,)),
        Node(atom(BACK), step),
        Node(atom("get t b"), None, "go", ("t", "b", "a"), (place + 5,)),
        Node(atom(OUT), step + 1),
    ]


@pytest.mark.parametrize(
    "check", [validate, lambda *given: check_thoroughly(*given)[0]], ids=["quick", "check_thoroughly"]
)
@pytest.mark.parametrize("is_open", [False, True])
def test_deep_trees_and_long_plans(is_open, check):
    problem = problem_of(OUT, "get t c", ordering=[(0, 1)])
    nodes = [node for number in range(DEPTH) for node in level(number)]
    nodes.append(Node(atom("get t c"), None, "go", ("t", "c", "b"), (len(nodes) + 1,)))
    nodes += [Node(atom("drive t b c"), 2 * DEPTH + 1), Node(atom(OUT), 0)]
    tree = Decomposition(tuple(nodes), (len(nodes) - 1, 0))
    steps = steps_of(OUT, *[BACK, OUT] * DEPTH, "drive t b c")
    plan = Plan(steps, problem, open_tree(tree) if is_open else tree)
    assert check(problem, plan).valid
    late = replace(plan, steps=(*steps[:-3], steps[-2], steps[-3], steps[-1]))
    assert not check(problem, late).valid
