"""Plans that a model has drawn up that says anything: cyclic, endless, unknown, nested, or no plans at all."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from benchmarks.foreign.forms import FORMS
from benchmarks.foreign.mistakes import INVENTED, Lines
from planner.model import Problem

NO_PLANS: Final[tuple[Any, ...]] = (
    None,
    "",
    17,
    float("nan"),
    {},
    [],
    [[]],
    "I am done: the goal is achieved!",
    "{'steps': [",
    {"steps": None},
    {"plan": {"plan": {"plan": []}}},
    "[" * 50_000,
    b"\x00\xff",
    {"action": {"action": "go"}},
)
CYCLES: Final = 30


def wild_plan(problem: Problem, rng: Random) -> Any:
    """Return something that is given for a plan."""
    match rng.randrange(6):
        case 0:
            return rng.choice(NO_PLANS)
        case 1:  # the same steps again and again
            return rng.choice(FORMS)(_lines(problem, rng, 3) * CYCLES, problem)
        case 2:  # unknown names among the known
            lines = [(rng.choice([*INVENTED, name]), args) for name, args in _lines(problem, rng, 12)]
            return rng.choice(FORMS)(lines, problem)
        case 3:  # too many arguments, or too few, or none that are names
            lines = [(name, rng.choice([(), args * 2, ("?x", "_"), args])) for name, args in _lines(problem, rng, 8)]
            return rng.choice(FORMS)(lines, problem)
        case 4:  # a form within forms
            inner: Any = json.dumps([{"action": name, "args": list(args)} for name, args in _lines(problem, rng, 5)])
            for _ in range(rng.randrange(30)):
                inner = {rng.choice(["steps", "plan", "tool_calls"]): inner}
            return inner
    return rng.choice(FORMS)(_lines(problem, rng, 40), problem)


def _lines(problem: Problem, rng: Random, most: int) -> Lines:
    """Return ground steps of declared actions, with objects at random."""
    actions, names = list(problem.domain.actions.values()), [each.name for each in problem.all_objects]
    chosen = [rng.choice(actions) for _ in range(rng.randint(1, most))]
    return [(each.name, tuple([rng.choice(names) for _ in each.parameters])) for each in chosen]
