"""Plans with mistakes, as other people, frameworks and language models write them.

Optimal plans of shipped domains, random problems and competition tasks get mistakes: steps are left out, swapped,
called by other names, misspelt or invented. Each plan is written as text, as JSON, or as tool calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.patch_comparison import find_generator
from planner import Plan, Problem, Status, load, solve
from planner.errors import InputError
from planner.language.declare import resolve_action
from planner.language.declare.declared_names import fold_name
from planner.lightweight import replace
from planner.model import Action
from planner.model.domain import creates_objects

Line = tuple[str, tuple[str, ...]]
"""A step as it is written: what it is called, and its arguments."""
Lines = list[Line]
SHARE: Final = 5
"""One step in so many has a mistake, and one at least."""
MISTAKE_TRIES: Final = 20
INVENTED: Final = ("prepare_everything", "double_check", "wait_for_confirmation", "use_magic")


def drop_steps(lines: Lines, _problem: Problem, rng: Random) -> Lines:
    """Leave steps out."""
    out = set(_choose_places(lines, rng))
    return [line for place, line in enumerate(lines) if place not in out]


def swap_steps(lines: Lines, _problem: Problem, rng: Random) -> Lines:
    """Have steps change places."""
    found = list(lines)
    for place in _choose_places(lines, rng):
        other = rng.randrange(len(found))
        found[place], found[other] = found[other], found[place]
    return found


def use_other_names(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Call actions by their alternative names, or write their names in another way: these mean the same."""
    actions = problem.domain.actions
    return _change_some(lines, rng, lambda line: (_draw_alias(actions[line[0]], rng), line[1]))


