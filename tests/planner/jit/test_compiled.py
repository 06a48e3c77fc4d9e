"""The compiled tier against its twins: kernels as they stand, and the same as machine code."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from search_twins import applied, closed, finished, is_goal, perfect, random_task, reachable, replayed, successors
from uncertain_aims import WAYS, aim_of, board_of, compiled

from benchmarks.random_hierarchies import HtnFeatures, random_htn
from htn import kernels
from htn.grounding import instances
from htn.grounding.ground_htn import ground as ground_htn
from htn.search.decomposition_kernel import BLIND, DEFERRED, EAGER
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.progression import Progression
from htn.search.task_networks import NetworkProgression
from planner.heuristics import REGISTRY, relaxation_kernel
from planner.heuristics.relaxation import AXIOM, relax
from planner.heuristics.relaxation_compiled import count_missing, make_exploration, pack_relaxation
from planner.heuristics.relaxation_kernel import h_max
from planner.heuristics.search_guide_compiled import Guide
from planner.jit import library
from planner.jit.arrays import empty_index, words, zeros
from planner.jit.common_kernel import INFINITE, NOTHING
from planner.limits import Limits
from planner.portfolio.compiled_searches import compiled_search
from planner.portfolio.workplace import Workplace
from planner.search import Space
from planner.search.astar_compiled import CompiledAstar
from planner.search.astar_estimates_compiled import KINDS
from planner.search.guided_search_compiled import CompiledLazy, CompiledMcts, CompiledWidth, double_types
from planner.search.open_lists_kernel import Types, first_slot
from planner.search.search_run import Ending, Run
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, Task, bits
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import apply, find_applicable
from planner.task.packed_task_compiled import WORD_BITS, choose_packing, pack_space
from planner.task.state_registry_kernel import Registry, number_of

PLAIN = library.ENTRIES
SEEDS = range(80)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """Plain kernels are slow: orders are made for few states."""
    monkeypatch.setattr("planner.heuristics.abstractions.cost_partitioning_compiled.SAMPLES", 5)


def searched(task: Task, heuristic: str, entries, **sizes) -> Run:
    run = Run()
    assert finished(CompiledAstar(Board(task, entries), heuristic, **sizes).steps(run)) is Ending.EXHAUSTED
    return run


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("heuristic", KINDS)
def test_the_cheapest_plan_is_found(heuristic, seed):
    task = random_task(seed)
    best = perfect(task)[frozenset(task.initial)]
    run = searched(task, heuristic, PLAIN, work=50, room=1)
    assert run.limit == run.lower_bound == best
    if best < INFINITY:
        assert replayed(task, run.plan) == best


@pytest.mark.parametrize("seed", SEEDS)
def test_states_change_as_sets_of_facts_do(seed):
    task = random_task(seed)
    packed = choose_packing(task)
    space = pack_space(task, packed)
    found, stack = empty_index(len(task.actions)), empty_index(len(space.tree.action_start))
    for state in reachable(task):
        room = words(packed.pack(closed(task, state)) * 2)
        count = find_applicable(space.tree, room, 0, found, stack)
        assert sorted(found[:count]) == sorted(number for number, _ in successors(task, state))
        for number in found[:count]:
            apply(space, number, room, 0, packed.words, packed.words)
            assert list(room[packed.words :]) == packed.pack(closed(task, applied(task, state, number)))
        assert holds(space.goal, 0, room, 0) == is_goal(task, state)


@pytest.mark.parametrize("seed", SEEDS)
def test_h_max_is_that_of_the_reference_tier(seed):
    task = random_task(seed)
    packed, relaxed = choose_packing(task), relax(task)
    arrays = pack_relaxation(relaxed, [action.cost for action in task.actions])
    room = make_exploration(relaxed, count_missing(relaxed, packed), [action.cost for action in task.actions], packed)
    twin = REGISTRY["hmax"].build(task, [action.cost for action in task.actions], lambda: None)
    states = list(reachable(task))
    random.Random(seed).shuffle(states)
    for state in states:
        value = h_max(arrays, room, packed.coding, words(packed.pack(closed(task, state))), 0)
        assert min(value, INFINITE) == min(twin(bits(state)), INFINITE)


def guide(task: Task, entries, **options) -> Guide:
    return Guide(Board(task, entries), [action.cost + 1 for action in task.actions], **options)


def improved(task: Task, entries, **options) -> Run:
    run, search = Run(), CompiledLazy(guide(task, entries), **options)
    for weight in (5, 2):
        if finished(search.weighted(run, weight)) is Ending.EXHAUSTED:
            return run
    while finished(search.weighted(run, 1)) is not Ending.EXHAUSTED:
        pass
    return run


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("landmarks", [False, True], ids=["h_FF", "with landmarks"])
def test_lazy_search_finds_a_plan_where_there_is_one(seed, landmarks):
    task, run = random_task(seed), Run()
    best = perfect(task)[frozenset(task.initial)]
    ending = finished(CompiledLazy(guide(task, PLAIN, milestones=landmarks), work=50, room=1).greedy(run))
    assert (ending is Ending.FIRST_PLAN) == (best < INFINITY)
    if best < INFINITY:
        assert replayed(task, run.plan) == run.limit >= best
    else:
        assert run.lower_bound == INFINITY


@pytest.mark.parametrize("seed", SEEDS)
def test_lazy_search_that_is_begun_again_finds_a_plan_where_there_is_one(seed):
    task, run = random_task(seed), Run()
    best = perfect(task)[frozenset(task.initial)]
    ending = finished(CompiledLazy(guide(task, PLAIN), work=1, room=1).restarting(run, 1))
    assert (ending is Ending.FIRST_PLAN) == (best < INFINITY)
    assert run.plan is None or replayed(task, run.plan) == run.limit >= best


@pytest.mark.parametrize("seed", SEEDS)
def test_lazy_search_improves_plans_until_none_is_cheaper(seed):
    task = random_task(seed)
    run = improved(task, PLAIN, work=50, room=1)
    assert run.limit == run.lower_bound == perfect(task)[frozenset(task.initial)]
    assert run.plan is None or replayed(task, run.plan) == run.limit


@pytest.mark.parametrize("seed", SEEDS)
def test_width_search_finds_a_plan_where_there_is_one(seed):
    task, run = random_task(seed), Run()
    best = perfect(task)[frozenset(task.initial)]
    ending = finished(CompiledWidth(guide(task, PLAIN), work=50, room=1, seen=64).steps(run))
    assert (ending is Ending.FIRST_PLAN) == (best < INFINITY)
    assert replayed(task, run.plan) == run.limit >= best if best < INFINITY else run.lower_bound == INFINITY


@pytest.mark.parametrize("seed", SEEDS)
def test_searches_for_a_first_plan_take_turns(seed, monkeypatch):
    monkeypatch.setattr("planner.portfolio.compiled_searches.UNIT", 1)
    monkeypatch.setattr("planner.portfolio.compiled_searches.TURN", 0.0)
    task, run = random_task(seed), Run(by=("greedy", "hff"))
    best = perfect(task)[frozenset(task.initial)]
    steps = compiled_search(Board(task, PLAIN), "greedy", "hff", [1] * len(task.actions), landmarks=True)(run)
    ending = finished(steps)
    assert (ending is Ending.FIRST_PLAN) == (best < INFINITY)
    assert run.by == ("greedy", "hff")
    assert replayed(task, run.plan) == run.limit if best < INFINITY else run.lower_bound == INFINITY


@pytest.mark.parametrize("seed", SEEDS)
def test_a_relaxed_plan_is_a_plan_of_the_relaxation(seed):
    task = random_task(seed)
    search, packed = guide(task, PLAIN, milestones=False), choose_packing(task)
    relaxed = relax(task, [action.cost + 1 for action in task.actions])
    twin = REGISTRY["hmax"].build(task, [action.cost + 1 for action in task.actions], lambda: None)
    states = list(reachable(task))
    random.Random(seed).shuffle(states)
    for number, state in enumerate(states, 1):
        value = search.estimate(packed.pack(closed(task, state)), number)
        assert (value == INFINITE) == (twin(bits(state)) == INFINITY)
        if value < INFINITE:
            actions = [action for action in range(len(task.actions)) if search.last_plan_of(action) == number]
            assert value == sum(task.actions[action].cost + 1 for action in actions)
            assert relaxed.goal in relaxed_closure(relaxed, closed(task, state), actions)


def relaxed_closure(relaxed, state, actions) -> set[int]:
    facts, before = {*state, relaxed.start}, 0
    while len(facts) > before:
        before = len(facts)
        for needed, gained, action in zip(relaxed.preconditions, relaxed.effects, relaxed.actions, strict=True):
            if (action in actions or action == AXIOM) and facts.issuperset(needed):
                facts.update(gained)
    return facts


def test_wide_tasks_take_several_words():
    task = random_task(3, axioms=False)
    many = Task(
        task.facts * 40,
        tuple(tuple(fact + copy * len(task.facts) for fact in facts) for copy in range(40) for facts in task.variables),
        tuple(fact + copy * len(task.facts) for copy in range(40) for fact in task.initial),
        task.goal,
        task.actions,
    )
    packed = choose_packing(many)
    assert packed.words > 1
    assert all(0 <= word < 1 << WORD_BITS for word in packed.pack(many.initial))
    assert searched(many, "lmcut", PLAIN).limit == searched(task, "lmcut", PLAIN).limit


def test_the_registry_numbers_states_once():
    draw = random.Random(1)
    rows = [(draw.randrange(20), draw.randrange(1 << 63)) for _ in range(30)]
    registry, numbers = Registry(zeros(400), empty_index(256)), {}
    for _ in range(300):
        row = draw.choice(rows)
        registry.state[2 * len(numbers)], registry.state[2 * len(numbers) + 1] = row
        assert number_of(registry, len(numbers), 2) == numbers.setdefault(row, len(numbers))


def test_types_of_states_are_found_again_when_there_are_more():
    keys = [steps << 32 | depth for steps in range(8) for depth in range(8)]
    types = Types(empty_index(64), zeros(32), *[empty_index(32) for _ in range(3)])
    types.key[:] = words(keys[:32])
    longer = double_types(types)
    assert list(longer.key[:32]) == keys[:32]
    assert sorted(kind for kind in longer.table if kind != NOTHING) == list(range(32))
    for kind, key in enumerate(keys[:32]):
        slot = first_slot(key, 127)
        while longer.table[slot] != kind:
            assert longer.table[slot] != NOTHING
            slot = (slot + 1) & 127


def test_keys_of_types_are_spread():
    slots = {first_slot(steps << 32 | depth, 4095) for steps in range(32) for depth in range(32)}
    assert len(slots) > 32 * 32 * 0.8


@pytest.mark.parametrize("dearest", [1, 100, 5_000, 1_000_000])
def test_a_queue_by_levels_gives_the_least_first(dearest):
    draw, task = random.Random(2), random_task(0)
    room = make_exploration(relax(task), zeros(0), [dearest] * len(task.actions), choose_packing(task))
    room.value[:] = words([dearest] * len(room.value))
    value, waiting = room.value, set[int]()
    for _ in range(4_000):
        if draw.random() < 0.4:
            limit = draw.randrange(dearest + 1)
            fact, least = (
                relaxation_kernel.pop_level(room, limit),
                min((value[each] for each in waiting), default=dearest),
            )
            assert value[fact] == least < limit if fact != NOTHING else least >= limit
            waiting.discard(fact)
        else:
            fact = draw.randrange(len(value))
            value[fact] = draw.randrange(value[fact] + 1) if fact in waiting else draw.randrange(2 * dearest)
            relaxation_kernel.push_level(room, fact)
            waiting.add(fact)
        if draw.random() < 0.01:
            relaxation_kernel.clear_levels(room)
            waiting.clear()
    assert waiting == {fact for fact in range(len(value)) if room.following[fact] != NOTHING}


def test_a_limit_excludes_dearer_plans():
    task = next(task for task in (random_task(seed) for seed in SEEDS) if 1 < _best(task) < INFINITY)
    run = Run(limit=_best(task))
    assert finished(CompiledAstar(Board(task, PLAIN), "lmcut").steps(run)) is Ending.EXHAUSTED
    assert run.plan is None
    assert run.lower_bound == _best(task)


@pytest.mark.parametrize("dear", [10**13, 10**19])
def test_great_costs_prove_nothing_false(dear, monkeypatch):
    monkeypatch.setattr(library, "_loaded", {"planner": PLAIN})
    monkeypatch.setattr("planner.portfolio.tiers.PATIENCE_LOADED", 0.0)
    for seed in range(30):
        task = random_task(seed)
        actions = tuple([replace(action, cost=action.cost * dear) for action in task.actions])
        run, dearer = Run(), replace(task, actions=actions)
        finished(Workplace(dearer, Space(dearer), run, lambda: None).search("weighted", landmarks=True))
        best = _best(task)
        assert run.limit == run.lower_bound == (best * dear if best < INFINITY else INFINITY)


def _best(task: Task) -> int:
    return perfect(task)[frozenset(task.initial)]


def simulated(task: Task, entries) -> Run:
    run = Run(seed=3)
    finished(CompiledMcts(guide(task, entries, milestones=False), run).steps())
    return run


def decomposed(seed: int, entries, kind: int) -> Run:
    """Search for the decompositions of a random hierarchical problem, total and partial order."""
    ground, run = ground_htn(random_htn(seed, HtnFeatures(partial=False)), Limits()), Run()
    if ground.root is not None:
        board = PackedHierarchy(ground, entries)
        finished(Progression(board, 1, 1, 0, kind=kind, room=1).steps(run))
        finished(NetworkProgression(board, 1, 1, 0).steps(run))
    return run


CACHE = os.environ.get("FORETHOUGHT_CACHE")
"""The cache folder that the user has named."""


def built() -> list[Path]:
    """Return the folders with machine code in the user's cache, which `make test` has made; make what is missing."""
    with pytest.MonkeyPatch.context() as patch:
        if CACHE is None:
            patch.delenv("FORETHOUGHT_CACHE", raising=False)
        else:
            patch.setenv("FORETHOUGHT_CACHE", CACHE)
        place = library.find_cache()
        folders = [library.find_folder(package) for package in ("planner", "htn")]
    made = sum(len([*folder.glob("*.sum")]) for folder in folders)
    if made < len(library.module_names() + library.module_names("htn")):
        environment = os.environ | {"FORETHOUGHT_CACHE": str(place)}
        subprocess.run([sys.executable, "-m", "planner.jit.build"], env=environment, check=True, timeout=900)
    return folders


