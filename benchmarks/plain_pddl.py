"""Rewrite tasks with durations for peers whose readers take less PDDL than the task uses; plans stay the same.

Names of actions and objects are kept, so that a plan for the rewritten task is one for the task itself; validators see
the original files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Final

from benchmarks.pddltext import (
    NUMBER,
    TOTAL_TIME,
    Expression,
    condition_of,
    find_actions,
    find_option,
    find_sections,
    find_updates,
    function_of,
    functions_in,
    is_timed,
    lists_in,
    write_expression,
)

OBJECT: Final = "object"
DURATION: Final = "?duration"
MOST_UNITS: Final = 1000
"""How finely times are divided at most; what does not fit is rounded."""
LEAST_UNITS: Final = 100
"""How finely they are divided at least: Aries keeps a tenth of a unit between happenings, the competition 0.001 s."""


@dataclass(frozen=True, slots=True)
class PlainTask:
    """A rewritten task: its domain and problem, and how many of its units of time are a second."""

    domain: list[Expression]
    problem: list[Expression]
    units: int = 1

    def files(self) -> tuple[str, str]:
        """Return the texts of domain and problem, a part a line: some readers have short buffers."""
        return write_lines(self.domain), write_lines(self.problem)


Rewriting = Callable[[list[Expression], list[Expression]], PlainTask]
"""Makes a task of a domain and a problem that a peer reads."""


def write_lines(definition: list[Expression]) -> str:
    """Return a definition as text, with each list in it, and in its sections, on a line."""
    return "(" + "".join(map(write_part, definition)) + ")\n"


def write_part(part: Expression) -> str:
    """Return a part of a definition: a word, or a section."""
    if isinstance(part, str):
        return f"{part} "
    inner = (write_expression(item) + ("\n" if isinstance(item, list) else " ") for item in part)
    return f"({''.join(inner)})\n"


def declare_plainly(domain: list[Expression], problem: list[Expression]) -> PlainTask:
    """Return the task with every type declared, each object of one type, and no `either` in declarations."""
    domain, problem = split_dashes(deepcopy(domain)), split_dashes(deepcopy(problem))
    parents = declare_types(domain)
    for part in find_sections(domain, ":predicates"):
        part[1:] = [[drop_either(word, parents) for word in predicate] for predicate in part[1:]]
    for part in find_sections(domain, ":functions"):
        part[1:] = [
            [drop_either(word, parents) for word in each] if isinstance(each, list) else each for each in part[1:]
        ]
    separate_types(domain, problem, parents)
    return PlainTask(domain, problem)


def rewrite_for_unified_planning(domain: list[Expression], problem: list[Expression]) -> PlainTask:
    """Return the task as unified-planning's reader takes it.

    It has no `?duration` in effects, and where the metric weighs time against anything else, it is time alone.
    """
    task = declare_plainly(domain, problem)
    inline_durations(task.domain)
    for metric in find_sections(task.problem, ":metric"):
        if TOTAL_TIME in functions_in(metric[2:]):
            metric[1:] = ["minimize", [TOTAL_TIME]]
    return task


def rewrite_for_integers(domain: list[Expression], problem: list[Expression]) -> PlainTask:
    """Return the task as unified-planning's reader takes it, its times as integers of a hundredth or less of a second.

    Aries plans with integers, and keeps a tenth of one between happenings.
    """
    task = rewrite_for_unified_planning(domain, problem)
    return make_times_whole(task.domain, task.problem)


def split_dashes(definition: list[Expression]) -> list[Expression]:
    """Return `definition` with words such as `-goods` as `- goods`, changed in place."""
    for inner in lists_in(definition):
        inner[:] = chain.from_iterable(
            ("-", word[1:]) if isinstance(word, str) and word[:1] == "-" and word[1:2].isalpha() else (word,)
            for word in inner
        )
    return definition


def typed_names(typed: Sequence[Expression]) -> Iterator[tuple[str, Expression]]:
    """Yield the names of a typed list with their types."""
    waiting: list[str] = []
    words = iter(typed)
    for word in words:
        if word == "-":
            kind = next(words)
            yield from ((name, kind) for name in waiting)
            waiting = []
        elif isinstance(word, str):
            waiting.append(word)
    yield from ((name, OBJECT) for name in waiting)


def declare_types(domain: list[Expression]) -> dict[str, str]:
    """Declare the types that occur as supertypes only; return the supertype of each. Changes `domain`."""
    parents: dict[str, str] = {}
    for part in find_sections(domain, ":types"):
        parents |= {name: kind for name, kind in typed_names(part[1:]) if isinstance(kind, str)}
        missing = dict.fromkeys(kind for kind in parents.values() if kind not in parents and kind != OBJECT)
        parents |= dict.fromkeys(missing, OBJECT)
        part[1:] = chain.from_iterable((name, "-", kind) for name, kind in parents.items() if name != OBJECT)
    return parents


def ancestors_of(kind: str, parents: Mapping[str, str]) -> list[str]:
    """Return `kind` and its supertypes, up to `object`."""
    found = [kind]
    while found[-1] in parents and parents[found[-1]] not in found:
        found.append(parents[found[-1]])
    return found if found[-1] == OBJECT else [*found, OBJECT]


def find_common_type(kinds: Sequence[str], parents: Mapping[str, str]) -> str:
    """Return the least type that includes all `kinds`."""
    chains = [ancestors_of(kind, parents) for kind in kinds]
    return next(kind for kind in chains[0] if all(kind in chain for chain in chains))


def drop_either(word: Expression, parents: Mapping[str, str]) -> Expression:
    """Return the common type in place of `(either a b)`, in a declaration that lists what arguments may be."""
    if isinstance(word, list) and word[:1] == ["either"]:
        return find_common_type([str(kind) for kind in word[1:]], parents)
    return word


def separate_types(domain: list[Expression], problem: list[Expression], parents: Mapping[str, str]) -> None:
    """Give each object of several types their common one, and actions a condition in place of those types.

    Changes both. A static predicate says which objects were of a type.
    """
    objects: dict[str, list[str]] = {}
    for section in find_sections(problem, ":objects"):
        for name, kind in typed_names(section[1:]):
            objects.setdefault(name, []).append(str(kind))
    ambiguous = [kinds for kinds in objects.values() if len(set(kinds)) > 1]
    if not ambiguous:
        return
    common = {kind: find_common_type(kinds, parents) for kinds in ambiguous for kind in kinds}
    for section in find_sections(problem, ":objects"):
        widened = {
            name: kinds[0] if len(set(kinds)) == 1 else find_common_type(kinds, parents)
            for name, kinds in objects.items()
        }
        section[1:] = chain.from_iterable((name, "-", kind) for name, kind in widened.items())
    for section in find_sections(domain, ":predicates"):
        section += [[f"is-{kind}", "?x", "-", wide] for kind, wide in common.items()]
    for initial in find_sections(problem, ":init"):
        initial += [
            [f"is-{kind}", name]
            for name, kinds in objects.items()
            for kind in common
            if any(kind in ancestors_of(each, parents) for each in kinds)
        ]
    for action in find_actions(domain):
        widen_parameters(action, common)


def widen_parameters(action: list[Expression], common: Mapping[str, str]) -> None:
    """Let the parameters of `action` that have one of the types `common` have the wider one, under a condition."""
    place = action.index(":parameters") + 1
    typed = list(typed_names(action[place]))
    action[place] = list(chain.from_iterable((name, "-", common.get(str(kind), kind)) for name, kind in typed))
    asked: list[Expression] = [[f"is-{kind}", name] for name, kind in typed if kind in common]
    durative = action[0] == ":durative-action"
    asked = [["at", "start", one] for one in asked] if durative else asked
    keyword = ":condition" if durative else ":precondition"
    stated = condition_of(action)
    if keyword in action:
        action[action.index(keyword) + 1] = ["and", *asked, *([stated] if stated else [])]
    else:
        action += [keyword, ["and", *asked]]


def fixed_duration(action: list[Expression]) -> Expression:
    """Return the expression that is the duration of `action`; an empty list where that is a range."""
    match find_option(action, ":duration"):
        case ["=", "?duration", value] | ["and", ["=", "?duration", value]]:
            return value
    return []


def inline_durations(domain: list[Expression]) -> None:
    """Write the duration of each action in place of `?duration` in its conditions and effects. Changes `domain`."""
    for action in find_sections(domain, ":durative-action"):
        value = fixed_duration(action)
        for keyword in (":condition", ":effect"):
            for inner in lists_in(find_option(action, keyword)) if value else ():
                inner[:] = [deepcopy(value) if word == DURATION else word for word in inner]


Values = dict[tuple[str, ...], Fraction]
"""The values of a function by its arguments."""


@dataclass(frozen=True, slots=True)
class Table:
    """How long an action lasts, by what stands for these parameters of it."""

    parameters: list[str]
    values: Values


def make_times_whole(domain: list[Expression], problem: list[Expression]) -> PlainTask:
    """Return the task with durations and known times as integers; changes both.

    The durations that depend on functions which never change become functions of their own.
    """
    fluents = {function_of(update[1]) for update in find_updates(domain)}
    stated = find_values(problem)
    actions = list(find_sections(domain, ":durative-action"))
    fixed = {number: fixed_duration(action) for number, action in enumerate(actions)}
    tables = {
        number: tabulate(duration, stated)
        for number, duration in fixed.items()
        if duration and fluents.isdisjoint(functions_in(duration))
    }
    moments = [fact for initial in find_sections(problem, ":init") for fact in lists_in(initial) if is_timed(fact)]
    known = [*chain.from_iterable(table.values.values() for table in tables.values())]
    known += [Fraction(str(fact[1])) for fact in moments]
    task = PlainTask(domain, problem, min(MOST_UNITS, lcm(LEAST_UNITS, *(value.denominator for value in known))))
    for number, action in enumerate(actions):
        if number in tables:
            write_table(task, action, f"lasts-{number}", tables[number])
        else:
            multiply_durations(action, task.units)
    for fact in moments:
        fact[1] = str(round(Fraction(str(fact[1])) * task.units))
    drop_unused_functions(domain, problem)
    return task


def multiply_durations(action: list[Expression], units: int) -> None:
    """Write the bounds of the duration of `action` in units of time. Changes it."""
    for inner in lists_in(find_option(action, ":duration")):
        if len(inner) > 2 and inner[1] == DURATION:
            inner[2] = ["*", str(units), inner[2]]


def find_values(problem: list[Expression]) -> dict[str, Values]:
    """Return the stated initial values of each function."""
    found: dict[str, Values] = {}
    for initial in find_sections(problem, ":init"):
        for fact in initial:
            match fact:
                case ["=", [str(name), *arguments], str(value)] if NUMBER.fullmatch(value):
                    found.setdefault(name, {})[tuple(map(str, arguments))] = Fraction(value)
    return found


def tabulate(expression: Expression, stated: Mapping[str, Values]) -> Table:
    """Return the values of `expression` by the arguments for its parameters, where all its functions have one."""
    parameters = [word for word in dict.fromkeys(functions_in(expression)) if word.startswith("?")]
    bindings: list[dict[str, str]] = [{}]
    for application in (inner for inner in lists_in(expression) if inner and inner[0] in stated):
        bindings = [
            joined
            for binding in bindings
            for arguments in stated[str(application[0])]
            if (joined := match_arguments(application[1:], arguments, binding)) is not None
        ]
    found: Values = {}
    for binding in bindings:
        value = evaluate(expression, binding, stated)
        if value is not None:
            found[tuple(binding[name] for name in parameters)] = value
    return Table(parameters, found)


def match_arguments(
    terms: Sequence[Expression], arguments: Sequence[str], binding: Mapping[str, str]
) -> dict[str, str] | None:
    """Return `binding` with what makes `terms` these `arguments`; None where nothing does."""
    joined = dict(binding)
    for term, argument in zip(terms, arguments, strict=True):
        name = str(term)
        if (joined.setdefault(name, argument) if name.startswith("?") else name) != argument:
            return None
    return joined


def evaluate(expression: Expression, binding: Mapping[str, str], values: Mapping[str, Values]) -> Fraction | None:
    """Return the value of `expression`; None where a function has none, or something is divided by 0."""
    if isinstance(expression, str):
        return Fraction(expression) if NUMBER.fullmatch(expression) else values.get(expression, {}).get(())
    head, *rest = expression
    if head not in {"+", "-", "*", "/"}:
        return values.get(str(head), {}).get(tuple(binding.get(str(term), str(term)) for term in rest))
    parts = [evaluate(part, binding, values) for part in rest]
    numbers = [part for part in parts if part is not None]
    if len(numbers) < len(parts) or (head == "/" and numbers[1] == 0):
        return None
    match head:
        case "+":
            return sum(numbers, Fraction())
        case "*":
            product = Fraction(1)
            for number in numbers:
                product *= number
            return product
        case "/":
            return numbers[0] / numbers[1]
    return numbers[0] - numbers[1] if len(numbers) > 1 else -numbers[0]


def write_table(task: PlainTask, action: list[Expression], name: str, table: Table) -> None:
    """Let `action` last as long as the function `name` says, or a number where that has no parameters."""
    place = action.index(":duration") + 1
    if not table.parameters:
        seconds = next(iter(table.values.values()), Fraction())
        action[place] = ["=", DURATION, str(round(seconds * task.units))]
        return
    action[place] = ["=", DURATION, [name, *table.parameters]]
    types = dict(typed_names(find_option(action, ":parameters")))
    declared = chain.from_iterable((each, "-", types[each]) for each in table.parameters)
    next(find_sections(task.domain, ":functions")).append([name, *declared])
    for initial in find_sections(task.problem, ":init"):
        stated = table.values.items()
        initial += [["=", [name, *arguments], str(round(value * task.units))] for arguments, value in stated]


def drop_unused_functions(domain: list[Expression], problem: list[Expression]) -> None:
    """Take out the functions that no action, goal or metric names, with their values. Changes both."""
    parts = [*find_actions(domain), *find_sections(domain, ":derived")]
    parts += [*find_sections(problem, ":goal"), *find_sections(problem, ":metric")]
    used = {word for part in parts for word in functions_in(part)}
    for section in find_sections(domain, ":functions"):
        section[1:] = [each for each in section[1:] if not isinstance(each, list) or each[0] in used]
        section[1:] = [word for word in section[1:] if isinstance(word, list)]
    for initial in find_sections(problem, ":init"):
        initial[1:] = [fact for fact in initial[1:] if not is_value_of_other(fact, used)]


def is_value_of_other(fact: Expression, used: set[str]) -> bool:
    """Return whether `fact` is the value of a function that is not among those `used`."""
    match fact:
        case ["=", [str(name), *_], _]:
            return name not in used
    return False