def misspell_names(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Misspell actions or objects, so that nothing has that name."""
    known = {fold_name(each.name) for each in problem.all_objects}
    known |= {fold_name(name) for each in problem.domain.actions.values() for name in (each.name, *each.similes)}

    def misspell(line: Line) -> Line:
        words = [line[0], *line[1]]
        place = rng.randrange(len(words))
        words[place] = _misspell(words[place], known, rng)
        return words[0], tuple(words[1:])

    return _change_some(lines, rng, misspell)


def invent_steps(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Put steps in between that nobody needs: of unknown actions or objects, or anything at random."""
    found = list(lines)
    for _ in _choose_places(lines, rng):
        found.insert(rng.randint(0, len(found)), _invent_step(problem, rng))
    return found


def make_all_mistakes(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Make each of these mistakes."""
    for make in (drop_steps, swap_steps, use_other_names, misspell_names, invent_steps):
        lines = make(lines, problem, rng)
    return lines


Mistake = Callable[[Lines, Problem, Random], Lines]
MISTAKES: Final[Mapping[str, Mistake]] = {
    "dropped": drop_steps,
    "swapped": swap_steps,
    "other names": use_other_names,
    "misspelt": misspell_names,
    "invented": invent_steps,
    "all of these": make_all_mistakes,
}


def _choose_places(lines: Lines, rng: Random) -> list[int]:
    return rng.sample(range(len(lines)), max(1, len(lines) // SHARE)) if lines else []


def _change_some(lines: Lines, rng: Random, change: Callable[[Line], Line]) -> Lines:
    places = set(_choose_places(lines, rng))
    return [change(line) if place in places else line for place, line in enumerate(lines)]


def _draw_alias(action: Action, rng: Random) -> str:
    return rng.choice([*action.similes, action.name.upper(), action.name.replace("_", "-"), f"{action.name}_"])


def _misspell(name: str, known: set[str], rng: Random) -> str:
    """Return `name` with a letter left out, doubled, or changed with its neighbour: a name that is not `known`."""
    for _ in range(MISTAKE_TRIES):
        place = rng.randrange(len(name))
        before, letter, after = name[:place], name[place], name[place + 1 :]
        slip = rng.choice([before + after, before + 2 * letter + after, before + after[:1] + letter + after[1:]])
        if fold_name(slip) not in known and fold_name(slip):
            return slip
    return f"{name}{name}"


def _invent_step(problem: Problem, rng: Random) -> Line:
    names = [each.name for each in problem.all_objects] or ["thing"]
    action = rng.choice(list(problem.domain.actions.values()))
    args = tuple([rng.choice(names) for _ in action.parameters])
    which = rng.randrange(3)
    if which == 0:
        return rng.choice(INVENTED), args
    return action.name, (*args[:-1], "somebody_else") if which == 1 and args else args


def as_text(lines: Lines, _problem: Problem) -> str:
    """Return numbered lines of text."""
    return "\n".join(f"{number}. {name}({', '.join(args)})" for number, (name, args) in enumerate(lines, start=1))


def as_list(lines: Lines, _problem: Problem) -> str:
    """Return JSON, with arguments in their order."""
    return json.dumps({"plan": [{"action": name, "arguments": args} for name, args in lines]})


def as_tool_calls(lines: Lines, problem: Problem) -> dict[str, Any]:
    """Return calls of tools, with arguments by name where the tool is known."""
    calls = [{"name": line[0], "arguments": json.dumps(_arguments(line, problem))} for line in lines]
    return {"tool_calls": [{"type": "function", "function": call} for call in calls]}


def _arguments(line: Line, problem: Problem) -> dict[str, str] | list[str]:
    name, args = line
    try:
        parameters = resolve_action(problem.domain, name).parameters
    except InputError:
        return list(args)
    return {each.name.removeprefix("?"): arg for each, arg in zip(parameters, args, strict=False)}


FORMS: Final[Sequence[Callable[[Lines, Problem], Any]]] = (as_text, as_list, as_tool_calls)


Drawn = tuple[str, Problem]
"""A problem, and where it is from."""
COMPETITIONS: Final = "competitions"
SIZES: Final = {"assistant": 8, "courier": 4, "elevator": 6, "runbook": 3, "secretary": 5, "stacking": 8, "random": 8}
"""The domains, and the size of problems of which an optimal plan is soon proved."""
TRIES: Final = 30
"""So many problems are tried in vain before a source is left out."""
MOST_FACTS: Final = 2000
"""Larger tasks are left out, too: to read and ground them may take longer than to plan."""
PLANNING: Final = 2.0
"""Seconds for the proof of an optimal plan, at most: tasks that take longer are left out."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A plan with a kind of `mistake`, as somebody has `written` it; `right` is what it was made of."""

    source: str
    mistake: str
    problem: Problem
    right: Plan
    written: Any


def spoil_plans(sources: Sequence[Iterator[Drawn]], wanted: int, seed: int, time_limit: float) -> Iterator[Spoilt]:
    """Yield so many plans with mistakes: kinds and sources take turns; each is of another problem."""
    kinds, number = list(MISTAKES), 0
    left = [_plan_optimally(source, seed, time_limit) for source in sources]
    while number < wanted and left:
        place = (number // len(kinds)) % len(left)
        found = next(left[place], None)
        if found is None:
            del left[place]
            continue
        kind = kinds[number % len(kinds)]
        yield spoil_plan(*found, kind, Random(f"{seed} {number}"))
        number += 1


def spoil_plan(source: str, problem: Problem, right: Plan, kind: str, rng: Random) -> Spoilt:
    """Return the plan `right` with a `kind` of mistake."""
    lines = MISTAKES[kind]([(step.action, step.arguments) for step in right.steps], problem, rng)
    return Spoilt(source, kind, problem, right, rng.choice(FORMS)(lines, problem))


def draw_shipped(domain: str, seed: int) -> Iterator[Drawn]:
    """Yield random problems of a shipped domain, or of random domains."""
    make = find_generator(domain)
    for number in range(seed, seed + 1000):
        yield domain, make(number, max(2, SIZES[domain] - number % 3))


def read_competition(paths: Sequence[tuple[Path, Path]]) -> Iterator[Drawn]:
    """Yield the tasks of domain and problem files that our search takes; none of them twice."""
    for domain, problem in paths:
        found = load(domain, problem)
        if isinstance(found, Problem):
            yield COMPETITIONS, found


def _plan_optimally(source: Iterator[Drawn], seed: int, time_limit: float) -> Iterator[tuple[str, Problem, Plan]]:
    """Yield problems with an optimal plan, where one is proved in time.

    It is found with everything in another order, so that planning from scratch does not simply come upon it.
    """
    failed = 0
    for name, problem in source:
        if failed == TRIES:
            return
        if creates_objects(problem.domain) or len(problem.initial) > MOST_FACTS:
            continue
        result = solve(_shuffle_problem(problem, seed), mode="optimal", time_limit=min(time_limit, PLANNING))
        if result.status is Status.OPTIMAL and result.plan is not None and result.plan.steps:
            failed = 0
            yield name, problem, replace(result.plan, problem=problem)
        else:
            failed += 1


def _shuffle_problem(problem: Problem, seed: int) -> Problem:
    rng = Random(f"order {seed}")

    def shuffle(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(rng.sample(items, len(items)))

    actions = dict(shuffle(list(problem.domain.actions.items())))
    domain = replace(problem.domain, actions=actions)
    return replace(problem, domain=domain, objects=shuffle(problem.objects), initial=shuffle(problem.initial))