@pytest.mark.timeout(900)
def test_machine_code_does_what_plain_kernels_do(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    for folder in built():
        shutil.copytree(folder, tmp_path / "kernels" / folder.name)
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path))
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(library, "_loaded", {})
    entries = kernels.load_kernels()
    assert entries is not None
    assert entries.keys() >= {*library.entry_names(), *library.entry_names("htn")}
    for seed in SEEDS:
        task = random_task(seed)
        for heuristic in KINDS:
            mine, twin = searched(task, heuristic, entries), searched(task, heuristic, PLAIN)
            assert mine.plan == twin.plan
            assert (mine.limit, mine.expanded, mine.evaluated, mine.generated) == (
                twin.limit, twin.expanded, twin.evaluated, twin.generated,
            )  # fmt: skip
        mine, twin = improved(task, entries), improved(task, PLAIN)
        for run, used in ((mine, entries), (twin, PLAIN)):
            finished(CompiledWidth(guide(task, used)).steps(run))
        assert (mine.plan, mine.limit, mine.evaluated) == (twin.plan, twin.limit, twin.evaluated)
        mine, twin = simulated(task, entries), simulated(task, PLAIN)
        assert (mine.plan, mine.limit, mine.evaluated, mine.simulations) == (
            twin.plan, twin.limit, twin.evaluated, twin.simulations,
        )  # fmt: skip
        if seed % 10 < 2 and aim_of(seed, way := WAYS[seed % len(WAYS)]).hopes is not None:
            mine, twin = (compiled(board_of(seed, way, each), 40) for each in (entries, PLAIN))
            assert (mine.number, mine.outlook, mine.options) == (twin.number, twin.outlook, twin.options)
        for kind in (EAGER, DEFERRED, BLIND):
            mine, twin = decomposed(seed, entries, kind), decomposed(seed, PLAIN, kind)
            assert (mine.plan, mine.limit, mine.evaluated, mine.expanded, mine.generated) == (
                twin.plan, twin.limit, twin.evaluated, twin.expanded, twin.generated,
            )  # fmt: skip
    twins = [ground_htn(random_htn(seed), Limits()) for seed in SEEDS]
    monkeypatch.setattr(instances, "FEW", 0)
    for seed, twin in zip(SEEDS, twins, strict=True):
        ground = ground_htn(random_htn(seed), Limits())
        assert (ground.root, [*ground.methods], [*ground.task.actions]) == (
            twin.root, [*twin.methods], [*twin.task.actions],
        )  # fmt: skip


def test_without_machine_code_there_is_none_to_load(tmp_path, monkeypatch):
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path))
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(library, "_loaded", {})
    assert library.load() is None
