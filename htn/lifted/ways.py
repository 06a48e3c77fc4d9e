"""Python source for the ways to do tasks: loops over all that a method can be applied to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from htn.lifted.code import Local, Source, Wanted, row, term, unpacked
from htn.model import Method, Task
from htn.needs import Needs
from planner.model import Action, Term
from planner.model.formulas import conjunction, conjuncts
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Signatures:
    """The tasks and actions of a domain, their numbers, and the numbers of its methods."""

    tasks: Mapping[str, Task | Action]
    numbers: Mapping[str, int]
    methods: Mapping[str, int]


def write_ways(source: Source, task: Task, methods: Iterable[Method], needs: Needs, signatures: Signatures) -> None:
    """Write the generator of the ways to do `task`: by one of the `methods` after the other."""
    source.write(0, f"def ways{signatures.numbers[task.name]}(a, rest):")
    source.write(1, "if False: yield")
    for method in methods:
        local, tests = _unpack(source, method.task.args)
        wanted = _wanted(source, method, signatures)
        given = dict(zip(method.task.args, task.parameters, strict=True))
        for name in wanted.keys() & local.keys():
            mine = source.tables.of_types(given[name].types)
            tests += [f"{local[name]} in {source.objects(types)}" for types in _narrower(source, wanted[name], mine)]
        if tests:
            source.write(1, f"if {' and '.join(tests)}:")
        own = [*conjuncts(method.precondition), *conjuncts(method.network.constraints)]
        parts = [*own, *[need for need in needs.of_method(method) if need not in own]]
        depth = source.loops(2 if tests else 1, conjunction(parts), wanted, local)
        _write_way(source, depth, method, signatures, local)


def _unpack(source: Source, args: tuple[Term, ...]) -> tuple[Local, list[str]]:
    """Write what gives the arguments of a task names; return these, and tests where a method wants certain ones."""
    local: Local = {}
    names, tests = [source.local() for _ in args], []
    for name, each in zip(names, args, strict=True):
        if each in local or not each.startswith("?"):
            tests.append(f"{name} == {term(each, local)}")
        else:
            local[each] = name
    for line in unpacked(names):
        source.write(1, line)
    return local, tests


def _wanted(source: Source, method: Method, signatures: Signatures) -> Wanted:
    """Return the types that `method` and its subtasks want of its parameters, those with the fewest objects first."""
    wanted: Wanted = {each.name: [each.types] for each in method.parameters}
    for subtask in method.network.subtasks:
        theirs = signatures.tasks[subtask.task.predicate].parameters
        for each, parameter in zip(subtask.task.args, theirs, strict=True):
            if each in wanted and parameter.types not in wanted[each]:
                wanted[each].append(parameter.types)
    for name, kinds in wanted.items():
        fewest = min(kinds, key=lambda types: len(source.tables.of_types(types)))
        wanted[name] = [fewest, *_narrower(source, kinds, source.tables.of_types(fewest))]
    return wanted


def _narrower(source: Source, kinds: Iterable[tuple[str, ...]], objects: Mapping[str, None]) -> list[tuple[str, ...]]:
    """Return those of `kinds` to which not all of `objects` belong."""
    return [types for types in kinds if not objects.keys() <= source.tables.of_types(types).keys()]


def _write_way(source: Source, depth: int, method: Method, signatures: Signatures, local: Local) -> None:
    rest = "rest"
    for subtask in reversed(method.network.subtasks):
        name, number = source.local(), signatures.numbers[subtask.task.predicate]
        source.write(depth, f"{name}a = {row(subtask.task.args, local)}")
        value, goals = f"hash(({number}, {name}a, {rest}[3]))", source.reachable(subtask.task.predicate, f"{name}a")
        source.write(depth, f"{name} = ({number}, {name}a, {rest}, {value}, {goals}{rest}[4])")
        rest = name
    binding = row([each.name for each in method.parameters], local)
    source.write(depth, f"yield {rest}, {signatures.methods[method.name]}, {binding}")
