"""Read PDDL as nested lists of words and plans as steps, and tell the features of a task.

This reader shares no code with the planner's own, so that the input of other planners and validators does not depend on
what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
    "=": "equality",
}


def find_features(domain: list[Expression], problem: list[Expression]) -> frozenset[str]:
    """Return the features of the task beyond typed STRIPS, such as "conditional effects", "axioms", "costs"."""
    found: set[str] = set()
    for action in find_sections(domain, ":action"):
        found |= find_condition_features(find_option(action, ":precondition"))
        for inner in lists_in(find_option(action, ":effect")):
            match inner:
                case ["when", condition, *_]:
                    found |= {"conditional effects", *find_condition_features(condition)}
                case ["forall", *_]:
                    found.add("universal effects")
    for axiom in find_sections(domain, ":derived"):
        found |= {"axioms", *find_condition_features(axiom[2] if len(axiom) > 2 else [])}
    found |= find_hierarchy_features(domain, problem)
    for goal in find_sections(problem, ":goal"):
        found |= find_condition_features(goal[1] if len(goal) > 1 else [])
    if any(find_sections(problem, ":metric")):
        found.add("costs")
    if any(find_sections(domain, ":constants")):
        found.add("constants")
    return frozenset(found)


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
            case ["not", ["=", *_]]:
                found.add("equality")
            case ["not", *_]:
                found.add("negative conditions")
            case [str(head), *_] if head in CONDITION_FEATURES:
                found.add(CONDITION_FEATURES[head])
    return found


def read_features(domain_path: Path, problem_path: Path) -> frozenset[str]:
    """Return the features of the task in two files."""
    return find_features(read_file(domain_path), read_file(problem_path))


def read_plan_steps(text: str) -> Steps:
    """Return the steps of a plan in the competition's format, in lower case."""
    lines = (line.partition(";")[0].strip().lower() for line in text.splitlines())
    return [tuple(re.findall(r"[^\s()]+", line)) for line in lines if line]
