"""Searching another task for plans of this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.search.run import Run, Steps


def elsewhere(search: Callable[[Run], Steps], run: Run, number: Sequence[int]) -> Steps:
    """Go through `search`, which shares with `run` what it finds: its action a is here called `number[a]`.

    What is a plan there is one here for the same cost, and no plan here costs less than the cheapest ones there.
    """
    own, before = Run(limit=run.limit, trusted=run.trusted), Run()
    steps, plan = search(own), own.plan
    while True:
        own.limit = min(own.limit, run.limit)
        try:
            next(steps)
            ending = None
        except StopIteration as stop:
            ending = stop.value
        run.add(own, before)
        if own.plan is not None and own.plan is not plan:
            plan = own.plan
            run.found([number[action] for action in plan], own.limit)
        run.proved(own.lower_bound)
        if ending is not None:
            return ending  # type: ignore[no-any-return]
        yield
