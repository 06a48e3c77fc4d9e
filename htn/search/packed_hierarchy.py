"""A ground hierarchical problem as arrays for kernels, and the guide that estimates with them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise

from htn.grounding.ground_htn import Arrays, GroundHtn
from htn.model import Method, Order, linearise
from htn.search.relaxed_composition import Relaxation, build_relaxation
from htn.search.relaxed_composition_kernel import Demands, Guide
from htn.search.task_stack_kernel import Hierarchy
from planner.heuristics.relaxation_compiled import allocate_exploration, make_achievers, make_reachable
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit.arrays import index, invert, make_hollow, pack_assignments, pack_conditions, words, zeros
from planner.jit.common_kernel import INFINITE
from planner.jit.containers_kernel import Lists
from planner.jit.library import Call
from planner.task.ground_task import Task
from planner.task.numeric_task_compiled import find_limit, pack_comparisons, pack_numbers, pack_values
from planner.task.packed_facts_kernel import Changes, Conditions, Places
from planner.task.packed_states_kernel import Space, Tree
from planner.task.packed_task_compiled import Effects, find_emptied, pack_initial_state, pack_variables, variables_of


class PackedHierarchy:
    """The arrays of `ground` for the kernels `entries`; `check` raises when a limit is reached.

    Kernels do unordered subtasks in the order in which the method lists them.
    """

    def __init__(
        self, ground: GroundHtn, entries: Mapping[str, Call], check: Callable[[], None] = lambda: None
    ) -> None:
        assert ground.arrays is not None
        task = ground.task
        self.ground, self.entries, self.check = ground, entries, check
        self._explorers = 0
        self._arrays: Arrays = ground.arrays
        self.costs = self._arrays.costs
        variable_of = variables_of(task)
        self.packing = pack_variables(task, variable_of, self._emptied_variables(variable_of))
        self._places = Places(
            index([word for word, _, _ in self.packing.places]),
            words([mask for _, mask, _ in self.packing.places]),
            words([bits for _, _, bits in self.packing.places]),
            index(variable_of),
        )
        check()
        self.space = self._space(task)
        self.initial = pack_initial_state(task, self.packing, self.space)
        if ground.numeric is not None and self.fits_words:
            numbers, _ = pack_numbers(ground.numeric, self.packing, find_limit(ground.numeric))
            self.initial += pack_values(numbers.fields, [each.initial for each in ground.numeric.variables])
            comparisons = pack_comparisons(ground.numeric, self.packing)
            self.space = self.space._replace(numbers=numbers, comparisons=comparisons)
        check()
        self._linearisations = [_Linearisation(each) for each in self._arrays.sources]

    def _emptied_variables(self, variable_of: list[int]) -> set[int]:
        """Return the finite-domain variables that actions may leave without a value."""
        arrays, vague = self._arrays, index([0]) * (max(variable_of, default=0) + 1)
        self.entries["mark_emptied_variables"](arrays.adds, arrays.deletes, index(variable_of), vague)
        found = {variable for variable, is_vague in enumerate(vague) if is_vague}
        effects = [effect for each in arrays.conditional.values() for effect in each]
        return found | find_emptied([(effect.adds, effect.deletes) for effect in effects], variable_of)

    def _space(self, task: Task) -> Space:
        arrays = self._arrays
        own, unsure = pack_assignments(arrays.required, arrays.adds, arrays.deletes, self._places, self.entries)
        effects, done = Effects(), 0
        if not arrays.conditional:
            effects.skip(len(arrays.costs))
            space = effects.space(task, self.packing, own, make_hollow(Tree), arrays.costs)
            return self._add_deletes(space, unsure) if unsure.item else space
        for action in sorted({*arrays.conditional, *[a for a, (b, c) in enumerate(pairwise(unsure.start)) if b < c]}):
            effects.skip(action - done)
            effects.take(task.actions[action], self.packing)
            done = action + 1
        effects.skip(len(arrays.costs) - done)
        return effects.space(task, self.packing, own, make_hollow(Tree), arrays.costs)

    def _add_deletes(self, space: Space, unsure: Lists) -> Space:
        """Return `space`, which has no conditional effects, with the `unsure` deletes of facts that may be false."""
        start = index(range(len(unsure.item) + 1))
        word = index(map(self._places.word.__getitem__, unsure.item))
        mask = words(map(self._places.mask.__getitem__, unsure.item))
        bits = words(map(self._places.bits.__getitem__, unsure.item))
        keep, put = words([~each for each in mask]), zeros(len(mask))
        return space._replace(
            actions=space.actions._replace(before=unsure.start, middle=unsure.start[1:]),
            conditions=Conditions(start, word, mask, bits),
            conditional=Changes(start, word, keep, put),
        )

    @cached_property
    def sequences(self) -> Lists:
        """The subtasks of each method in a linearisation of its ordering."""
        arrays = self._arrays
        if all(line.is_as_written for line in self._linearisations):
            return arrays.subtasks
        start, written = arrays.subtasks
        item, method = written[:], 0
        for source, run in groupby(arrays.source):
            line, first = self._linearisations[source], method
            method += sum(1 for _ in run)
            begin, end, many = start[first], start[method], len(line.order)
            for place, subtask in enumerate(line.order):
                item[begin + place : end : many] = written[begin + subtask : end : many]
        return Lists(start, item)

    def order_of(self, method: int) -> list[Order]:
        """Return the ordering of the subtasks of a method, as pairs of places in its sequence."""
        return self._linearisations[self._arrays.source[method]].pairs

    @property
    def widest(self) -> int:
        """The maximum number of subtasks of a method."""
        return max([len(line.order) for line in self._linearisations], default=0)

    @cached_property
    def least(self) -> array[int]:
        """The least cost of each task in any state."""
        return self.least_costs(self.costs)

    def least_costs(self, costs: list[int]) -> array[int]:
        """Return the least cost of each task in any state under these `costs` of actions."""
        arrays = self._arrays
        tasks = len(self.costs) + len(self.ground.compounds)
        users = invert(arrays.subtasks, tasks, self.entries)
        found, methods = words([INFINITE]) * tasks, len(arrays.task)
        most = methods + len(self.costs) + 1
        rooms = index([0]) * methods, zeros(most), index([0]) * most
        self.entries["compute_least_costs"](words(costs), arrays.task, arrays.subtasks, users, found, *rooms)
        return found

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The tasks and methods."""
        arrays = self._arrays
        return Hierarchy(
            pack_conditions(arrays.required, self._places, self.entries),
            pack_conditions(arrays.possible, self._places, self.entries),
            *arrays.methods_of,
            *self.sequences,
            self.least,
            index([len(self.ground.task.facts)]),
        )

    @property
    def fits_words(self) -> bool:
        """Whether kernels can search: sums of numbers fit into 64 bits."""
        return self.ground.numeric is None or find_limit(self.ground.numeric) >= 0

    @cached_property
    def relaxation(self) -> Relaxation:
        """The relaxed composition."""
        found = build_relaxation(self.ground, self._arrays, self.packing, self.entries)
        self.check()
        return found

    def price_relaxation(self, costs: Sequence[int], own: int) -> Relaxed:
        """Return the relaxed composition as arrays, with these `costs` of actions, and `own` for each method."""
        return self.relaxation.arrays._replace(cost=self.relaxation.prices(costs, own))

    @cached_property
    def exploration(self) -> Exploration:
        """Working memory for explorations of the relaxed composition."""
        at_first = self.relaxation.at_first
        return allocate_exploration(self.relaxation.facts, len(at_first), at_first, [1], self.packing)

    @cached_property
    def _demands(self) -> Demands:
        return self.relaxation.demands()

    def demands(self) -> Demands:
        """Return the demands of a search that numbers its relaxed plans from 1, in shared working memory."""
        self._explorers += 1
        shared = self._demands
        return shared._replace(
            marked=zeros(len(shared.marked)),
            own=words([self._explorers]),
            progress=shared.progress._replace(number=zeros(len(shared.progress.number))),
        )


