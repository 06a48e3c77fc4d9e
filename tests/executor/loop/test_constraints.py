"""Runs keep the constraints of their problems: what was done counts, and patches keep what is left."""

from __future__ import annotations

import pytest

from executor import Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain, at_most, before, done, forbidden, mandatory

MODELS = ("sequential", "parallel", "dag", "reactive")


def letters(constraints, fails=(), goal=("told",), times=1):
    """Return a problem in which somebody is told by mail, by phone or in person, a world for it, and what was done."""
    domain, acts = Domain("letters"), []
    domain.action("write", {}, provides=["written"])
    domain.action("mail", {}, requires=["written"], provides=["told"])
    domain.action("phone", {}, provides=["told"], cost=2)
    domain.action("visit", {}, provides=["told"], cost=3)
    domain.action("bow", {}, provides=["bowed"])
    world, left = World(domain), dict.fromkeys(fails, times)
    for name in domain.model.actions:

        @world.handler(name)
        def act(name=name):
            if left.get(name, 0) > 0:
                left[name] -= 1
                return False
            acts.append(name)
            return True

    world.observer("told", conclusive=True)(lambda: not {"mail", "phone", "visit"}.isdisjoint(acts))
    world.observer("written", conclusive=True)(lambda: "write" in acts)
    world.observer("bowed", conclusive=True)(lambda: "bow" in acts)
    return domain.problem(goal=list(goal), constraints=list(constraints)), world, acts


@pytest.mark.parametrize("model", MODELS)
def test_what_was_done_is_not_asked_for_again(model):
    constraints = [mandatory("bow"), at_most(1, done("bow")), before(done("bow"), "told")]
    problem, world, acts = letters(constraints, fails=["mail"], times=9)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts.count("bow") == 1
    assert acts[-1] == "phone"


@pytest.mark.parametrize("model", MODELS)
def test_a_mandatory_step_that_failed_is_not_left_out(model):
    problem, world, acts = letters([mandatory("bow")], fails=["bow"], times=9)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert "bow" not in acts


@pytest.mark.parametrize("model", MODELS)
def test_patches_take_no_forbidden_way(model):
    problem, world, acts = letters([forbidden("phone")], fails=["mail"], times=9)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts[-1] == "visit"


@pytest.mark.parametrize("model", MODELS)
def test_a_goal_that_holds_already_does_not_spare_what_is_mandatory(model):
    problem, world, acts = letters([mandatory("bow")], goal=())
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts == ["bow"]


def test_what_was_done_in_part_is_not_what_was_demanded():
    domain = Domain("manners")
    domain.action("bow", {}, provides=["bowed", "smiled"])
    world = World(domain)
    world.handler("bow")(lambda: True)
    world.observer("bowed", conclusive=True)(lambda: True)
    world.observer("smiled", conclusive=True)(lambda: False)
    constraints = [mandatory("bow"), at_most(2, done("bow"))]
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["bowed"], constraints=constraints)))
    assert outcome.status is RunStatus.FAILED
    assert StepStatus.PARTIAL in {each.status for each in outcome.steps}
    assert "sometime done bow" in map(str, outcome.state.constraints)
