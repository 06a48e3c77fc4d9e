"""Plans of the shipped hierarchical domains that break: what is decomposed anew, and what is kept."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import pytest
from htn_incidents import replicated

from domains.household import read_shipped_problem
from domains.incident import shop as outage
from domains.travel import board, couple, trips
from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.repair.subtree_repair import repair
from htn.testing import plan_of
from htn.verification.chart_parsing import find_decomposition
from htn.verification.plan_verification import validate
from planner.errors import InputError, PlanError
from planner.language.declare import Domain
from planner.limits import Limits
from planner.model import Atom, Goal
from planner.plan import Plan, Status, Step, StoppedBy
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.testing import steps_from
from planner.validation.validate import validate as validate_steps


def commuter():
    """Return a trip by train; flying is dearer, and makes tired, so that a bed is needed, too."""
    return trips(
        "commuter",
        {("bern", "nice"): 4},
        {("bern", "nice"): 9},
        homes={"ada": "bern"},
        meetings={"board": "nice"},
        hotels={"palace": ("nice", 4)},
        visits={"ada": ["board"]},
    )


def now(problem, steps, changes=()):
    """Return `problem` when `steps` were done and `changes` happened by themselves."""
    state = Simulation(problem.classical)
    for step in steps:
        state.apply(step)
    facts = set(state.facts)
    for change in changes:
        (atom,) = [Atom(step.action, step.arguments) for step in steps_from(change.removeprefix("not "))]
        facts = facts - {atom} if change.startswith("not ") else facts | {atom}
    return replace(problem, classical=replace(problem.classical, initial=tuple(facts)))


@dataclass(frozen=True)
class Case:
    """Step `breaks` cannot be done (any more): the task `anew` at this depth is done by the steps `new`."""

    name: str
    problem: HtnProblem
    breaks: str
    anew: tuple[str, ...]
    depth: int
    new: tuple[str, ...]
    kept: int
    changes: tuple[str, ...] = ()
    is_barred: bool = True


CASES = (
    Case(
        "no seat is left: the city is reached by train, the rest of the visit stays",
        board(),
        "fly(ada, bern, nice)",
        ("reach(ada, nice)",),
        1,
        (
            "book_train(ada, bern, lyon)",
            "ride(ada, bern, lyon)",
            "book_train(ada, lyon, nice)",
            "ride(ada, lyon, nice)",
        ),
        7,
    ),
    Case(
        "who flies is not awake any more: the whole visit is planned anew, the way home stays",
        commuter(),
        "book_train(ada, bern, nice)",
        ("visit(ada, board)",),
        0,
        (
            "book_flight(ada, bern, nice)",
            "fly(ada, bern, nice)",
            "book_room(ada, palace)",
            "stay_in(ada, palace, nice)",
            "meet(ada, board, nice)",
        ),
        2,
    ),
    Case(
        "the friend has a guest: only ben's night is planned anew, between the steps of ada",
        couple(),
        "stay_with_friend(ben, nice)",
        ("sleep(ben, nice)",),
        1,
        ("book_room(ben, inn)", "stay_in(ben, inn, nice)"),
        3,
        ("vacant(inn)",),
    ),
    Case(
        "the replica does not take over: the service is mended in another way",
        replicated(),
        "fail_over(store)",
        ("mend(store)",),
        3,
        ("read_logs(store)", "page(ada)", "page(ben)", "page(eve)", "approve(eve, store)", "roll_back(store)"),
        4,
    ),
    Case(
        "the service came up by itself: what needs it has its cause in itself now",
        outage(),
        "read_logs(store)",
        ("repair(cart)",),
        2,
        ("read_logs(cart)", "restart(cart)"),
        4,
        ("not down(store)",),
    ),
    Case(
        "the book lies elsewhere: it is brought from there",
        read_shipped_problem("supper"),
        "take(book, kitchen)",
        ("bring(book, parlour)",),
        1,
        ("walk(kitchen, hall)", "take(book, hall)", "walk(hall, parlour)", "put(book, parlour)"),
        0,
        ("not lies(book, kitchen)", "lies(book, hall)"),
        is_barred=False,
    ),
    Case(
        "somebody has tidied up meanwhile",
        read_shipped_problem("supper"),
        "walk(parlour, hall)",
        ("tidy()",),
        0,
        (),
        0,
        ("not lies(book, kitchen)", "lies(book, parlour)"),
        is_barred=False,
    ),
)


def with_inn(problem):
    """Return the problem with one more hotel in nice, which has no room."""
    classical = problem.classical
    if all(each.name != "palace" for each in classical.objects):
        return problem
    hotel = next(each for each in classical.objects if each.name == "palace")
    return replace(
        problem,
        classical=replace(
            classical,
            objects=(*classical.objects, replace(hotel, name="inn")),
            initial=(*classical.initial, Atom("stands", ("inn", "nice"))),
            values={**classical.values, Atom("price", ("inn",)): 3},
        ),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_innermost_task_that_can_be_done_anew_is(case):
    problem = with_inn(case.problem)
    plan = solve(problem, time_limit=None).expect_plan()
    texts = [str(step) for step in plan.steps]
    place = len(texts) - 1 - texts[::-1].index(case.breaks)
    standing = now(problem, plan.steps[:place], case.changes)
    bans = [plan.steps[place]] if case.is_barred else []
    found = repair(standing, plan, done=range(place), failed=[place], forbidden=bans)
    assert found.status is Status.OPTIMAL, found.reason
    assert tuple([f"{task.predicate}({', '.join(task.args)})" for task in found.anew]) == case.anew
    assert found.depth == case.depth
    new = [str(step) for step, origin in zip(found.steps, found.origins, strict=True) if origin is None]
    assert tuple(new) == case.new
    kept = [origin for origin in found.origins if origin is not None]
    assert (found.kept, len(kept), found.new) == (case.kept, case.kept, len(case.new))
    assert kept == [origin for origin in range(place, len(plan.steps)) if origin in kept]
    assert found.dropped == len(plan.steps) - place - case.kept
    verdict = validate_steps(standing.classical, found.steps, claimed_cost=found.cost)
    assert verdict.valid, verdict.reason
    check_anew(standing, plan, found)


def check_anew(standing, plan, found):
    """What is done anew is a decomposition of its task from the observed state, by the checker of whole plans."""
    tree, steps = found.tree, [*plan.steps, *found.steps]
    (task,) = found.anew
    tops = [place for place, node in enumerate(tree.nodes) if node.task == task and node.step is None]
    accepted = []
    for top in tops:
        below, order = [top], []
        while below:
            place = below.pop()
            order.append(place)
            below += reversed(tree.nodes[place].children)
        leaves = sorted(tree.nodes[each].step for each in order if tree.nodes[each].step is not None)
        if any(leaf < len(plan.steps) for leaf in leaves):
            continue
        number = {place: new for new, place in enumerate(order)}
        nodes = [
            replace(
                tree.nodes[each],
                step=None if tree.nodes[each].step is None else leaves.index(tree.nodes[each].step),
                children=tuple([number[child] for child in tree.nodes[each].children]),
            )
            for each in order
        ]
        alone = replace(standing, network=sequence(task), classical=replace(standing.classical, goal=Goal()))
        whole = Decomposition(tuple(nodes), (0,))
        accepted.append(validate(alone, Plan(tuple([steps[leaf] for leaf in leaves]), alone, whole)).valid)
    assert any(accepted)


def broken_board():
    problem = board()
    return problem, solve(problem, time_limit=None).expect_plan()


def test_a_plan_that_works_is_kept():
    problem, plan = broken_board()
    found = repair(now(problem, plan.steps[:2]), plan, done=range(2))
    assert found.status is Status.OPTIMAL
    assert (found.anew, found.new, found.dropped) == ((), 0, 0)
    assert found.steps == plan.steps[2:]
    assert found.origins == tuple(range(2, len(plan.steps)))


def test_a_step_that_may_be_done_again_is():
    problem, plan = broken_board()
    found = repair(now(problem, plan.steps[:2]), plan, done=range(2), failed=[2])
    assert found.steps == plan.steps[2:]
    later = repair(now(problem, plan.steps[:2]), plan, done=range(2), failed=[2], not_first=[plan.steps[2]])
    assert later.status is Status.UNSOLVABLE


def test_without_a_failure_what_does_not_work_is_repaired():
    problem, plan = broken_board()
    found = repair(now(problem, plan.steps[:2], ["not vacant(palace)"]), plan, done=range(2))
    assert found.status is Status.UNSOLVABLE
    assert "cannot be done" in found.reason
    richer = with_inn(problem)
    found = repair(now(richer, plan.steps[:2], ["not vacant(palace)", "vacant(inn)"]), plan, done=range(2))
    assert [str(each) for each in found.anew] == ["sleep(ada, nice)"]
    assert [str(step) for step in found.steps[:2]] == ["book_room(ada, inn)", "stay_in(ada, inn, nice)"]


def test_tasks_that_are_done_do_not_come_back_when_the_goal_is_gone():
    problem, plan = broken_board()
    found = repair(now(problem, plan.steps, ["not rested(ada)"]), plan, done=range(len(plan.steps)))
    assert found.status is Status.UNSOLVABLE
    assert found.reason == "the tasks are done, and the goal does not hold"


def test_a_second_repair_goes_on_from_the_first():
    problem, plan = broken_board()
    first = repair(now(problem, plan.steps[:1]), plan, done=range(1), failed=[1], forbidden=[plan.steps[1]])
    steps = (*plan.steps, *first.steps)
    size = len(plan.steps)
    done = [0, size, size + 1]
    state = now(problem, [plan.steps[0], *first.steps[:2]], ["train(lyon, bern)", "flight(lyon, nice)"])
    values = {**state.classical.values, Atom("air_fare", ("lyon", "nice")): 1}
    state = replace(state, classical=replace(state.classical, values=values))
    second = repair(
        state,
        Plan(steps, problem, first.tree),
        done=done,
        failed=[size + 2],
        forbidden=[first.steps[2]],
    )
    assert ([str(each) for each in second.anew], second.depth) == (["reach(ada, nice)"], 2)
    assert [str(step) for step in second.steps[:2]] == ["book_flight(ada, lyon, nice)", "fly(ada, lyon, nice)"]
    assert second.origins == (None, None, *range(size + 4, size + 11))
    assert validate_steps(state.classical, second.steps).valid


def choice(*, is_ordered):
    """Return a problem with two tasks, of which one opens what the other shuts."""
    domain = Domain("doors", types=["door"])
    domain.action("unlock", {"d": "door"}, provides=["unlocked(d)"])
    domain.action("push", {"d": "door"}, requires=["unlocked(d)"], provides=["open(d)"])
    domain.action("kick", {"d": "door"}, requires=["not alarm"], provides=["open(d)"], cost=9)
    domain.action("arm", {}, provides=["alarm"])
    classical = domain.problem(objects={"front": "door"}, goal=["alarm"])
    methods = {
        "softly": Method(
            "softly", Atom("enter"), network=sequence(Atom("unlock", ("front",)), Atom("push", ("front",)))
        ),
        "hard": Method("hard", Atom("enter"), network=sequence(Atom("kick", ("front",)))),
        "once": Method("once", Atom("guard"), network=sequence(Atom("arm"))),
    }
    tasks = {"enter": Task("enter"), "guard": Task("guard")}
    hierarchy = HtnDomain(classical.domain, tasks, methods)
    ordering = ((1, 0),) if is_ordered else ()
    return HtnProblem(hierarchy, classical, Network((Subtask(Atom("enter")), Subtask(Atom("guard"))), ordering))


@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_order_of_the_tasks_around_is_kept(is_ordered):
    problem = choice(is_ordered=is_ordered)
    plan = plan_of(problem, "arm()\nunlock(front)\npush(front)")
    plan = replace(plan, tree=find_decomposition(problem, plan.steps, Limits(10)))
    found = repair(problem, plan, failed=[2], forbidden=[Step("push", ("front",))])
    if is_ordered:
        assert found.status is Status.UNSOLVABLE
    else:
        assert [str(step) for step in found.steps] == ["kick(front)", "arm()"]
        assert found.origins == (None, 0)


def test_limits_end_the_search_honestly():
    problem, plan = broken_board()
    found = repair(problem, plan, failed=[0], forbidden=plan.steps[:1], time_limit=0)
    assert (found.status, found.stopped_by) == (Status.UNKNOWN, StoppedBy.TIME)
    called_off = threading.Event()
    called_off.set()
    found = repair(problem, plan, failed=[0], forbidden=plan.steps[:1], cancel=called_off)
    assert (found.status, found.stopped_by) == (Status.UNKNOWN, StoppedBy.CANCELLED)
    with pytest.raises(InputError):
        repair(problem, plan, time_limit=-1)


def test_what_is_no_hierarchical_plan_is_refused():
    problem, plan = broken_board()
    with pytest.raises(PlanError, match="no decomposition"):
        repair(problem, replace(plan, tree=None))


def test_a_repair_is_neither_true_nor_false():
    problem, plan = broken_board()
    with pytest.raises(TypeError):
        bool(repair(problem, plan))
