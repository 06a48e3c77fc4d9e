"""Many objects are created in one run, which another process takes up where the first one ended."""

import pytest

from executor import ActionPlan, Executor, RunStatus
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
