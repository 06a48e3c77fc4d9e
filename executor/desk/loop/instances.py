"""Random instances of a domain, after a problem that serves as template: more objects, facts of the same structure.

What holds of the template holds of its instances. Mutex groups of the template, lifted from its objects to their types,
say which facts exclude each other and where one of several always holds: a robot is in one room, and a block under one
block or clear. Facts that never change keep their structure: trees stay trees, connected graphs connected, orders
orders, functions functional. Facts and goals are drawn with the frequencies of the template.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Final

import networkx as nx

from executor.desk.loop.static_graphs import Edge, grow_graph, is_acyclic
from executor.desk.loop.templates import Group, Key, Kind, Shape, Template, list_by_kind
from planner.errors import InputError, did_you_mean
from planner.lightweight import replace
from planner.model import Atom, Number, Object, Problem
from planner.model.actions import Done
from planner.model.formulas import atoms_in, conjunction, conjuncts
from planner.model.problem import Goal
from planner.problem_kinds import AnyProblem, is_other_problem

RESTARTS: Final = 200
"""How often the facts of an instance are drawn before it is given up."""
DRAWS: Final = 40
"""How often one fact is drawn before another shape of fact is tried."""


def make_instance(template: Template, name: str, sizes: Mapping[str, int], draw: random.Random) -> AnyProblem:
    """Return a random instance with so many objects of each type in `sizes`, and else as many as the template has.

    Raises `InputError` for sizes that the template gives no objects for, and where its structure leaves no instance.
    """
    objects = choose_objects(template, sizes)
    for _ in range(RESTARTS):
        found = _Instance(template, objects, draw).make(name)
        if found is not None:
            return found
    hint = "other sizes may do, or a template with more objects of these types"
    raise InputError(f"no facts for such sizes keep the structure of problem {template.problem.name!r}", hint=hint)


def choose_objects(template: Template, sizes: Mapping[str, int]) -> tuple[tuple[Object, Kind], ...]:
    """Return the objects of an instance with their kinds: the first ones of the template, and new ones after them."""
    constants = {each.name for each in template.classical.domain.constants}
    own = list_by_kind(
        {each.name: template.kinds[each.name] for each in template.classical.objects if each.name not in constants}
    )
    types = {each.name: each.types for each in template.classical.objects}
    known = {"+".join(kind): kind for kind in own}
    for type_ in sizes:
        if type_ not in known:
            hint = did_you_mean(type_, known) or f"it has objects of {', '.join(known) or 'no type'}"
            raise InputError(f"problem {template.problem.name!r} has no object of the type {type_!r} itself", hint=hint)
    taken = {*template.kinds}
    found: list[tuple[Object, Kind]] = []
    for kind, names in own.items():
        size = sizes.get("+".join(kind), len(names))
        more = _new_names(names, kind[0], size - len(names), taken)
        found += [(Object(each, types[names[0]]), kind) for each in (*names[:size], *more)]
    return tuple(found)


def _new_names(names: Sequence[str], type_: str, count: int, taken: set[str]) -> list[str]:
    """Return new names: numbered as those of the template are, or by the type."""
    stems = {match[1] for each in names if (match := re.fullmatch(r"(.*?)\d+", each))}
    numbered = all(re.fullmatch(r".*\d", each) for each in names)
    stem = stems.pop() if len(stems) == 1 and numbered else type_.lower()
    found: list[str] = []
    number = len(names)
    while len(found) < count:
        number += 1
        if (name := f"{stem}{number}") not in taken:
            taken.add(name)
            found.append(name)
    return found


class _Instance:
    """Draws one instance; `make` returns None where the draw came to a dead end."""

    def __init__(self, template: Template, objects: tuple[tuple[Object, Kind], ...], draw: random.Random) -> None:
        self._template = template
        self._draw = draw
        self._own = tuple([each for each, _ in objects])
        self._kinds = {each.name: template.kinds[each.name] for each in template.classical.domain.constants}
        self._kinds |= {each.name: kind for each, kind in objects}
        self._objects = list_by_kind(self._kinds)
        self._unchanged = {kind for kind, names in template.objects.items() if self._objects.get(kind) == names}

    def make(self, name: str) -> AnyProblem | None:
        """Return the instance, which needs at least a step if the template does."""
        initial = self._draw_initial()
        if initial is None:
            return None
        source = self._template.classical
        goal = self._draw_goal(source.goal)
        if goal is None or self._is_reached(goal, initial):
            return None
        classical = replace(
            self._keep_known(source),
            name=name,
            objects=self._own,
            initial=tuple(self._sort(initial, source.initial)),
            goal=goal,
            values=self._draw_values(initial),
        )
        return self._with_tasks(classical)

    def _sort(self, atoms: Iterable[Atom], like: Iterable[Atom]) -> list[Atom]:
        """Sort atoms by predicate as in the template, and by their objects."""
        predicates = {name: place for place, name in enumerate(dict.fromkeys(atom.predicate for atom in like))}
        places = {name: place for place, name in enumerate(self._kinds)}
        return sorted(atoms, key=lambda atom: (predicates[atom.predicate], [places[arg] for arg in atom.args]))

    def _is_reached(self, goal: Goal, initial: Iterable[Atom]) -> bool:
        """Return whether a goal of facts holds from the start, unless the template is like that, too."""
        facts, source = set(initial), self._template.classical
        parts, before = list(conjuncts(goal.hard)), list(conjuncts(source.goal.hard))
        holds = all(part in facts for part in parts)
        return bool(parts) and holds and not all(part in source.initial for part in before)

    def _draw_initial(self) -> list[Atom] | None:
        """Draw the initial facts: those that never change, then those of groups, then all others."""
        template = self._template
        groups = [group for group in template.groups if template.is_possible(group)]
        found: dict[Atom, None] = {}
        grouped: list[Shape] = []
        for shape in template.facts:
            if shape[0] not in template.changing:
                drawn = self._draw_static(shape)
                if drawn is None:
                    return None
                found.update(dict.fromkeys(drawn))
            elif any(group.place_in(shape) is not None for group in groups):
                grouped.append(shape)
            else:
                found.update(dict.fromkeys(self._draw_by_frequency(shape)))
        drawn = self._cover(grouped, groups, template.facts)
        return None if drawn is None else [*found, *drawn]

    def _draw_static(self, shape: Shape) -> list[Atom] | None:
        """Draw the facts of a shape that no action changes."""
        kinds, facts = shape[1], self._template.facts[shape]
        if all(kind in self._unchanged for kind in kinds):
            return facts
        if any(not self._objects.get(kind) for kind in kinds):
            return []
        twins = [place for place, kind in enumerate(kinds) if kinds.count(kind) == 2]
        if len(twins) == 2:
            return self._draw_graphs(shape, (twins[0], twins[1]))
        groups = self._template.functional_groups(shape)
        if groups:
            return self._cover([shape], groups[:1], self._template.facts, spread=True)
        return self._draw_by_frequency(shape)

    def _draw_graphs(self, shape: Shape, twins: tuple[int, int]) -> list[Atom]:
        """Draw a relation between objects of one kind: a graph for each choice of the other arguments."""
        predicate, kinds = shape
        one, other = twins
        graphs: dict[Key, list[Edge]] = {}
        for fact in self._template.facts[shape]:
            rest = tuple([arg for place, arg in enumerate(fact.args) if place not in twins])
            graphs.setdefault(rest, []).append((fact.args[one], fact.args[other]))
        nodes = self._template.objects[kinds[one]], self._objects[kinds[one]]
        found: list[Atom] = []
        for rest in product(*[self._objects[kind] for place, kind in enumerate(kinds) if place not in twins]):
            edges = graphs.get(rest) or self._draw.choice(list(graphs.values()))
            for edge in grow_graph(edges, *nodes, self._draw):
                others = iter(rest)
                args = [
                    edge[0] if place == one else edge[1] if place == other else next(others)
                    for place in range(len(kinds))
                ]
                found.append(Atom(predicate, tuple(args)))
        return found

    def _draw_by_frequency(self, shape: Shape) -> list[Atom]:
        """Draw as many facts of a shape as the template has for its size; each object that must occur does."""
        predicate, kinds = shape
        facts = self._template.facts[shape]
        if any(not self._objects.get(kind) for kind in kinds):
            return []
        possible = _count(self._objects, kinds)
        was = _count(self._template.objects, kinds)
        growth = max((self._growth(kind) for kind in kinds), default=1.0)
        is_single = len(facts) == 1 < was  # such as the one depot
        count = len(facts) if is_single else min(possible, max(1, round(len(facts) * growth)))
        count = possible if len(facts) == was else count
        if count == possible:
            return [Atom(predicate, args) for args in product(*[self._objects[kind] for kind in kinds])]
        found: dict[Atom, None] = {}
        for place, kind in enumerate(kinds):
            if {fact.args[place] for fact in facts} == {*self._template.objects[kind]}:
                missing = {*self._objects[kind]} - {fact.args[place] for fact in found}
                found.update((self._draw_fact(shape, {place: each}), None) for each in sorted(missing))
        for _ in range(DRAWS * count):
            if len(found) >= count:
                break
            found[self._draw_fact(shape, {})] = None
        return list(found)

    def _growth(self, kind: Kind) -> float:
        return len(self._objects.get(kind, ())) / len(self._template.objects[kind])

    def _draw_fact(self, shape: Shape, fixed: Mapping[int, str]) -> Atom:
        predicate, kinds = shape
        args = [fixed.get(place) or self._draw.choice(self._objects[kind]) for place, kind in enumerate(kinds)]
        return Atom(predicate, tuple(args))

    def _cover(
        self,
        shapes: Sequence[Shape],
        groups: Sequence[Group],
        facts: Mapping[Shape, Sequence[Atom]],
        *,
        spread: bool = False,
    ) -> list[Atom] | None:
        """Draw facts of `shapes` so that each key of an exact group has one fact, and each other key one at most.

        Return None at a dead end. With `spread`, the objects in other places occur equally often, as far as that goes.
        """
        cover = _Cover(self._kinds, groups, {shape for shape in shapes if self._is_ordered(facts[shape])})
        weights = {shape: len(facts[shape]) for shape in shapes}
        wanted = [
            (group, key)
            for group in groups
            for key in product(*[self._objects.get(kind, ()) for kind in group.kinds])
            if group.is_exact or self._draw.random() < self._share(group, facts)
        ]
        self._draw.shuffle(wanted)
        queues = {kind: self._draw.sample(names, len(names)) for kind, names in self._objects.items()}
        for group, key in wanted:
            if (group, key) in cover.taken:
                continue
            if not self._cover_key(cover, group, key, weights, queues if spread else None) and group.is_exact:
                return None
        return list(cover.facts)

    def _share(self, group: Group, facts: Mapping[Shape, Sequence[Atom]]) -> float:
        """Return the share of the template's keys of a group that have a fact."""
        keys = {group.key_of(fact, self._template.kinds) for each in facts.values() for fact in each} - {None}
        return len(keys) / max(1, _count(self._template.objects, group.kinds))

    def _cover_key(
        self,
        cover: _Cover,
        group: Group,
        key: Key,
        weights: Mapping[Shape, int],
        queues: dict[Kind, list[str]] | None,
    ) -> bool:
        """Add a random fact for one key; return whether there is one."""
        options = {shape: weight for shape, weight in weights.items() if group.place_in(shape) is not None}
        while options:
            shape = self._draw.choices(list(options), list(options.values()))[0]
            fixed = dict(zip(group.place_in(shape) or (), key, strict=True))
            if all(self._objects.get(kind) for kind in shape[1]):
                for _ in range(DRAWS):
                    if queues is not None:
                        fixed |= self._next_in_turn(shape, fixed.keys(), queues)
                    if cover.add(self._draw_fact(shape, fixed), shape):
                        return True
                    if queues is not None:
                        fixed = dict(zip(group.place_in(shape) or (), key, strict=True))
            del options[shape]
        return False

    @staticmethod
    def _next_in_turn(shape: Shape, fixed: Iterable[int], queues: dict[Kind, list[str]]) -> dict[int, str]:
        """Return objects for the free places of a fact, each object in its turn."""
        found = {}
        for place, kind in enumerate(shape[1]):
            if place not in fixed:
                queues[kind].append(queues[kind].pop(0))
                found[place] = queues[kind][-1]
        return found

    @staticmethod
    def _is_ordered(facts: Sequence[Atom]) -> bool:
        """Return whether facts with two places are an acyclic relation."""
        return bool(facts) and len(facts[0].args) == 2 and is_acyclic((fact.args[0], fact.args[1]) for fact in facts)

    def _draw_goal(self, goal: Goal) -> Goal | None:
        """Draw the facts of the goal; what is no fact stays, where its objects do."""
        parts = list(conjuncts(goal.hard))
        facts = self._template.group_by_shape(part for part in parts if isinstance(part, Atom))
        others = [part for part in parts if not isinstance(part, Atom) and self._knows(part)]
        template = self._template
        groups = [replace(each, is_exact=False) for each in template.groups if template.is_possible(each)]
        cover = _Cover(self._kinds, groups, {shape for shape in facts if self._is_ordered(facts[shape])})
        for shape, wanted in facts.items():
            if not self._draw_goal_facts(cover, shape, wanted):
                return None
        ordered = self._sort(cover.facts, [part for part in parts if isinstance(part, Atom)])
        return Goal(conjunction([*ordered, *others]), tuple(each for each in goal.soft if self._knows(each.condition)))

    def _draw_goal_facts(self, cover: _Cover, shape: Shape, wanted: Sequence[Atom]) -> bool:
        """Add as many goals of a shape as the template has for its size, where they go together; return if they do.

        No more than the template has must go together: a robot is in one place, in a world of any size.
        """
        added = 0
        for args in self._draw_rows(shape, wanted):
            if any(cover.add(self._draw_fact(shape, args), shape) for _ in range(DRAWS)):
                added += 1
            elif added < len(wanted):
                return False
        return True

    def _draw_rows(self, shape: Shape, wanted: Sequence[Atom]) -> Iterator[dict[int, str]]:
        """Yield for each goal or task of a shape the settled arguments: whom it is about, and constant ones."""
        kinds = shape[1]
        if any(not self._objects.get(kind) for kind in kinds):
            return
        distinct = [place for place in range(len(kinds)) if len({atom.args[place] for atom in wanted}) == len(wanted)]
        main = max(distinct, key=lambda place: (self._growth(kinds[place]), -place), default=None)
        constant = {
            place: wanted[0].args[place]
            for place in range(len(kinds))
            if len(wanted) > 1
            and len({atom.args[place] for atom in wanted}) == 1
            and wanted[0].args[place] in self._kinds
        }
        if main is None:
            yield from (constant for _ in wanted)
            return
        objects = self._objects[kinds[main]]
        count = min(len(objects), max(1, round(len(wanted) * self._growth(kinds[main]))))
        for each in self._draw.sample(objects, count):
            yield {**constant, main: each}

    def _draw_values(self, initial: Sequence[Atom]) -> dict[Atom, Number]:
        """Draw the values of functions among those of the template, for the same arguments as there."""
        found: dict[Atom, Number] = {}
        terms = self._template.group_by_shape(self._template.classical.values)
        for shape, known in terms.items():
            values = {term: self._template.classical.values[term] for term in known}
            is_static = shape[0] not in self._changing_functions
            if is_static and all(kind in self._unchanged for kind in shape[1]):
                found |= values
                continue
            is_symmetric = len(shape[1]) == 2 and all(
                values.get(Atom(shape[0], term.args[::-1])) == value for term, value in values.items()
            )
            for args in self._argument_rows(shape, known, initial):
                mirrored = found.get(Atom(shape[0], args[::-1])) if is_symmetric else None
                found[Atom(shape[0], args)] = self._draw.choice(list(values.values())) if mirrored is None else mirrored
        return found

    @cached_property
    def _changing_functions(self) -> frozenset[str]:
        from planner.model.domain import numeric_fluents

        return numeric_fluents(self._template.classical.domain)

    def _argument_rows(self, shape: Shape, known: Sequence[Atom], initial: Iterable[Atom]) -> Iterable[tuple[str, ...]]:
        """Return the arguments for which a function has values: those of a relation, all, or all different ones."""
        rows = {term.args for term in known}
        for other, facts in self._template.facts.items():
            if other[1] == shape[1] and len(shape[1]) > 1 and {fact.args for fact in facts} == rows:
                return [fact.args for fact in initial if fact.predicate == other[0]]
        every = product(*[self._objects.get(kind, ()) for kind in shape[1]])
        has_equal = any(len({*row}) < len(row) for row in rows)
        return [row for row in every if has_equal or len({*row}) == len(row)]

    def _knows(self, formula: Any) -> bool:
        """Return whether all objects that a formula or step names are those of the instance."""
        atoms: Iterable[Atom] = [formula.action] if isinstance(formula, Done) else atoms_in(formula)
        return all(arg in self._kinds or arg not in self._template.kinds for atom in atoms for arg in atom.args)

    def _keep_known(self, source: Problem) -> Problem:
        """Return the template without what it says of objects that the instance lacks."""
        return replace(
            source,
            unknown=tuple([each for each in source.unknown if self._knows(each)]),
            likely={fact: chance for fact, chance in source.likely.items() if self._knows(fact)},
            constraints=tuple([each for each in source.constraints if all(map(self._knows, each.happenings))]),
            timed=tuple([x for x in source.timed if all(map(self._knows, x.provides))]),
            due=tuple([each for each in source.due if self._knows(each.condition)]),
            ran=tuple([each for each in source.ran if self._knows(each)]),
            entities={},
        )

    def _with_tasks(self, classical: Problem) -> AnyProblem:
        """Return the instance of a hierarchical problem, with tasks drawn as goals are; else `classical` itself."""
        if not is_other_problem(self._template.problem):
            return classical
        source: Any = self._template.problem
        from htn.model import Network, Subtask

        network: Network = source.network
        ground = [each.task for each in network.subtasks if all(arg in self._template.kinds for arg in each.task.args)]
        tasks: list[Atom] = []
        for shape, wanted in self._template.group_by_shape(ground).items():
            tasks += [self._draw_fact(shape, args) for args in self._draw_rows(shape, wanted)]
        others = [each.task for each in network.subtasks if each.task not in ground]
        subtasks = tuple([Subtask(each) for each in (*tasks, *others)])
        is_chain = network.is_sequence and len(network.subtasks) > 1
        ordering = tuple([(place, place + 1) for place in range(len(subtasks) - 1)]) if is_chain else ()
        changed = Network(subtasks, ordering, network.constraints)
        found: AnyProblem = replace(source, classical=classical, network=changed)
        return found


