"""Constraints that are kept by hearsay alone leave a run unverified, as goals do."""

import pytest

from executor import CANNOT_SAY, ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, always, at_most, before, done, mandatory, never, never_after, sometime

MODELS = ("sequential", "parallel", "dag", "reactive")
CONSTRAINTS = {
    "sometime": sometime("checked"),
    "mandatory": mandatory("check"),
    "a condition before a condition": before("checked", "sent"),
    "a condition before a step": before("checked", done("send")),
    "a step before a condition": before(done("check"), "sent"),
    "a step before a step": before(done("check"), done("send")),
    "always": always("(or (raw) (checked))"),
    "never": never("(and (not (raw)) (not (checked)))"),
    "never after": never_after("raw", "checked"),
    "at most": at_most(0, "(and (not (raw)) (not (checked)))"),
}
"""Constraints that rest on what `check` does."""
REPORTS = {"says nothing": lambda: None, "reports it": lambda: ActionResult(observed=["checked", "not raw"])}


def parcels(constraint, report, *, seen=(), tags=(), trusted=()):
    """Return a problem and a world: what `check` does is observed where it is among `seen`."""
    domain, log = Domain("parcels"), []
    for name in ("checked", "raw", "sent"):
        domain.predicate(name, tags=["trusted"] if name in trusted else [])
    domain.action("check", {}, requires=["raw"], provides=["checked", "not raw"], tags=[*tags])
    domain.action("send", {}, requires=["checked"], provides=["sent"])
    world = World(domain)
    world.handler("check")(lambda: log.append("check") or report())
    world.handler("send")(lambda: log.append("send"))
    now = {
        "checked": lambda: "check" in log,
        "raw": lambda: "check" not in log,
        "sent": lambda: "send" in log,
    }
    for name in ("sent", *seen):
        world.observer(name, conclusive=True, settle_within=0)(now[name])
    return domain.problem(initial=["raw"], goal=["sent"], constraints=[constraint]), world, log


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_hearsay_leaves_the_run_unverified(constraint, report, model):
    problem, world, log = parcels(CONSTRAINTS[constraint], REPORTS[report])
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert log == ["check", "send"]
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert "nobody has seen that this is kept" in outcome.reason


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_what_was_seen_makes_it_succeed(constraint, report, model):
    problem, world, log = parcels(CONSTRAINTS[constraint], REPORTS[report], seen=("checked", "raw"))
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert log == ["check", "send"]
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("trust", [{"tags": ["trusted"]}, {"trusted": ["checked", "raw"]}], ids=["action", "facts"])
def test_what_is_trusted_counts_as_seen(constraint, trust):
    problem, world, _ = parcels(CONSTRAINTS[constraint], REPORTS["reports it"], **trust)
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason


def test_what_an_observer_sees_only_in_the_end_counts():
    """Nothing has changed it since the handler reported it."""
    problem, world, log = parcels(sometime("checked"), REPORTS["reports it"])
    world.observer("checked")(lambda: "check" in log if "send" in log else CANNOT_SAY)
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert log == ["check", "send"]


def test_what_changes_before_anybody_has_seen_it_stays_hearsay():
    domain, log = Domain("oven"), []
    domain.action("heat", {}, provides=["hot"])
    domain.action("cool", {}, requires=["hot"], provides=["done", "not hot"])
    world = World(domain)
    world.handler("heat")(lambda: log.append("heat"))
    world.handler("cool")(lambda: log.append("cool"))
    world.observer("done", conclusive=True, settle_within=0)(lambda: "cool" in log)
    problem = domain.problem(goal=["done"], constraints=[sometime("hot")])
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.UNVERIFIED
    assert "hot" in outcome.reason
