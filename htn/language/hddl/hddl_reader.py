"""Reads HDDL domains and problems: tasks, methods and initial task networks beside PDDL (Höller et al., 2020)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from htn.language.hddl.network_sections import Heads, read_constraints, read_network, read_network_parts, read_task
from htn.model import HtnDomain, HtnProblem, Method, Network, Spelling, Task, seal_problem
from planner.errors import UnsupportedError
from planner.garbage_collection import pause_collector
from planner.language.pddl.pddl_conditions import read_condition
from planner.language.pddl.pddl_domains import SECTIONS, WITHOUT_MEANING, build_domain, with_undeclared
from planner.language.pddl.pddl_problems import SECTIONS as SECTIONS_PROBLEMS
from planner.language.pddl.pddl_problems import WITHOUT_MEANING as WITHOUT_MEANING_PROBLEMS
from planner.language.pddl.pddl_problems import build_problem
from planner.language.pddl.pddl_vocabulary import Vocabulary, read_typed_list
from planner.language.pddl.sections import Definition, choose_free_name, duplicate_error, read_definition, read_name
from planner.language.pddl.syntax import Source, Tree, quote, read_text, warn
from planner.lightweight import Final, replace
from planner.model import Action, Variable

_KEYS: Final = {":parameters": "variables", ":task": "a task with its arguments", ":precondition": "a condition"}


def read_method(tree: Tree, words: Vocabulary, tasks: Heads, heads: Heads) -> Method:
    """Read the method in the section `tree`, for one of `tasks`; its subtasks are among `heads`.

    Without `:subtasks` or a variant of it, the method has no subtasks.
    """
    source = words.source
    name = read_name(source, tree, "a method")
    parts = read_network_parts(source, tree, 2, _KEYS, f"the method {quote(name)}")
    declared = words.types.variables(parts.get(":parameters", []))
    constraints, parameters = read_constraints(parts.get(":constraints", []), words, declared)
    bound = {variable.name: variable for variable in parameters}
    head = parts.get(":task")
    if head is None:
        message = f"the method {quote(name)} does not say which task it is for"
        raise source.error(message, tree, len(tree), "add ':task (task ?x)'")
    if not head or not isinstance(head[0], str):
        raise source.error(f"found {quote(head)}, expected a task with its arguments", head)
    task = tasks.atom(head, bound)
    condition = read_condition(parts.get(":precondition", []), words, bound)
    return Method(name, task, parameters, condition, read_network(parts, heads, bound, constraints))


_KINDS: Final = {
    ":action": "heads",
    ":task": "heads",
    ":method": "methods",
    ":constants": "objects",
    ":objects": "objects",
}
"""The kind of name that each section declares."""


def read_spelling(source: Source, methods: Sequence[str] = ()) -> Spelling:
    """Return the names that `source`, a correct definition, spells differently from the model.

    `methods` maps each method of `source` to its name in the model, or "" if plans do not use the name in `source`.
    """
    is_lower = source.text == source.text.lower()
    if is_lower and not methods:
        return Spelling()
    written = source if is_lower else Source(source.text, source.name, keep_case=True)
    names = iter(methods)
    found: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS.values()}
    for section in written.expressions[0][2:]:
        kind = _KINDS.get(section[0].lower(), "")
        for name in _declared_names(written, section, kind):
            known = next(names) if kind == "methods" else name.lower()
            found[kind][known] = name
    return Spelling(**{kind: _respelled(spelled) for kind, spelled in found.items()})


def _declared_names(source: Source, section: Tree, kind: str) -> Iterator[str]:
    """Yield the names of this kind that `section` declares; none for an empty `kind`."""
    if kind == "objects":
        yield from (name for name, _, _ in read_typed_list(source, section, 1, "an object"))
    elif kind:
        yield section[1]


def _respelled(spelled: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the model that the file spells differently."""
    return {known: name for known, name in spelled.items() if known not in ("", name)}


_SECTIONS: Final = (*SECTIONS, ":task", ":method")


def read_domain(path: str | os.PathLike[str]) -> HtnDomain:
    """Read the domain in the file at `path`. Raises as `parse_domain` does."""
    return parse_domain(read_text(path), os.fspath(path))


