"""Many objects are created in one run, which another process takes up where the first one ended."""

import pytest

from executor import ActionPlan, Executor, RunStatus, World
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Domain, solve

TICKETS = 20


@pytest.mark.parametrize("kind", [FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER])
def test_no_object_is_created_twice_though_the_process_ends(tmp_path, kind):
    desk = Domain("desk", types=["order", "ticket"])
    about = ["opened(t)", "about(t, o)"]
    desk.action("open", {"o": "order"}, provides=about, creates={"t": "ticket"})
    desk.action("close", {"t": "ticket"}, requires=["opened(t)"], provides=["closed(t)", "not opened(t)"])
    names = [f"o{number}" for number in range(TICKETS)]
    goal = [f"(exists (?t - ticket) (and (closed ?t) (about ?t {name})))" for name in names]
    problem = desk.problem(objects=dict.fromkeys(names, "order"), goal=goal)
    simulated = SimulatedWorld(problem, faults=[Fault(kind, "close")])
    plan = ActionPlan.of(solve(problem).expect_plan())
    journal = tmp_path / "runs.db"
    with pytest.raises(Crash) as crash:
        run_virtual(Executor(simulated.world, journal=journal).run(plan, run="r"))
    crash.value.bury()
    outcome = run_virtual(Executor(simulated.world, journal=journal).resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    acts = [act.step for act in simulated.acts]
    assert sorted(act.args[0] for act in acts if act.predicate == "open") == sorted(names)
    assert len([act for act in acts if act.predicate == "close"]) == TICKETS


def test_hundreds_of_orders_that_turn_up_are_handled_in_one_run_after_one_patch():
    shop, left, looks = Domain("shop", types=["order"]), {f"o{number}" for number in range(200)}, []
    shop.predicate("pending", "order")
    shop.action("list", lists="pending(_)")
    shop.action("handle", {"order": "order"}, requires="pending(order)", provides="not pending(order)")
    world = World(shop)

    def look():
        looks.append(len(left))
        return sorted(left)

    world.handler("list")(look)
    world.handler("handle")(lambda order: left.remove(str(order)))
    world.observer("pending(_)", conclusive=True)(look)
    goal = "(forall (?order - order) (not (pending ?order)))"
    outcome = run_virtual(Executor(world).run(shop.problem(goal=goal)))
    assert outcome.succeeded, outcome.reason
    assert not left
    assert outcome.state.changes == 1, "one patch plans for all of them"
    assert len(looks) < 200 + 10, "one look after each step"
