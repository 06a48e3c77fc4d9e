"""Reads the HDDL sections of task networks: tasks, subtasks, orderings, and constraints on variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError

from htn.model import Network, Order, Subtask, Task, linearise
from planner.errors import PddlError
from planner.language.pddl.pddl_actions import read_effects
from planner.language.pddl.pddl_conditions import read_condition
from planner.language.pddl.pddl_vocabulary import Types, Vocabulary, describe_wrong_type
from planner.language.pddl.sections import read_name, read_parts
from planner.language.pddl.syntax import Source, Tree, pluralize, quote, suggest_grouping, suggest_nearest, warn
from planner.lightweight import Final, dataclass
from planner.model import Atom, Formula, Variable
from planner.model.formulas import conjunction

_KEYS: Final = {":parameters": "variables", ":precondition": "a condition", ":effect": "an effect"}

Bound = Mapping[str, Variable]
"""The variables in scope, by name."""


def read_task(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> Task:
    """Read the compound task in the section `tree`.

    Some files give a precondition and an effect for a task, which summarize its methods for planners that use them
    (Bercher et al., 2016). The reader checks these for mistakes and ignores them.
    """
    name = read_name(words.source, tree, "a task")
    parts = read_parts(words.source, tree, 2, _KEYS, f"the task {quote(name)}")
    parameters = words.types.variables(parts.get(":parameters", []))
    scope = {variable.name: variable for variable in parameters}
    read_condition(parts.get(":precondition", []), words, scope)
    read_effects(parts.get(":effect", []), words, scope, derived)
    return Task(name, parameters)


@dataclass(slots=True)
class Heads:
    """The tasks, and possibly actions, that a place allows: their parameters by name.

    In messages, `what` describes the allowed names, and `hint` how to declare more; `actions` are not allowed there.
    """

    words: Vocabulary
    parameters: Mapping[str, tuple[Variable, ...]]
    what: str = "task or action"
    hint: str = "declare it with '(:task …)' or '(:action …)'"
    actions: Collection[str] = ()

    def atom(self, tree: Tree, bound: Bound) -> Atom:
        """Read the task or action in `tree` with its arguments.

        Raises `PddlError` if it is not declared, for a wrong number of arguments, and for arguments that are unknown or
        never of the required type. An argument that may have another type is allowed.
        """
        source, name = self.words.source, tree[0]
        parameters = self.parameters.get(name)
        if parameters is None:
            raise self._unknown_error(tree)
        if len(parameters) != len(tree) - 1:
            message = f"{quote(name)} has {pluralize(len(tree) - 1, 'argument')} here, expected {len(parameters)}"
            usage = " ".join([name, *map(str, parameters)])
            raise source.error(message, tree, None, f"it is declared as ({usage})")
        terms = read_terms(tree, self.words, bound)
        for index, (term, parameter) in enumerate(zip(terms, parameters, strict=True), start=1):
            self._check_type(tree, index, bound.get(term), parameter.types)
        return Atom(name, terms)

    def _unknown_error(self, tree: Tree) -> PddlError:
        """Return the error for the name at the head of `tree`, which is not allowed there."""
        source, name = self.words.source, tree[0]
        if name in self.actions:
            return source.error(f"{quote(name)} is an action, expected a task", tree, 0, "only tasks have methods")
        if name in self.words.predicates:
            hint = "what has to hold belongs to ':precondition'"
            return source.error(f"{quote(name)} is a predicate, expected a {self.what}", tree, 0, hint)
        hint = suggest_nearest(name, self.parameters) or self.hint
        return source.error(f"the {self.what} {quote(name)} is not declared", tree, 0, hint)

    def _check_type(self, tree: Tree, index: int, variable: Variable | None, wanted: tuple[str, ...]) -> None:
        term = tree[index]
        if variable is None:
            self.words.check_type(tree, index, term, wanted)
        elif not self.words.overlap(variable.types, wanted):
            message = describe_wrong_type(term, variable.types, wanted, f"argument {index} of {quote(tree[0])}")
            raise self.words.source.error(message, tree, index, "no object is of both types")


def read_terms(tree: Tree, words: Vocabulary, bound: Bound) -> tuple[str, ...]:
    """Read the arguments of `tree`. Raises for variables that are not `bound` and for unknown objects."""
    for index, term in enumerate(tree):
        if index and isinstance(term, str) and term[0] == "?" and term not in bound:
            raise unbound_error(words, tree, index, bound)
    return words.terms(tree, bound)


def unbound_error(words: Vocabulary, tree: Tree, index: int, bound: Bound) -> PddlError:
    """Return the error for the variable at item `index` of `tree`, which is not `bound`."""
    hint = suggest_nearest(tree[index], bound) or "declare it in ':parameters'"
    return words.source.error(f"the variable {quote(tree[index])} is not bound", tree, index, hint)


def read_ordering(
    source: Source, tree: Tree, size: int, labels: Mapping[str, int], known: Iterable[Order]
) -> list[Order]:
    """Return the pairs in `known` and in `tree`, each once; `labels` maps labels to places of the `size` subtasks.

    The reader takes `(t1 < t2)` for `(< t1 t2)`. Raises `PddlError` for labels that no task has, and for cycles.
    """
    found: dict[Order, Tree] = dict.fromkeys(known, tree)
    for pair in tree[1:] if tree[:1] == ["and"] else [tree] if tree else []:
        found.setdefault(_read_pair(source, tree, pair, labels), pair)
    try:
        linearise(size, found)
    except CycleError as error:
        cycle = error.args[1]
        names = {place: label for label, place in labels.items()}
        around = " < ".join(names.get(place, f"task {place + 1}") for place in cycle)
        last = found[cycle[-2], cycle[-1]]
        raise source.error(f"the ordering goes round in a circle: {around}", last, None, "remove one of them") from None
    return list(found)


def _read_pair(source: Source, tree: Tree, pair: Tree | str, labels: Mapping[str, int]) -> Order:
    match pair:
        case ["<", str(first), str(second)] | [str(first), "<", str(second)]:
            places = [_find_place(source, pair, label, labels) for label in (first, second)]
            return places[0], places[1]
        case str():
            place = next(index for index, item in enumerate(tree) if item is pair and index)
            raise source.error(f"found {quote(pair)}, expected an ordering such as '(< t1 t2)'", tree, place)
    raise source.error(
        f"found {quote(pair)}, expected an ordering such as '(< t1 t2)'", pair, None, suggest_grouping(pair)
    )


def _find_place(source: Source, pair: Tree, label: str, labels: Mapping[str, int]) -> int:
    if label in labels:
        return labels[label]
    index = next(index for index, item in enumerate(pair) if item is label)
    hint = suggest_nearest(label, labels) or "give the task its label, as in '(t1 (task ?x))'"
    raise source.error(f"no task here has the label {quote(label)}", pair, index, hint)


NETWORK_KEYS: Final = {
    ":ordered-subtasks": "tasks",
    ":subtasks": "tasks",
    ":ordering": "an ordering",
    ":constraints": "constraints",
    ":ordered-tasks": "tasks",
    ":tasks": "tasks",
}
_OTHERS: Final = {":order": "an ordering", ":causal-links": "causal links", ":causallinks": "causal links"}
"""Keywords of other tools."""
_LISTS: Final = tuple(key for key, held in NETWORK_KEYS.items() if held == "tasks")


def read_network_parts(source: Source, tree: Tree, start: int, keys: Mapping[str, str], what: str) -> dict[str, Tree]:
    """Return the lists after `keys` and the keywords of a network in the section `tree`, from item `start` on.

    Raises `PddlError` for a second list of tasks under another keyword.
    """
    parts = read_parts(source, tree, start, {**keys, **NETWORK_KEYS}, what, foreign=_OTHERS)
    if ":order" in parts and ":ordering" not in parts:
        warn(source, tree, tree.index(":order"), "':order' is read as ':ordering'")
        parts[":ordering"] = parts.pop(":order")
    for key in [each for each in _OTHERS if each in parts]:
        warn(source, tree, tree.index(key), f"{quote(key)} is left out: the order says what comes before what")
        del parts[key]
    lists = [key for key in parts if key in _LISTS]
    if len(lists) > 1:
        message = f"found {quote(lists[1])} after {quote(lists[0])} in {what}"
        hint = f"put all tasks after {quote(lists[0])}, and their order after ':ordering'"
        raise source.error(message, tree, tree.index(lists[1]), hint)
    return parts


def read_network(parts: Mapping[str, Tree], heads: Heads, bound: Bound, constraints: Formula) -> Network:
    """Read the network in `parts`, with `constraints`; its tasks are among `heads`, their variables `bound`.

    A sequence may have an additional ordering: both count.
    """
    key = next((key for key in _LISTS if key in parts), ":subtasks")
    subtasks, trees = _read_subtasks(heads, parts.get(key, []), bound)
    ordering = [(place - 1, place) for place in range(1, len(subtasks))] if "ordered" in key else []
    if ":ordering" in parts:
        labels = _read_labels(heads.words.source, subtasks, trees)
        ordering = read_ordering(heads.words.source, parts[":ordering"], len(subtasks), labels, ordering)
    return Network(subtasks, tuple(ordering), constraints)


def _read_subtasks(heads: Heads, tree: Tree, bound: Bound) -> tuple[tuple[Subtask, ...], list[Tree]]:
    """Return the subtasks in the list `tree`, and the place of each."""
    if not tree:
        return (), []
    trees = tree[1:] if tree[0] == "and" else [tree]
    return tuple([_read_subtask(heads, tree, each, bound) for each in trees]), trees


def _read_subtask(heads: Heads, around: Tree, tree: Tree | str, bound: Bound) -> Subtask:
    """Read the subtask `tree`, which is an item of `around` or all of it."""
    source = heads.words.source
    match tree:
        case [str(label), [str(), *_] as task] if label[0] not in "?:":
            return Subtask(heads.atom(task, bound), label)
        case [str(), *_]:
            return Subtask(heads.atom(tree, bound))
        case str():
            place = next(index for index, item in enumerate(around) if item is tree and index)
            message = f"found {quote(tree)}, expected a task with its arguments"
            raise source.error(message, around, place, f"write '({tree})'")
    raise source.error(f"found {quote(tree)}, expected a task with its arguments", tree, None, suggest_grouping(tree))


def _read_labels(source: Source, subtasks: tuple[Subtask, ...], trees: list[Tree]) -> dict[str, int]:
    """Return the place of each labelled subtask. Raises for a repeated label."""
    found: dict[str, int] = {}
    for place, (subtask, tree) in enumerate(zip(subtasks, trees, strict=True)):
        if subtask.label and found.setdefault(subtask.label, place) != place:
            first = source.location(trees[found[subtask.label]])
            message = f"the label {quote(subtask.label)} is given twice; the first is at {first}"
            raise source.error(message, tree, 0, "rename one of them")
    return found


_TYPE_WORDS: Final = frozenset({"sort", "sortof", "type", "typeof"})
"""The spellings of `sortof` in `(sortof ?x - type)`."""


def read_constraints(
    tree: Tree, words: Vocabulary, variables: Iterable[Variable]
) -> tuple[Formula, tuple[Variable, ...]]:
    """Return the equalities and inequalities of `tree`, and `variables` with the types that it demands.

    Raises `PddlError` for other conditions, and if no object has both a variable's type and the demanded type.
    """
    bound = {variable.name: variable for variable in variables}
    found: list[Formula] = []
    for index, part in enumerate(tree[1:] if tree[:1] == ["and"] else [tree] if tree else [], start=1):
        if not isinstance(part, list) or not part or not isinstance(part[0], str):
            message = f"found {quote(part)}, expected a constraint such as '(not (= ?x ?y))'"
            raise words.source.error(message, tree, None if part is tree else index, suggest_grouping(part))
        if part[0] in _TYPE_WORDS and part[0] not in words.arities:
            _narrow(part, words, bound)
        else:
            found.append(_read_relation(part, words, bound))
    return conjunction(found), tuple(bound.values())


def _read_relation(tree: Tree, words: Vocabulary, bound: Bound) -> Formula:
    match tree:
        case (["=", *_] as equation) | ["not", ["=", *_] as equation]:
            read_terms(equation, words, bound)
            return read_condition(tree, words, bound)
        case _:
            message = f"found {quote(tree)}, expected a constraint such as '(not (= ?x ?y))'"
            hint = "what has to hold in a state belongs to ':precondition'"
            raise words.source.error(message, tree, None, hint)


def _narrow(tree: Tree, words: Vocabulary, bound: dict[str, Variable]) -> None:
    """Narrow the type of the variable of `(sortof ?x - type)`."""
    for wanted in words.types.variables(tree, 1):
        before = bound.get(wanted.name)
        if before is None:
            raise unbound_error(words, tree, 1, bound)
        types = _common_types(words.types, before.types, wanted.types)
        if not types:
            message = f"{quote(wanted.name)} is of type '{' or '.join(before.types)}', and no object of that is one of "
            raise words.source.error(
                f"{message}{quote(' or '.join(wanted.types))}", tree, None, "correct one of the types"
            )
        bound[wanted.name] = Variable(wanted.name, types)


def _common_types(types: Types, one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the widest common subtypes; `one` unchanged if it is narrow enough."""
    others = types.below(other)
    if others.issuperset(one):
        return one
    both = types.below(one) & others
    return tuple([name for name in types.declared if name in both and not both & (types.above([name]) - {name})])