@pause_collector()
def parse_domain(text: str, source: str = "<string>") -> HtnDomain:
    """Parse the domain that `text` defines; `source` names it in messages.

    All names become lower-case; plans are written with the spelling of the file. Tasks may be used before they are
    declared. The PDDL part is read as `planner.language.pddl.parse_domain` reads it.

    Raises `PddlError` for mistakes, `UnsupportedError` for constructs beyond PDDL 2.1, level 2.
    """
    definition = read_definition(Source(text, source), "domain", _SECTIONS, WITHOUT_MEANING)
    classical, words = build_domain(definition, last_counts=True)
    words.numbers.reads.clear()
    tasks = _read_tasks(definition, words, classical.derived)
    for tree in definition.all(":task"):
        if tree[1] in classical.actions:
            raise _name_clash(definition, tree)
    methods, named = _read_methods(definition, words, tasks, classical.actions)
    if words.numbers.total in words.numbers.reads and words.numbers.total not in classical.functions:
        raise UnsupportedError("the total cost in conditions of methods", "count it with a function of another name")
    spelling = read_spelling(definition.source, named)
    return HtnDomain(with_undeclared(classical, words), tasks, methods, spelling=spelling)


def _read_tasks(definition: Definition, words: Vocabulary, derived: frozenset[str]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for tree in definition.all(":task"):
        task = read_task(tree, words, derived)
        if task.name in found:
            raise duplicate_error(definition.source, "task", tree, definition.all(":task"))
        found[task.name] = task
    return found


def _name_clash(definition: Definition, tree: Tree) -> Exception:
    action = next(each for each in definition.all(":action") if each[1] == tree[1])
    message = f"the task {quote(tree[1])} has the name of the action at {definition.source.location(action)}"
    return definition.source.error(message, tree, 1, "rename one of them")


def _read_methods(
    definition: Definition, words: Vocabulary, tasks: Mapping[str, Task], actions: Mapping[str, Action]
) -> tuple[dict[str, Method], list[str]]:
    """Return the methods by name and, for `read_spelling`, the names that plans use for the methods of the file."""
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
        name = method.name if is_last and method.name not in found else choose_free_name(method.name, taken)
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


_PROBLEM_SECTIONS: Final = (*SECTIONS_PROBLEMS, ":htn")
_PROBLEM_KEYS: Final = {":parameters": "variables"}


def read(domain: str | os.PathLike[str], problem: str | os.PathLike[str]) -> HtnProblem:
    """Read the problem in two HDDL files. Raises as `parse_domain` and `parse_problem` do."""
    return read_problem(problem, read_domain(domain))


def read_problem(path: str | os.PathLike[str], domain: HtnDomain) -> HtnProblem:
    """Read the problem for `domain` in the file at `path`. Raises as `parse_problem` does."""
    return parse_problem(read_text(path), domain, os.fspath(path))


@pause_collector()
def parse_problem(text: str, domain: HtnDomain, source: str = "<string>") -> HtnProblem:
    """Parse the problem for `domain` that `text` defines; `source` names it in messages. Names become lower-case.

    Without a goal, a plan only has to do the tasks. With `(:metric minimize (total-cost))`, the cost of a plan is that
    of its actions; without a metric, its length. The domain name in the problem does not matter,
    as many matching files differ in it; where hyphens differ alone, there is a warning.

    Raises `PddlError` for mistakes, `UnsupportedError` for constructs beyond PDDL 2.1, level 2.
    """
    definition = read_definition(Source(text, source), "problem", _PROBLEM_SECTIONS, WITHOUT_MEANING_PROBLEMS)
    classical, words = build_problem(definition, domain.classical, same_name=False)
    if classical.domain.versions:
        construct = "preferences in preconditions that the metric counts, in hierarchical problems"
        raise UnsupportedError(construct, "leave them out of the metric")
    if domain.classical.unfinished.is_any or classical.domain.actions is not domain.classical.actions:
        domain = replace(domain, classical=classical.domain)
    network, parameters = _read_initial_network(definition, words, domain)
    return seal_problem(HtnProblem(domain, classical, network, parameters, read_spelling(definition.source)))


def _read_initial_network(
    definition: Definition, words: Vocabulary, domain: HtnDomain
) -> tuple[Network, tuple[Variable, ...]]:
    section = definition.one(":htn")
    if section is None:
        hint = "add '(:htn :subtasks (and …))'"
        message = "the problem has no initial task network"
        raise definition.source.error(message, definition.tree, len(definition.tree), hint)
    parts = read_network_parts(definition.source, section, 1, _PROBLEM_KEYS, "the initial task network")
    declared = words.types.variables(parts.get(":parameters", []))
    constraints, parameters = read_constraints(parts.get(":constraints", []), words, declared)
    known: dict[str, Task | Action] = {**domain.tasks, **domain.classical.actions}
    heads = Heads(words, {name: each.parameters for name, each in known.items()})
    bound = {variable.name: variable for variable in parameters}
    return read_network(parts, heads, bound, constraints), parameters
