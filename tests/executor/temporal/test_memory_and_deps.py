"""What grows in working memory, and what the host makes for a run alone, on Temporal."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from executor import Context, RunStatus, Wait, World
from planner import Domain

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
pytestmark = pytest.mark.timeout(120)
PIECES = 8


def make_talk(name: str) -> tuple[World, Any]:
    """Return a world whose steps append a piece each to a transcript, with a wait in the middle, and a problem."""
    domain = Domain("talk", types=["turn"])
    effects = {"provides": ["turn(then)", "not turn(now)"], "tags": ["trusted"]}
    domain.action("speak", {"now": "turn", "then": "turn"}, requires=["next(now, then)", "turn(now)"], **effects)
    world = World(domain, name=name)

    @world.handler("speak")
    def speak(then: Any, context: Context, **_: Any) -> Wait | None:
        if str(then) == "turn4" and context.answer is None:
            return Wait("Go on?", choices=("sure", "yes"), goes_on=True)
        context.memory.append("transcript", {"content": str(then)})
        return None

    turns = [f"turn{number}" for number in range(PIECES + 1)]
    initial = ["turn(turn0)", *[f"next({one}, {other})" for one, other in pairwise(turns)]]
    return world, domain.problem(objects=dict.fromkeys(turns, "turn"), initial=initial, goal=[f"turn({turns[-1]})"])


def test_what_is_appended_is_there_whole_after_another_worker_has_taken_over(on_temporal):
    name = f"talk {uuid4().hex}"

    async def main() -> Any:
        world, problem = make_talk(name)
        async with on_temporal(world, queue=name) as executor:
            begun = await executor.run(problem, run=name)
            assert begun.status is RunStatus.WAITING
        async with on_temporal(make_talk(name)[0], queue=name) as executor:
            [asked] = begun.questions
            return await executor.resume(name, answers={asked.question: "sure"})

    outcome = asyncio.run(main())
    assert outcome.status is RunStatus.SUCCEEDED
    memory, pieces = outcome.state.memory, [{"content": f"turn{number}"} for number in range(1, PIECES + 1)]
    assert memory.get("transcript") == pieces
    assert [each.value for each in memory.history("transcript")] == [pieces[: n + 1] for n in range(PIECES)]


def find_client(context: Any) -> Any:
    """Return the deps of a context, which no code of a handler shows."""
    return getattr(context, "de" + "ps")


def test_a_helper_of_a_handler_has_what_the_world_makes(on_temporal):
    domain, used = Domain("shop"), list[str]()
    domain.action("use", provides=["used"], tags=["trusted"])
    world = World(domain, name=f"shop {uuid4().hex}")
    world.deps(lambda run: f"client of {run}")
    world.handler("use")(lambda context: used.append(find_client(context)))

    async def main() -> Any:
        async with on_temporal(world) as executor:
            return await executor.run(domain.problem(goal=["used"]), run=world.name)

    assert asyncio.run(main()).status is RunStatus.SUCCEEDED
    assert used == [f"client of {world.name}"]
