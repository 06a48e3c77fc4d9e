"""The mistakes that plans of others have: steps are left out, swapped, called by other names, misspelt, invented."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from planner.declare.names import folded
from planner.model import Action, Problem

Line = tuple[str, tuple[str, ...]]
"""A step as it is written: what it is called, and its arguments."""
Lines = list[Line]
SHARE: Final = 5
"""One step in so many has a mistake, and one at least."""
TRIES: Final = 20
INVENTED: Final = ("prepare_everything", "double_check", "wait_for_confirmation", "use_magic")


def dropped(lines: Lines, _problem: Problem, rng: Random) -> Lines:
    """Leave steps out."""
    out = set(_places(lines, rng))
    return [line for place, line in enumerate(lines) if place not in out]


def swapped(lines: Lines, _problem: Problem, rng: Random) -> Lines:
    """Have steps change places."""
    found = list(lines)
    for place in _places(lines, rng):
        other = rng.randrange(len(found))
        found[place], found[other] = found[other], found[place]
    return found


def other_names(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Call actions by their alternative names, or write their names in another way: these mean the same."""
    actions = problem.domain.actions
    return _at_some(lines, rng, lambda line: (_alias(actions[line[0]], rng), line[1]))


def misspelt(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Misspell actions or objects, so that nothing has that name."""
    known = {folded(each.name) for each in problem.all_objects}
    known |= {folded(name) for each in problem.domain.actions.values() for name in (each.name, *each.similes)}

    def misspell(line: Line) -> Line:
        words = [line[0], *line[1]]
        place = rng.randrange(len(words))
        words[place] = _slip(words[place], known, rng)
        return words[0], tuple(words[1:])

    return _at_some(lines, rng, misspell)


def invented(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Put steps in between that nobody needs: of unknown actions or objects, or anything at random."""
    found = list(lines)
    for _ in _places(lines, rng):
        found.insert(rng.randint(0, len(found)), _invention(problem, rng))
    return found


def all_of_these(lines: Lines, problem: Problem, rng: Random) -> Lines:
    """Make each of these mistakes."""
    for make in (dropped, swapped, other_names, misspelt, invented):
        lines = make(lines, problem, rng)
    return lines


Mistake = Callable[[Lines, Problem, Random], Lines]
MISTAKES: Final[Mapping[str, Mistake]] = {
    "dropped": dropped,
    "swapped": swapped,
    "other names": other_names,
    "misspelt": misspelt,
    "invented": invented,
    "all of these": all_of_these,
}


def _places(lines: Lines, rng: Random) -> list[int]:
    return rng.sample(range(len(lines)), max(1, len(lines) // SHARE)) if lines else []


def _at_some(lines: Lines, rng: Random, change: Callable[[Line], Line]) -> Lines:
    places = set(_places(lines, rng))
    return [change(line) if place in places else line for place, line in enumerate(lines)]


def _alias(action: Action, rng: Random) -> str:
    return rng.choice([*action.similes, action.name.upper(), action.name.replace("_", "-"), f"{action.name}_"])


def _slip(name: str, known: set[str], rng: Random) -> str:
    """Return `name` with a letter left out, doubled, or changed with its neighbour: a name that is not `known`."""
    for _ in range(TRIES):
        place = rng.randrange(len(name))
        before, letter, after = name[:place], name[place], name[place + 1 :]
        slip = rng.choice([before + after, before + 2 * letter + after, before + after[:1] + letter + after[1:]])
        if folded(slip) not in known and folded(slip):
            return slip
    return f"{name}{name}"


def _invention(problem: Problem, rng: Random) -> Line:
    names = [each.name for each in problem.all_objects] or ["thing"]
    action = rng.choice(list(problem.domain.actions.values()))
    args = tuple([rng.choice(names) for _ in action.parameters])
    which = rng.randrange(3)
    if which == 0:
        return rng.choice(INVENTED), args
    return action.name, (*args[:-1], "somebody_else") if which == 1 and args else args
