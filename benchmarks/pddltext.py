"""Read PDDL as nested lists of words and plans as steps, and tell the features of a task.

This reader shares no code with the planner's own, so that the input of other planners and validators does not depend on
what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.timed_plans import read_timed_steps
from planner.errors import Location, PddlError

Expression = str | list["Expression"]
Steps = list[tuple[str, ...]]
"""Steps `(action, argument, …)`."""

TOKEN: Final = re.compile(r"[()]|[^\s()]+")
COMMENT: Final = re.compile(r";[^\n]*")


def read_expression(text: str, source: str) -> list[Expression]:
    """Return the first expression of `text`, in lower case; raises `PddlError` where parentheses do not match."""
    outermost: list[Expression] = []
    open_lists = [outermost]
    for word in TOKEN.findall(COMMENT.sub("", text).lower()):
        if word == "(":
            inner: list[Expression] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif word == ")":
            open_lists.pop()
            if len(open_lists) <= 1:
                break
        else:
            open_lists[-1].append(word)
    if len(open_lists) != 1 or not outermost or isinstance(outermost[0], str):
        raise PddlError("the parentheses do not match", Location(source))
    return outermost[0]


def read_file(path: Path) -> list[Expression]:
    """Return the expression in the file at `path`, whatever its encoding does to names outside ASCII."""
    return read_expression(path.read_text(encoding="utf-8", errors="replace"), str(path))


def write_expression(expression: Expression) -> str:
    """Return `expression` as text; iterative, since conditions may be nested deeply."""
    words: list[str] = []
    stack: list[Expression] = [expression]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            words.append(current)
        else:
            words.append("(")
            stack.append(")")
            stack.extend(reversed(current))
    return " ".join(words)


def find_sections(expression: list[Expression], head: str) -> Iterator[list[Expression]]:
    """Yield the parts of a `(define …)` that start with `head`, such as `:action`."""
    return (part for part in expression if isinstance(part, list) and part[:1] == [head])


def find_option(part: list[Expression], keyword: str) -> Expression:
    """Return the expression after `keyword` in an action, or an empty list."""
    return part[part.index(keyword) + 1] if keyword in part[:-1] else []


def find_stated(part: list[Expression], keyword: str) -> Expression:
    """Return the expression after `keyword`, or an empty list for an empty one: `()` or `(and)`."""
    found = find_option(part, keyword)
    return [] if found == ["and"] else found


def names_in(typed: Expression) -> Iterator[str]:
    """Yield the names of a typed list such as `a b - place c`, without the types."""
    previous: Expression = ""
    for word in typed:
        if isinstance(word, str) and word != "-" and previous != "-":
            yield word
        previous = word


def lists_in(expression: Expression) -> Iterator[list[Expression]]:
    """Yield `expression` and every list inside it."""
    stack = [expression]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            yield current
            stack.extend(current)


CONDITION_FEATURES: Final = {
    "or": "disjunctive conditions",
    "imply": "disjunctive conditions",
    "forall": "quantified conditions",
    "exists": "quantified conditions",
}
COMPARISONS: Final = frozenset({"<", "<=", ">", ">="})
UPDATES: Final = frozenset({"assign", "increase", "decrease", "scale-up", "scale-down"})
NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


def find_features(domain: list[Expression], problem: list[Expression]) -> frozenset[str]:
    """Return the features of the task beyond typed STRIPS, such as "conditional effects", "axioms", "costs"."""
    found = find_temporal_features(domain, problem)
    for action in find_actions(domain):
        found |= find_condition_features(condition_of(action))
        for inner in lists_in(find_option(action, ":effect")):
            match inner:
                case ["when", condition, *_]:
                    found |= {"conditional effects", *find_condition_features(condition)}
                case ["forall", *_]:
                    found.add("universal effects")
    for axiom in find_sections(domain, ":derived"):
        found |= {"axioms", *find_condition_features(axiom[2] if len(axiom) > 2 else [])}
    found |= find_hierarchy_features(domain, problem)
    found |= find_numeric_features(domain, problem)
    for goal in find_sections(problem, ":goal"):
        found |= find_condition_features(goal[1] if len(goal) > 1 else [])
    if any(metric[2:] != [[TOTAL_TIME]] for metric in find_sections(problem, ":metric")):
        found.add("costs")
    if any(find_sections(domain, ":constants")):
        found.add("constants")
    return frozenset(found)


TOTAL_TIME: Final = "total-time"


def find_actions(domain: list[Expression]) -> Iterator[list[Expression]]:
    """Yield the actions of a domain, with durations or without."""
    yield from find_sections(domain, ":action")
    yield from find_sections(domain, ":durative-action")


def condition_of(action: list[Expression]) -> Expression:
    """Return the condition of an action; with a duration, that of all its moments."""
    return find_option(action, ":condition" if action[:1] == [":durative-action"] else ":precondition")


def find_temporal_features(domain: list[Expression], problem: list[Expression]) -> set[str]:
    """Return how the task uses time; none for a classical task."""
    found: set[str] = set()
    actions = list(find_sections(domain, ":durative-action"))
    if actions:
        found.add("durations")
    if any(inner[:1] in (["<="], [">="]) for each in actions for inner in lists_in(find_option(each, ":duration"))):
        found.add("duration ranges")
    if any("#t" in inner for each in actions for inner in lists_in(find_option(each, ":effect"))):
        found.add("continuous effects")
    fluents = {function_of(update[1]) for update in find_updates(domain)}
    if any(not fluents.isdisjoint(functions_in(find_option(each, ":duration"))) for each in actions):
        found.add("state-dependent durations")
    if any(is_timed(fact) for initial in find_sections(problem, ":init") for fact in initial):
        found.add("timed initial literals")
    if find_lasting_needs(domain, problem):
        found.add("required concurrency")
    return found


def is_timed(fact: Expression) -> bool:
    """Return whether `fact` is `(at 9 (open))`: something that happens at a known time."""
    return isinstance(fact, list) and fact[:1] == ["at"] and len(fact) == 3 and isinstance(fact[2], list)


def find_lasting_needs(domain: list[Expression], problem: list[Expression]) -> set[str]:
    """Return the predicates that hold only while some step lasts, and that another action needs.

    Such a step adds the predicate at its start and deletes it at its end, and nothing else adds it: steps that need it
    have to overlap this one (Cushing, Kambhampati, Mausam and Weld, 2007: "When is temporal planning really
    temporal?"). The test looks at names of predicates only, and does not say whether a plan needs the action.
    """
    lasting: set[str] = set()
    elsewhere = {fact[0] for initial in find_sections(problem, ":init") for fact in initial if isinstance(fact, list)}
    elsewhere |= {fact[2][0] for initial in find_sections(problem, ":init") for fact in initial if is_timed(fact)}
    for action in find_actions(domain):
        effects = find_option(action, ":effect")
        started, ended = (set(find_literals(find_moment(effects, moment))) for moment in ("start", "end"))
        brackets = {name for name, positive in started if positive and (name, False) in ended}
        added = {name for name, positive in find_literals(effects) if positive}
        lasting |= brackets
        elsewhere |= added - brackets | {name for name in brackets if (name, True) in ended}
    needed: set[str] = set()
    for action in find_actions(domain):
        early = find_literals(find_moment(find_option(action, ":effect"), "start"))
        own = {name for name, positive in early if positive}
        needed |= {name for name, positive in find_literals(condition_of(action)) if positive} - own
    return (lasting - elsewhere) & needed


def find_moment(expression: Expression, moment: str) -> list[Expression]:
    """Return the parts of a condition or an effect that are `at start` or `at end`."""
    return [inner[2] for inner in lists_in(expression) if inner[:2] == ["at", moment] and len(inner) > 2]


def find_literals(expression: Expression) -> Iterator[tuple[str, bool]]:
    """Yield the name of each predicate in `expression`, and whether it occurs without a negation around it."""
    stack = [(expression, True)]
    while stack:
        part, positive = stack.pop()
        match part:
            case ["not", inner]:
                stack.append((inner, not positive))
            case ["at", "start" | "end", inner] | ["over", "all", inner] | ["forall" | "exists", _, inner]:
                stack.append((inner, positive))
            case ["when", _, inner]:
                stack.append((inner, positive))
            case [list(), *_] | ["and" | "or" | "imply", *_]:
                stack.extend((inner, positive) for inner in part)
            case [str(name), *_]:
                yield name, positive


def find_hierarchy_features(domain: list[Expression], problem: list[Expression]) -> set[str]:
    """Return the features of tasks and methods; none for a classical task."""
    found: set[str] = set()
    for method in find_sections(domain, ":method"):
        found |= find_condition_features(find_option(method, ":precondition"))
        found |= {"method preconditions"} if find_stated(method, ":precondition") else set()
        found |= {"method constraints"} if find_stated(method, ":constraints") else set()
    if any(find_sections(domain, ":task")) or any(find_sections(problem, ":htn")):
        found.add("hierarchy")
    return found


def find_condition_features(condition: Expression) -> set[str]:
    """Return the features of one condition."""
    found: set[str] = set()
    for inner in lists_in(condition):
        match inner:
            case ["not", ["=", *_] as equation] if not is_comparison(equation):
                pass  # the equation says it
            case ["not", *_]:
                found.add("negative conditions")
            case ["=", *_] if not is_comparison(inner):
                found.add("equality")
            case [str(head), *_] if head in CONDITION_FEATURES:
                found.add(CONDITION_FEATURES[head])
    return found


def is_comparison(condition: list[Expression]) -> bool:
    """Return whether `condition` compares numbers; `=` does, unless both of its sides are names."""
    if condition[:1] == ["="]:
        return any(isinstance(side, list) or NUMBER.fullmatch(side) for side in condition[1:])
    return bool(condition) and condition[0] in COMPARISONS


def find_numeric_features(domain: list[Expression], problem: list[Expression]) -> set[str]:
    """Return how the task uses numbers, action costs apart; none for a classical task.

    A fluent is a function that some effect changes. A fluent that no condition and no value of another one reads is a
    cost if the metric names it: only its last value matters.
    """
    actions = list(find_actions(domain))
    effects = [find_option(action, ":effect") for action in actions]
    updates = find_updates(domain)
    stated = [*map(condition_of, actions), *map(condition_of, find_sections(domain, ":method"))]
    conditions = [*stated, *effects, *find_sections(domain, ":derived"), *find_sections(problem, ":goal")]
    comparisons = [inner for condition in conditions for inner in lists_in(condition) if is_comparison(inner)]
    fluents = {function_of(update[1]) for update in updates}
    sides = [side for comparison in comparisons for side in comparison[1:]]
    values = [update[2] for update in updates if len(update) > 2]
    read = {name for side in sides for name in functions_in(side)}
    for update in updates:
        read |= set(functions_in(update[2:])) - {function_of(update[1])}
    measured = {name for metric in find_sections(problem, ":metric") for name in functions_in(metric[2:])}
    found = {"numeric conditions"} if comparisons else set()
    for update in updates:
        found |= find_update_features(update, fluents, read, measured)
    if any(is_nonlinear(inner, fluents) for part in (*sides, *values) for inner in lists_in(part)):
        found.add("nonlinear expressions")
    return found | find_metric_features(problem, fluents, read)


def find_updates(domain: list[Expression]) -> list[list[Expression]]:
    """Return the changes of functions by the actions of a domain."""
    effects = [find_option(action, ":effect") for action in find_actions(domain)]
    return [inner for effect in effects for inner in lists_in(effect) if inner[:1] and inner[0] in UPDATES]


def find_update_features(update: list[Expression], fluents: set[str], read: set[str], measured: set[str]) -> set[str]:
    """Return the features of one change of a fluent, which may be `read` elsewhere, or `measured` by the metric."""
    name, varies = function_of(update[1]), not fluents.isdisjoint(functions_in(update[2:]))
    if name not in read and update[0] in {"increase", "decrease"}:
        costs = {"decreased costs": update[0] == "decrease", "state-dependent costs": varies}
        found = {feature for feature, is_there in costs.items() if is_there}
        return found if name in measured or not found else {"numeric effects"}
    found = {"numeric effects"}
    found |= {"assignments"} if update[0] == "assign" else set()
    found |= {"scaling"} if str(update[0]).startswith("scale") else set()
    return found | ({"linear effects"} if varies else set())


def find_metric_features(problem: list[Expression], fluents: set[str], read: set[str]) -> set[str]:
    """Return the features of the metric; a sum that no condition reads is the ordinary one."""
    found: set[str] = set()
    for metric in find_sections(problem, ":metric"):
        found |= {"maximised metric"} if metric[1:2] == ["maximize"] else set()
        named = set(functions_in(metric[2:])) & fluents
        single = len(metric) > 2 and function_of(metric[2]) in fluents | {"total-cost", TOTAL_TIME}
        ordinary = single and named.isdisjoint(read)
        found |= set() if ordinary else {"general metric"}
    return found


def function_of(term: Expression) -> str:
    """Return the name of the function in `(f a b)`, which may stand without parentheses where it has no arguments."""
    return term if isinstance(term, str) else str(term[0]) if term else ""


def functions_in(expression: Expression) -> Iterator[str]:
    """Yield the words in a numeric expression: names of functions, and signs, numbers and arguments besides."""
    if isinstance(expression, str):
        yield expression
    for inner in lists_in(expression):
        yield from (word for word in inner if isinstance(word, str))


def is_nonlinear(expression: list[Expression], fluents: set[str]) -> bool:
    """Return whether `expression` multiplies fluents with each other, or divides by one."""
    varying = [not fluents.isdisjoint(functions_in(part)) for part in expression[1:]]
    return (expression[:1] == ["*"] and sum(varying) > 1) or (expression[:1] == ["/"] and any(varying[1:]))


NUMERIC_CLASSES: Final = ("simple", "linear", "nonlinear")
NONSIMPLE: Final = frozenset({"assignments", "scaling", "linear effects"})


def classify_numeric(features: Iterable[str]) -> str:
    """Return the class of a task with numbers: "simple", "linear" or "nonlinear"; "" where it has none.

    Simple tasks change fluents by constants only (Scala, Haslum, Thiébaux, Ramirez 2020); costs do not count.
    """
    found = set(features)
    if found.isdisjoint({"numeric conditions", "numeric effects"}):
        return ""
    if "nonlinear expressions" in found:
        return "nonlinear"
    return "simple" if found.isdisjoint(NONSIMPLE) else "linear"


def read_features(domain_path: Path, problem_path: Path) -> frozenset[str]:
    """Return the features of the task in two files."""
    return find_features(read_file(domain_path), read_file(problem_path))


def read_plan_steps(text: str) -> Steps:
    """Return the steps of a plan in the competition's format, in lower case, without their times."""
    timed = read_timed_steps(text)
    if timed:
        return [step.words for step in timed]
    lines = (line.partition(";")[0].strip().lower() for line in text.splitlines())
    return [tuple(re.findall(r"[^\s()]+", line)) for line in lines if line]
