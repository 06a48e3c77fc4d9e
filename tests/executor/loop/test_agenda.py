"""What has not come about keeps back what depends on it, also when the agenda is made anew from what is left."""

import asyncio

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, Wait, World
from executor.events.answers import HAPPENED, NOTHING
from executor.recovery.options import Options
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag")


class Works:
    """Actions `do_a`, `do_b`, …, each of which provides the fact of its name; `done` are the letters, as they came.

    What is in `others` may also be done in another, dearer way.
    """

    def __init__(self, letters, *, observed=True, others="", **requires):
        self.domain, self.done = Domain("works"), []
        for name in letters:
            self.domain.action(f"do_{name}", {}, requires=requires.get(name, []), provides=[name])
        for name in others:
            self.domain.action(f"force_{name}", {}, provides=[name], cost=2)
        self.world = World(self.domain)
        self.answers = {}
        """What the handlers do instead of what they should, by letter."""
        for name in letters:
            self.world.handler(f"do_{name}")(lambda name=name: self.act(name))
            if observed:
                self.world.observer(name, conclusive=True)(lambda name=name: name in self.done)
        for name in others:
            self.world.handler(f"force_{name}")(lambda name=name: self.done.append(name))

    async def act(self, name):
        if name in self.answers:
            return await self.answers[name]()
        self.done.append(name)
        return None

    def plan(self, model, goal, **named):
        names = [each.removeprefix("do_") for each in self.domain.model.actions if each.startswith("do_")]
        steps = [{"id": name, "action": f"do_{name}", "depends_on": named.get(name, [])} for name in names]
        return ActionPlan.model_validate({"model": model, "goal": goal, "steps": steps})


async def fails():
    return False


async def hangs():
    await asyncio.sleep(1000)


async def waits():
    return Wait("somebody says so")


def named_after(outcome, *statuses):
    return [each.id for each in outcome.steps if each.status in statuses]


@pytest.mark.parametrize("model", MODELS)
def test_after_a_restart_nothing_begins_that_depends_on_a_step_that_failed(model, tmp_path):
    """`b` names `a`, which fails, `c` requires what it provides; `e` names `d`, which waits across a restart."""
    works = Works("abcdef", c=["a"])
    works.answers.update(a=fails, d=waits)
    works.world.policy("do_a", ExecutionPolicy(on_error="continue"))
    journal = tmp_path / "runs.db"
    plan = works.plan(model, ["f"], b=["a"], e=["d"])
    outcome = run_virtual(Executor(works.world, journal=journal).run(plan))
    assert outcome.status is RunStatus.WAITING
    works.done.append("d")
    again = run_virtual(Executor(works.world, journal=journal).resume(outcome.run, results={"d": ActionResult()}))
    assert sorted(works.done) == ["d", "e", "f"]
    assert named_after(again, StepStatus.PENDING) == ["b", "c"]
    assert again.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("answer", [HAPPENED, NOTHING])
@pytest.mark.parametrize("model", [*MODELS, "reactive"])
def test_after_a_doubt_nothing_begins_that_depends_on_a_step_that_failed(model, answer):
    works = Works("abcdef", observed=False, c=["a"])
    works.answers.update(a=fails, d=hangs)
    works.world.policy("do_a", ExecutionPolicy(on_error="continue"))
    works.world.policy("do_d", ExecutionPolicy(on_error="continue", timeout=1.0))
    plan = works.plan(model, [], b=["a"], e=["d"])
    outcome = run_virtual(Executor(works.world, ask=lambda _: answer).run(plan))
    assert sorted(works.done) == (["e", "f"] if answer == HAPPENED else ["f"])
    assert {"b", "c"} <= set(named_after(outcome, StepStatus.PENDING))


def test_a_patch_does_not_let_begin_what_depends_on_a_step_in_doubt():
    """While `d` is in doubt, `p` fails, and is done in another way; `e` names `d`, and `l` lasts."""
    works, begun, asked = Works("depl", observed=False, others="p"), [], []

    async def lasts():
        await asyncio.sleep(50)
        begun.extend(works.done)
        works.done.append("l")

    async def fails_late():
        await asyncio.sleep(10)
        return False

    def answer(_):
        asked.extend(works.done)
        return HAPPENED

    works.answers.update(d=hangs, p=fails_late, l=lasts)
    works.world.policy("do_d", ExecutionPolicy(timeout=1.0))
    outcome = run_virtual(Executor(works.world, ask=answer).run(works.plan("dag", [*"depl"], e=["d"])))
    assert begun == ["p"]
    assert asked == ["p", "l"]
    assert works.done == ["p", "l", "e"]
    assert outcome.status is RunStatus.UNVERIFIED


@pytest.mark.parametrize("observed", [True, False])
def test_steps_that_do_what_they_declare_are_no_surprise(observed, monkeypatch):
    """A reactive run looks for the furthest point of its plan once, unless it is told something else."""
    looks = []
    furthest = Options.find_furthest_start
    monkeypatch.setattr(Options, "find_furthest_start", lambda self: looks.append(1) or furthest(self))
    works = Works("abcdef", observed=observed)
    outcome = run_virtual(Executor(works.world).run(works.plan("reactive", [*"abcdef"])))
    assert outcome.status is (RunStatus.SUCCEEDED if observed else RunStatus.UNVERIFIED)
    assert (works.done, len(looks)) == ([*"abcdef"], 1)


@pytest.mark.parametrize("observed", [True, False])
def test_what_a_handler_reports_beyond_that_is_one(observed):
    works = Works("abcdef", observed=False)
    if observed:
        works.world.observer("b", conclusive=True)(lambda: "b" in works.done)

    async def more():
        works.done.extend("bcd")
        return ActionResult(observed=["c", "d"])

    works.answers["b"] = more
    outcome = run_virtual(Executor(works.world).run(works.plan("reactive", [*"abcdef"])))
    assert outcome.status is RunStatus.UNVERIFIED
    assert works.done == [*"abcdef"]
    assert outcome.state.surprises == 1