class _Cover:
    """Facts that keep groups, and acyclic relations acyclic."""

    def __init__(self, kinds: Mapping[str, Kind], groups: Sequence[Group], ordered: set[Shape]) -> None:
        self.taken: set[tuple[Group, Key]] = set()
        self.facts: dict[Atom, None] = {}
        self._kinds = kinds
        self._groups = groups
        self._orders = {shape: nx.DiGraph() for shape in ordered}

    def add(self, fact: Atom, shape: Shape) -> bool:
        """Add `fact` if that keeps everything; return whether it does."""
        keys = [(group, key) for group in self._groups if (key := group.key_of(fact, self._kinds)) is not None]
        if fact in self.facts or any(each in self.taken for each in keys):
            return False
        if shape in self._orders and not self._add_edge(self._orders[shape], fact.args[0], fact.args[1]):
            return False
        self.taken.update(keys)
        self.facts[fact] = None
        return True

    @staticmethod
    def _add_edge(graph: nx.DiGraph, one: str, other: str) -> bool:
        """Add an edge unless it closes a cycle; return whether it is there."""
        if one == other or (one in graph and other in graph and nx.has_path(graph, other, one)):
            return False
        graph.add_edge(one, other)
        return True


def _count(objects: Mapping[Kind, Sequence[str]], kinds: Iterable[Kind]) -> int:
    found = 1
    for kind in kinds:
        found *= len(objects.get(kind, ()))
    return found
