"""Runs whose plans suppose what turns out otherwise, beside numbers, deadlines and times."""

from __future__ import annotations

import asyncio

import pytest

from executor import ActionResult, Executor, RunStatus, World
from htn.language.declare import Methods
from planner import Domain

WORDS = {"plain": {}, "numbers": {"values": {"money": 9}}, "deadline": {"deadline": 60}}
WORDS["time"] = {"deadline": 60, "objective": "makespan"}


def workshop(kind: str) -> Domain:
    """Return a domain of things that are handled once they are in order."""
    domain, in_time = Domain("workshop", types=["thing"]), kind == "time"
    cost = {"modifies": "money -= 1"} if kind == "numbers" else {}
    if cost:
        domain.function("money", low=0)
    lasts = {"duration": 0.02} if in_time else {}
    look = {"tags": ["read_only"], **({"duration": 0.01} if in_time else {})}
    domain.action("look", {"x": "thing"}, senses=["fine(x)"], **look)
    domain.action(
        "fix", {"x": "thing"}, requires=["not fine(x)"], provides=["fine(x)"], cost=5, tags=["trusted"], **lasts
    )
    domain.action(
        "handle", {"x": "thing"}, requires=["pending(x)", "fine(x)"], provides=["not pending(x)"],
        tags=["trusted", "needs_observed"] if in_time else ["trusted"], **cost, **lasts,
    )  # fmt: skip
    return domain


@pytest.mark.parametrize("kind", list(WORDS))
def test_what_is_seen_to_be_otherwise_changes_the_plan_once(kind: str) -> None:
    domain, fine, done = workshop(kind), {"a"}, list[str]()
    world = World(domain)

    @world.handler("look")
    def look(x: str) -> ActionResult:
        done.append(f"look {x}")
        return ActionResult(observed=[f"fine({x})" if x in fine else f"not fine({x})"])

    @world.handler("fix")
    def fix(x: str) -> ActionResult:
        done.append(f"fix {x}")
        fine.add(x)
        return ActionResult(observed=[f"fine({x})"])

    if kind == "time":
        world.observer("fine(x)", conclusive=True)(lambda x: x in fine)
    world.handler("handle")(lambda x: done.append(f"handle {x}"))
    problem = domain.problem(
        objects=dict.fromkeys("ab", "thing"),
        initial=["pending(a)", "pending(b)"],
        goal=["not pending(a)", "not pending(b)"],
        unknown=["fine(_)"],
        **WORDS[kind],
    )
    outcome = asyncio.run(asyncio.wait_for(Executor(world).run(problem), 100))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(each for each in done if not each.startswith("look")) == ["fix b", "handle a", "handle b"]
    assert done.index("fix b") < done.index("handle b")
    assert kind == "time" or done.index("look b") < done.index("fix b")


@pytest.mark.parametrize("kind", ["plain", "numbers"])
def test_methods_are_chosen_anew_by_what_is_seen(kind: str) -> None:
    how, fine, done = Methods(workshop(kind)), {"a"}, list[str]()
    how.task("treat", x="thing")
    how.method("plainly", {"x": "thing"}, task="treat(x)", requires=["fine(x)"], subtasks=["handle(x)"])
    how.method("mend", {"x": "thing"}, task="treat(x)", requires=["not fine(x)"], subtasks=["fix(x)", "handle(x)"])
    world = World(how)
    world.observer("fine(x)", conclusive=True)(lambda x: x in fine)
    world.handler("look")(lambda x: ActionResult(observed=[f"fine({x})" if x in fine else f"not fine({x})"]))

    @world.handler("fix")
    def fix(x: str) -> None:
        done.append(f"fix {x}")
        fine.add(x)

    world.handler("handle")(lambda x: done.append(f"handle {x}"))
    problem = how.problem(
        objects=dict.fromkeys("ab", "thing"),
        initial=["pending(a)", "pending(b)"],
        tasks=["treat(a)", "treat(b)"],
        unknown=["fine(_)"],
        **WORDS[kind],
    )
    outcome = asyncio.run(asyncio.wait_for(Executor(world).run(problem), 100))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(done) == ["fix b", "handle a", "handle b"]
