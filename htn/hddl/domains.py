"""Domain files: what PDDL has, tasks and methods."""

from __future__ import annotations

import os
from collections.abc import Mapping

from htn.hddl.methods import read_method
from htn.hddl.spelling import read_spelling
from htn.hddl.tasks import Heads, read_task
from htn.model import HtnDomain, Method, Task
from planner.annotations import Final
from planner.collector import collector_paused
from planner.model import Action
from planner.pddl.definitions import Definition, read_definition
from planner.pddl.domains import SECTIONS, WITHOUT_MEANING, classical_domain, with_undeclared
from planner.pddl.lenient import warn
from planner.pddl.parts import declared_twice, free_name
from planner.pddl.text import read_text
from planner.pddl.trees import Source, Tree, quote
from planner.pddl.vocabulary import Vocabulary
from planner.records import replace

_SECTIONS: Final = (*SECTIONS, ":task", ":method")


def read_domain(path: str | os.PathLike[str]) -> HtnDomain:
    """Return the domain in the file at `path`; raises what `parse_domain` raises."""
    return parse_domain(read_text(path), os.fspath(path))


@collector_paused()
def parse_domain(text: str, source: str = "<string>") -> HtnDomain:
    """Return the domain that `text` defines; `source` names it in messages.

    All names become lower-case; plans are written with the names as the file spells them. Tasks may be used before they
    are declared. What PDDL has is read as `planner.pddl.parse_domain` reads it.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond the ADL level.
    """
    definition = read_definition(Source(text, source), "domain", _SECTIONS, WITHOUT_MEANING)
    classical, words = classical_domain(definition, last_counts=True)
    tasks = _tasks(definition, words, classical.derived)
    for tree in definition.all(":task"):
        if tree[1] in classical.actions:
            raise _named_as_action(definition, tree)
    methods, named = _methods(definition, words, tasks, classical.actions)
    spelling = read_spelling(definition.source, named)
    return HtnDomain(with_undeclared(classical, words), tasks, methods, spelling=spelling)


def _tasks(definition: Definition, words: Vocabulary, derived: frozenset[str]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for tree in definition.all(":task"):
        task = read_task(tree, words, derived)
        if task.name in found:
            raise declared_twice(definition.source, "task", tree, definition.all(":task"))
        found[task.name] = task
    return found


def _named_as_action(definition: Definition, tree: Tree) -> Exception:
    action = next(each for each in definition.all(":action") if each[1] == tree[1])
    message = f"the task {quote(tree[1])} has the name of the action at {definition.source.location(action)}"
    return definition.source.error(message, tree, 1, "rename one of them")


def _methods(
    definition: Definition, words: Vocabulary, tasks: Mapping[str, Task], actions: Mapping[str, Action]
) -> tuple[dict[str, Method], list[str]]:
    """Return the methods by name, and as `read_spelling` takes it, what plans call each by its name in the file."""
    compound = {name: task.parameters for name, task in tasks.items()}
    heads = Heads(words, {**compound, **{name: action.parameters for name, action in actions.items()}})
    goals = Heads(words, compound, "task", "declare it with '(:task …)'", actions)
    trees = definition.all(":method")
    read = [read_method(tree, words, goals, heads) for tree in trees]
    last = {(method.name, method.task.predicate): place for place, method in enumerate(read)}
    taken = {method.name for method in read}
    found: dict[str, Method] = {}
    named = []
    for place, (tree, method) in enumerate(zip(trees, read, strict=True)):
        is_last = last[method.name, method.task.predicate] == place
        name = method.name if is_last and method.name not in found else free_name(method.name, taken)
        if name != method.name:
            _warn_of_twin(definition, tree, method, name, is_last=is_last)
        found[name] = method if name == method.name else replace(method, name=name)
        named.append(name if is_last else "")
    return found, named


def _warn_of_twin(definition: Definition, tree: Tree, method: Method, name: str, *, is_last: bool) -> None:
    task = quote(method.task.predicate)
    message = (
        f"another task has a method {quote(tree[1])}, too: this one is called so in plans for {task} alone"
        if is_last
        else f"the task {task} has another method {quote(tree[1])}: this one is called {quote(name)} in plans"
    )
    warn(definition.source, tree, 1, message)
