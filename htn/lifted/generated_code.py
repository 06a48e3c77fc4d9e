"""Generates Python source: conditions as loops over indexes, effects as undoable changes, and methods as generators.

Conditions are ordered once, when the source is written: tests come as soon as all their variables are bound, and of the
atoms that bind variables, the one with the fewest matches in the initial state comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import prod

from htn.compilations.method_preprocessing import Needs
from htn.lifted.fact_tables import Goals, Places, Tables
from htn.model import Method, Task
from planner.compilations.normal_form import to_negation_normal_form
from planner.lightweight import Any, Final, dataclass
from planner.model import TRUE, And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or, Term, Variable
from planner.model.actions import Action, When, negated_atoms, positive_atoms
from planner.model.domain import Predicate
from planner.model.formulas import conjunction, conjuncts, free_variables, is_variable
from planner.semantics.undefined_values import Row, ValueTest

MOST_LOOPS: Final = 18
"""Python allows 20 blocks inside each other."""
MOST_ROUNDS: Final = 10**6
"""Most evaluations of quantified conditions for one test, which nothing interrupts."""
INDENT: Final = " "

Local = dict[Term, str]
"""The names of variables in the source."""
Wanted = dict[Term, list[tuple[str, ...]]]
"""For each variable the types that its object must have; those of the first are enumerated where no atom binds it."""


class Unfit(Exception):
    """The problem has a construct that this search does not cover."""


class Source:
    """Lines of Python, and the tables and sets that they name.

    `S` is a list: a hash of the state, and the parts of the goal that hold, as bits.
    """

    def __init__(self, tables: Tables, goals: Goals) -> None:
        self.tables, self._goals = tables, goals
        self.lines: list[str] = []
        self._names: dict[str, Any] = {"NONE": (), "S": [0, self._true()]}
        self._predicates: dict[str, int] = {}
        self._types: dict[tuple[str, ...], str] = {}
        self._reachable: dict[str, str] = {}
        self._locals = 0
        self._rounds = 1
        self._fresh = count()

    def _true(self) -> int:
        """Return the parts of the goal that hold in the initial state, as bits."""
        facts = self.tables.facts
        return sum(bit for (predicate, row), bit in self._goals.bit.items() if row in facts.get(predicate, ()))

    def goals(self, predicate: str) -> str:
        """Return the name of a table from rows of `predicate` to parts of the goal, "" if there are none."""
        mine = {row: bit for (name, row), bit in self._goals.bit.items() if name == predicate}
        name = f"G{self.number(predicate)}"
        self._names[name] = mine
        return name if mine else ""

    def reachable(self, task: str, args: str) -> str:
        """Return the start of an expression for the parts of the goal that a task may make true, joined with others."""
        if not self._goals.all:
            return ""
        name = f"R{len(self._reachable)}" if task not in self._reachable else self._reachable[task]
        if task not in self._reachable:
            self._reachable[task] = name
            self._names[name] = self._goals.reachable(task)
        return f"{name}({args}) | "

    def write(self, depth: int, line: str) -> None:
        """Add `line`, `depth` blocks deep."""
        self.lines.append(INDENT * depth + line)

    def run(self) -> dict[str, Any]:
        """Run the source; return its functions by their names, and `S`."""
        exec(compile("\n".join(self.lines), "<lifted>", "exec"), self._names)  # noqa: S102 - all names are our own
        return self._names

    def add(self, name: str, function: Callable[[Row], bool]) -> str:
        """Let the source call `function` by `name`, which is returned."""
        self._names[name] = function
        return name

    def local(self) -> str:
        """Return a new name for a variable."""
        self._locals += 1
        return f"x{self._locals}"

    def number(self, predicate: str) -> int:
        """Return the number of `predicate` in names."""
        return self._predicates.setdefault(predicate, len(self._predicates))

    def facts(self, predicate: str) -> str:
        """Return the name of the rows of `predicate`."""
        name = f"F{self.number(predicate)}"
        self._names[name] = self.tables.facts.setdefault(predicate, {})
        return name

    def index(self, predicate: str, places: Places) -> str:
        """Return the name of an index."""
        name = f"I{self.number(predicate)}_{'_'.join(map(str, places))}"
        self._names[name] = self.tables.index(predicate, places)
        return name

    def objects(self, types: tuple[str, ...]) -> str:
        """Return the name of the objects of `types`."""
        if types not in self._types:
            self._types[types] = name = f"T{len(self._types)}"
            self._names[name] = self.tables.of_types(types)
        return self._types[types]

    def test(self, part: Formula, local: Local) -> str:
        """Return an expression, in parentheses, for whether `part` holds, whose variables are all bound."""
        match part:
            case Atom(predicate, args):
                found = f"{row(args, local)} in {self.facts(predicate)}"
            case Equals(left, right):
                found = f"{term(left, local)} == {term(right, local)}"
            case Not(inner):
                found = f"not {self.test(inner, local)}"
            case And(parts):
                found = " and ".join([self.test(each, local) for each in parts]) or "True"
            case Or(parts):
                found = " or ".join([self.test(each, local) for each in parts]) or "False"
            case Imply(premise, conclusion):
                found = f"not {self.test(premise, local)} or {self.test(conclusion, local)}"
            case Forall() | Exists():
                found = self._test_quantified(to_negation_normal_form(part, self._fresh), local)
        return f"({found})"

    def _test_quantified(self, part: Formula, local: Local) -> str:
        """Return the expression for a `part` in negation normal form; loops enclose only what uses their variables."""
        match part:
            case And(parts) | Or(parts):
                verb, nothing = (" and ", "True") if isinstance(part, And) else (" or ", "False")
                return verb.join([f"({self._test_quantified(each, local)})" for each in parts]) or nothing
            case Forall(variables, inner) | Exists(variables, inner):
                verb = "all" if isinstance(part, Forall) else "any"
                return f"{verb}({self._write_quantifier(variables, inner, local)})"
            case _:
                return self.test(part, local)

    def _write_quantifier(self, variables: Sequence[Variable], inner: Formula, local: Local) -> str:
        before = self._rounds
        self._rounds *= prod(len(self.tables.of_types(each.types)) for each in variables)
        if self._rounds > MOST_ROUNDS:
            raise Unfit(f"conditions about more than {MOST_ROUNDS:,} combinations of objects")
        local = local | {each.name: self.local() for each in variables}
        loops = " ".join([f"for {local[each.name]} in {self.objects(each.types)}" for each in variables])
        found = f"({self._test_quantified(inner, local)}) {loops}"
        self._rounds = before
        return found

    def loops(self, depth: int, condition: Formula, variables: Wanted, local: Local) -> int:
        """Write loops over the bindings of `variables` that satisfy `condition`; return the depth inside them.

        `local` then has the names of all variables.
        """
        pending = [*conjuncts(condition)]
        deepest = depth + MOST_LOOPS
        depth = self._write_tests(depth, pending, variables, local)
        while len(local.keys() & variables.keys()) < len(variables):
            if depth >= deepest:
                raise Unfit(f"methods that choose more than {MOST_LOOPS} objects in loops")
            binder = min(
                [part for part in pending if isinstance(part, Atom)],
                key=lambda part: self._matches(part, local),
                default=None,
            )
            free = next((each for each in variables if each not in local), "")
            if binder is None or not any(each in variables and each not in local for each in binder.args):
                name = self.local()
                self.write(depth, f"for {name} in {self.objects(variables[free][0])}:")
                tests = [f"{name} in {self.objects(types)}" for types in variables[free][1:]]
                local[free] = name
            else:
                pending.remove(binder)
                tests = self._write_binder(depth, binder, variables, local)
            depth = self._write_tests(depth + 1, pending, variables, local, tests)
        return depth

    def _matches(self, atom: Atom, local: Local) -> tuple[bool, float]:
        bound = [place for place, each in enumerate(atom.args) if each in local or not is_variable(each)]
        return len(bound) == len(atom.args), self.tables.matches(atom.predicate, bound)

    def _write_binder(self, depth: int, atom: Atom, variables: Wanted, local: Local) -> list[str]:
        """Write a loop over the matches of `atom`, which binds its variables; return the tests for each match."""
        bound = tuple([place for place, each in enumerate(atom.args) if each in local or not is_variable(each)])
        tests, targets = [], []
        for place, each in enumerate(atom.args):
            if place in bound:
                continue
            name = self.local()
            targets.append(name)
            if each in local:
                tests.append(f"{name} == {local[each]}")
                continue
            local[each] = name
            tests += [
                f"{name} in {self.objects(types)}" for types in variables[each] if self._narrows(atom, place, types)
            ]
        if bound:
            key = ", ".join([term(atom.args[place], local) for place in bound])
            key = key if len(bound) == 1 else f"({key})"
            rows = f"{self.index(atom.predicate, bound)}.get({key}, NONE)"
            target = ", ".join(targets)
        else:
            rows = self.facts(atom.predicate)
            target = ", ".join(targets) + ("," if len(targets) == 1 else "")
        if atom.predicate in self.tables.changing:
            rows = f"[*{rows}]"  # what comes next changes them, and puts them back
        self.write(depth, f"for {target} in {rows}:")
        return tests

    def _narrows(self, atom: Atom, place: int, types: tuple[str, ...]) -> bool:
        """Return whether some object at `place` in the facts is not of `types`."""
        wanted = self.tables.of_types(types)
        if atom.predicate in self.tables.changing:
            return len(wanted) < len(self.tables.of_types(("object",)))
        return any(each[place] not in wanted for each in self.tables.facts[atom.predicate])

    def _write_tests(
        self, depth: int, pending: list[Formula], variables: Wanted, local: Local, more: Sequence[str] = ()
    ) -> int:
        """Write the tests of all `pending` parts without unbound variables; return the depth after them."""
        ready = [part for part in pending if not (free_variables(part) & variables.keys()) - local.keys()]
        for part in ready:
            pending.remove(part)
        tests = [*more, *[self.test(part, local) for part in ready]]
        if not tests:
            return depth
        self.write(depth, f"if {' and '.join(tests)}:")
        return depth + 1


def term(name: Term, local: Mapping[Term, str]) -> str:
    """Return the expression for a term."""
    return local[name] if is_variable(name) else repr(name)


def row(args: Sequence[Term], local: Mapping[Term, str]) -> str:
    """Return the expression for a tuple of terms."""
    parts = [term(each, local) for each in args]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def unpacking(args: Sequence[str]) -> Iterator[str]:
    """Yield the statement that unpacks `a`, if it has anything in it."""
    if args:
        yield f"{', '.join(args)}{',' if len(args) == 1 else ''} = a"


def write_action(source: Source, number: int, action: Action, tests: Sequence[ValueTest]) -> None:
    """Write the function that applies `action`, if that is possible, and notes how to undo each change.

    It is not possible where one of `tests` says that an amount has no value.
    """
    source.write(0, f"def act{number}(a, note):")
    local = {each.name: source.local() for each in action.parameters}
    for line in unpacking([*local.values()]):
        source.write(1, line)
    source.write(1, f"if not ({source.test(action.requires, local)}): return False")
    for place, each in enumerate(tests):
        name = source.add(f"U{number}_{place}", each.undefined)
        source.write(1, f"if {name}({row(each.terms, local)}): return False")
    if all(effect.requires == TRUE and not effect.variables for effect in action.effects):
        literals = tuple([each for effect in action.effects for each in effect.provides])
        for atom in dict.fromkeys(negated_atoms(literals)):
            _write_change(source, 1, atom.predicate, row(atom.args, local), becomes=False)
        for atom in dict.fromkeys(positive_atoms(literals)):
            _write_change(source, 1, atom.predicate, row(atom.args, local), becomes=True)
    else:
        _write_conditional(source, action.effects, local)
    source.write(1, "return True")


def _write_conditional(source: Source, effects: tuple[When, ...], local: Local) -> None:
    """Write conditional effects: all conditions are tested before anything changes."""
    written: dict[tuple[bool, str], None] = {}
    for effect in effects:
        for becomes, atoms in ((False, negated_atoms(effect.provides)), (True, positive_atoms(effect.provides))):
            written |= {(becomes, atom.predicate): None for atom in atoms}
    names = {key: f"later{place}" for place, key in enumerate(sorted(written))}
    for name in names.values():
        source.write(1, f"{name} = []")
    for effect in effects:
        mine: dict[Term, str] = dict(local)
        depth = source.loops(1, effect.requires, {each.name: [each.types] for each in effect.variables}, mine)
        for becomes, atoms in ((False, negated_atoms(effect.provides)), (True, positive_atoms(effect.provides))):
            for atom in atoms:
                source.write(depth, f"{names[becomes, atom.predicate]}.append({row(atom.args, mine)})")
        source.write(depth, "pass")
    for (becomes, predicate), name in names.items():  # what becomes false comes first
        source.write(1, f"for r in {name}:")
        _write_change(source, 2, predicate, "r", becomes=becomes)


def _write_change(source: Source, depth: int, predicate: str, value: str, *, becomes: bool) -> None:
    number, name = source.number(predicate), source.local()
    do, undo = ("put", "cut") if becomes else ("cut", "put")
    source.write(depth, f"{name} = {value}")
    source.write(depth, f"if {name} {'not ' if becomes else ''}in {source.facts(predicate)}:")
    source.write(depth + 1, f"{do}{number}({name})")
    source.write(depth + 1, f"note(({undo}{number}, {name}))")


def write_changes(source: Source, predicate: Predicate) -> None:
    """Write the functions that make a fact of `predicate` true or false, in all tables and in `S`."""
    number, facts = source.number(predicate.name), source.facts(predicate.name)
    names = [f"x{place}" for place in range(len(predicate.parameters))]
    indexes, goals = [], source.goals(predicate.name)
    for places in source.tables.indexes_of(predicate.name):
        key = _key([names[each] for each in places])
        others = _key([name for place, name in enumerate(names) if place not in places])
        indexes.append((source.index(predicate.name, places), key, others))
    for verb in ("put", "cut"):
        source.write(0, f"def {verb}{number}(a):")
        source.write(1, f"{facts}[a] = None" if verb == "put" else f"del {facts}[a]")
        source.write(1, f"S[0] ^= hash(({number}, a))")
        if goals:
            source.write(1, f"S[1] ^= {goals}.get(a, 0)")
        for line in unpacking(names) if indexes else ():
            source.write(1, line)
        for index, key, others in indexes:
            if verb == "cut":
                source.write(1, f"del {index}[{key}][{others}]")
                continue
            source.write(1, f"d = {index}.get({key})")
            source.write(1, f"if d is None: {index}[{key}] = {{{others}: None}}")
            source.write(1, f"else: d[{others}] = None")


def _key(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class Signatures:
    """The tasks and actions of a domain, their numbers, and the numbers of its methods."""

    tasks: Mapping[str, Task | Action]
    numbers: Mapping[str, int]
    methods: Mapping[str, int]


def write_ways(source: Source, task: Task, methods: Iterable[Method], needs: Needs, signatures: Signatures) -> None:
    """Write the generator of the ways to decompose `task` by `methods`, in this order."""
    source.write(0, f"def ways{signatures.numbers[task.name]}(a, rest):")
    source.write(1, "if False: yield")
    for method in methods:
        local, tests = _write_unpacking(source, method.task.args)
        wanted = _wanted_types(source, method, signatures)
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


def _write_unpacking(source: Source, args: tuple[Term, ...]) -> tuple[Local, list[str]]:
    """Write the unpacking of a task's arguments; return their names, and tests for constants and repeated variables."""
    local: Local = {}
    names, tests = [source.local() for _ in args], []
    for name, each in zip(names, args, strict=True):
        if each in local or not each.startswith("?"):
            tests.append(f"{name} == {term(each, local)}")
        else:
            local[each] = name
    for line in unpacking(names):
        source.write(1, line)
    return local, tests


def _wanted_types(source: Source, method: Method, signatures: Signatures) -> Wanted:
    """Return the types that `method` and its subtasks require of its parameters, the narrowest first."""
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