class _Linearisation:
    """A linearisation of the subtasks of a method (None: a single action): `order`, and pairs of places in it."""

    def __init__(self, method: Method | None) -> None:
        ordering = () if method is None else method.network.ordering
        self.order = linearise(1 if method is None else len(method.network.subtasks), ordering)
        place = {subtask: number for number, subtask in enumerate(self.order)}
        self.pairs = [(place[one], place[other]) for one, other in ordering]

    @property
    def is_as_written(self) -> bool:
        """Whether it is the order in which the method lists the subtasks."""
        return self.order == sorted(self.order)


def make_guide(packed: PackedHierarchy, costs: Sequence[int] | None, own: int) -> Guide:
    """Build a guide that counts these `costs` of actions (None: 1 each), and `own` for every method."""
    operators, facts = len(packed.costs) + len(packed.ground.methods), packed.relaxation.facts
    relaxed = packed.price_relaxation([1] * len(packed.costs) if costs is None else costs, own)
    return Guide(
        relaxed, packed.exploration, make_achievers(facts, operators), make_reachable(relaxed), packed.demands()
    )


def blind_guide(packed: PackedHierarchy) -> Guide:
    """Build a guide for a search without an estimate."""
    room: Exploration = make_hollow(Exploration)._replace(state=zeros(packed.packing.words))
    guide: Guide = make_hollow(Guide)._replace(room=room)
    return guide
