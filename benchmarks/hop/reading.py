"""The parts of HDDL problems that domains in Python need, read without anything of ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Task = tuple[str, ...]
Words = list[Any]
"""Words and lists of them."""
TOKEN = re.compile(r"[()]|[^\s()]+")


def read(path: str) -> Words:
    """Return the expression in the file at `path` as nested lists of words, in lower case."""
    stack: list[Words] = [[]]
    for line in Path(path).read_text(encoding="utf-8", errors="replace").lower().splitlines():
        for word in TOKEN.findall(line.partition(";")[0]):
            if word == "(":
                stack.append([])
            elif word == ")":
                closed = stack.pop()
                stack[-1].append(closed)
            else:
                stack[-1].append(word)
    return list(stack[0][0])


def parts(expression: Words, head: str) -> list[Words]:
    """Return the parts of a definition that begin with `head`."""
    return [part for part in expression if part[:1] == [head]]


def initial(problem: Words) -> dict[str, list[Any]]:
    """Return the arguments (a tuple) of the initial facts of each predicate."""
    found: dict[str, list[Any]] = {}
    for predicate, *arguments in parts(problem, ":init")[0][1:]:
        found.setdefault(predicate, []).append(tuple(arguments))
    return found


def tasks(problem: Words) -> list[Task]:
    """Return the initial tasks, which are totally ordered and may have labels."""
    (network,) = parts(problem, ":htn")
    keyword = next(word for word in network if word in (":ordered-subtasks", ":ordered-tasks"))
    listed = network[network.index(keyword) + 1]
    each = listed[1:] if listed[:1] == ["and"] else [listed]
    return [tuple(one[1] if isinstance(one[-1], list) else one) for one in each]
