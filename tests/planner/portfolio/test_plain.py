"""Plain search: the same counts in every run, whatever the clock says, with and without machine code."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from decimal import Decimal, localcontext

import pytest
from kept_machine_code import find_machine_code
from search_twins import finished, perfect, random_task, replayed

from htn.problem_kind import validate as verify
from planner import Status, StoppedBy, improve, load, solve, validate
from planner.errors import InputError
from planner.grounding.ground import ground
from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions
from planner.jit import library
from planner.limits import Limits, never
from planner.portfolio.portfolio import run_plain_search
from planner.portfolio.workplace import COMPILED, Workplace
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.astar_compiled import CompiledAstar
from planner.search.expansion import Expansion, ExpansionWatch
from planner.search.mcts import GRAIN, LOGARITHMS
from planner.search.search_run import TIERS
from planner.search.symbolic import is_installed
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY

GRIPPER = """(define (domain gripper) (:requirements :strips :typing :action-costs) (:types room ball hand)
  (:predicates (here ?r - room) (at ?b - ball ?r - room) (free ?h - hand) (in ?b - ball ?h - hand))
  (:functions (total-cost) - number)
  (:action move :parameters (?a ?b - room) :precondition (here ?a)
    :effect (and (here ?b) (not (here ?a)) (increase (total-cost) 0.5)))
  (:action take :parameters (?b - ball ?r - room ?h - hand) :precondition (and (here ?r) (at ?b ?r) (free ?h))
    :effect (and (in ?b ?h) (not (at ?b ?r)) (not (free ?h)) (increase (total-cost) 1)))
  (:action drop :parameters (?b - ball ?r - room ?h - hand) :precondition (and (here ?r) (in ?b ?h))
    :effect (and (at ?b ?r) (free ?h) (not (in ?b ?h)) (increase (total-cost) 1))))"""
BALLS = """(define (problem balls) (:domain gripper) (:objects a b c - room one two three four - ball left right - hand)
  (:init (here a) (at one a) (at two a) (at three c) (at four b) (free left) (free right) (= (total-cost) 0))
  (:goal (and (at one b) (at two c) (at three b))) (:metric minimize (total-cost)))"""
SHIPPED = ["courier", "elevator", "runbook"]
HIERARCHIES = ["household", "incident", "travel"]
PAIRS = [
    (search, heuristic)
    for search, algorithm in SEARCHES.items()
    for heuristic in (HEURISTICS if algorithm.heuristic else ("",))
    if search != "symbolic"
]
COUNTED = (
    "expanded",
    "evaluated",
    "generated",
    "stored",
    "stored_bytes",
    "simulations",
    "limit",
    "lower_bound",
    "plan",
)
SIMULATIONS = 60
"""Enough for trees of several weights."""


@pytest.fixture(autouse=True)
def small_abstractions(monkeypatch):
    """Preparing abstractions takes some hundred million steps of kernels, which are slow in plain Python."""
    for name, value in (("SAMPLES", 10), ("REFINING", 20_000), ("BUILDING", 50_000), ("SHARING", 50_000)):
        monkeypatch.setattr(f"planner.heuristics.abstractions.cost_partitioning_compiled.{name}", value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gripper")
    paths = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(paths, (GRIPPER, BALLS), strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


@pytest.fixture
def hasty_clock(monkeypatch):
    """Let clocks jump by seconds at some times and not at all at others, as on a busy machine."""
    now = itertools.accumulate(itertools.cycle([0.0, 0.0, 3.0, 0.001, 0.0, 60.0]))
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, lambda: next(now))


def counts(result):
    """Return all that must be the same in each run, in JSON."""
    data = {name: value for name, value in result.to_dict().items() if name != "history"}
    data["statistics"] = {
        name: value
        for name, value in data["statistics"].items()
        if not name.endswith("_seconds") and name != "machine_code"
    }
    return data


def searched(task, search, heuristic, *, watch=None, seed=0):
    """Run a plain search of a ground task; return its run."""
    run = Run(seed=seed, most_simulations=SIMULATIONS, watch=watch)
    place = Workplace(task, Space(task), run, never, plain=True, pruning=())
    steps, _ = run_plain_search(place, search, heuristic or None, ())
    finished(steps)
    return run


def counted(run):
    return {name: getattr(run, name) for name in COUNTED}


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
def test_a_callback_is_told_of_each_expansion_and_changes_nothing(search, heuristic):
    for seed in range(8):
        task, told = random_task(seed), list[Expansion]()
        alone = searched(task, search, heuristic)
        watched = searched(task, search, heuristic, watch=ExpansionWatch(None, told.append))
        assert counted(watched) == counted(alone)
        assert [each.number for each in told] == [*range(1, alone.expanded + 1)]
        assert all(each.g >= 0 and (each.h is None or each.h < INFINITY) for each in told)
        assert alone.tiers == ("interpreted" if (search, heuristic) in COMPILED else "reference",)
        if alone.plan is not None:
            assert replayed(task, alone.plan) == alone.limit >= perfect(task)[frozenset(task.initial)]


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
def test_a_limit_on_expansions_is_kept(search, heuristic, files):
    problem = load(*files)
    whole = solve(problem, plain=True, search=search, heuristic=heuristic or None, time_limit=None, expansion_limit=60)
    assert whole.statistics.expanded <= 60
    for most in (1, 2, 7, 30):
        if most < whole.statistics.expanded:
            part = solve(
                problem, plain=True, search=search, heuristic=heuristic or None, time_limit=None, expansion_limit=most
            )
            assert part.statistics.expanded == most
            assert part.stopped_by is StoppedBy.EXPANSIONS
            assert part.plan is None or validate(problem, part.plan).valid


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
def test_the_first_plan_is_the_same_with_a_callback(search, heuristic, files):
    problem, told = load(*files), []
    options = {"plain": True, "search": search, "heuristic": heuristic or None, "mode": "first", "time_limit": None}
    options["expansion_limit"] = 300
    alone, watched = solve(problem, **options), solve(problem, **options, on_expansion=told.append)
    assert counts(watched) == counts(alone)
    assert len(told) == alone.statistics.expanded


def test_costs_that_kernels_cannot_count_end_a_search_with_a_reason(tmp_path, files):
    dear = tmp_path / "dear.pddl"
    dear.write_text(GRIPPER.replace("(total-cost) 0.5", "(total-cost) 40000000"))
    found = solve(load(str(dear), files[1]), plain=True, time_limit=None)
    assert found.status is Status.UNKNOWN
    assert "cost more than the kernels" in found.reason


@pytest.mark.parametrize(
    "pruning", [("h2",), ("stubborn",), ("symmetries",), ("h2", "stubborn", "symmetries")], ids="+".join
)
@pytest.mark.parametrize("heuristic", ["blind", "lmcut", "scp"])
@pytest.mark.usefixtures("hasty_clock")
def test_pruning_that_is_asked_for_keeps_counts_the_same_and_plans_optimal(heuristic, pruning, files):
    problem, told = load(*files), []
    options = {"plain": True, "heuristic": heuristic, "pruning": pruning, "time_limit": None}
    one, other = solve(problem, **options), solve(problem, **options, on_expansion=told.append)
    assert counts(one) == counts(other)
    assert len(told) == one.statistics.expanded
    assert one.status is Status.OPTIMAL
    bare = solve(problem, plain=True, heuristic=heuristic, time_limit=None)
    assert bare.cost == one.cost
    assert one.statistics.expanded <= bare.statistics.expanded


@pytest.mark.parametrize("domain", SHIPPED)
@pytest.mark.parametrize("search", [*SEARCHES, None])
@pytest.mark.parametrize("mode", ["anytime", "first"])
def test_the_clock_changes_nothing(domain, search, mode, request):
    if search == "symbolic" and not is_installed():
        pytest.skip("no OxiDD")
    problem = load(domain)
    options = {"plain": True, "search": search, "mode": mode, "time_limit": None}
    options |= {"simulations": SIMULATIONS} if search == "mcts" else {}
    before = solve(problem, **options)
    assert before.plan is None or validate(problem, before.plan).valid
    if search != "symbolic":  # the process that searches has a clock of its own
        request.getfixturevalue("hasty_clock")
    assert counts(solve(problem, **options)) == counts(before)


def test_one_search_is_selected_for_each_mode(files):
    problem = load(*files)
    for mode, names in (("anytime", ("astar", "lmcut")), ("optimal", ("astar", "lmcut")), ("first", ("greedy", "hff"))):
        found = solve(problem, plain=True, mode=mode, time_limit=None)
        assert (found.statistics.search, found.statistics.heuristic) == names
        assert found.statistics.tier == "interpreted"
        assert validate(problem, found.expect_plan()).valid
    assert solve(problem, plain=True, search="breadth", time_limit=None).statistics.tier == "reference"


def run_command(*arguments, **environment):
    command = [sys.executable, "-m", "planner.cli", "solve", *arguments, "--plain", "--json", "-q", "--time-limit=none"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 11), done.stderr
    data = json.loads(done.stdout)
    data["statistics"] = {name: value for name, value in data["statistics"].items() if "seconds" not in name}
    data.pop("history", None)
    return data


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--search greedy",
        "--search bfws",
        "--search mcts --simulations 60",
        "--search weighted --expansion-limit 300",
        "--heuristic hadd",
        "--search breadth",
        "--pruning h2 --pruning symmetries --pruning stubborn",
        pytest.param("--search symbolic", marks=pytest.mark.skipif(not is_installed(), reason="no OxiDD")),
    ],
)
def test_neither_hashes_nor_processors_change_a_count(options, files):
    found = [run_command(*files, *options.split(), PYTHONHASHSEED=seed) for seed in ("0", "1", "4711")]
    assert found[0] == found[1] == found[2]


def test_hashes_do_not_change_abstractions():
    found = [run_command("courier", "--heuristic", "scp", PYTHONHASHSEED=seed) for seed in ("0", "1")]
    assert found[0] == found[1]


SYMMETRIES = """
import sys
from planner import load
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.pruning.symmetries import Structure, find_interchanges
print(find_interchanges(Structure(ground(load(*sys.argv[1:]), Limits())), seconds=1e9))
"""


def test_hashes_do_not_change_the_order_of_symmetries(files):
    command = [sys.executable, "-c", SYMMETRIES, *files]
    found = {
        subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True
        ).stdout
        for seed in range(4)
    }
    assert len(found) == 1
    assert len(next(iter(found))) > 10


def test_a_callback_does_not_move_the_renewal_of_abstractions(files, monkeypatch):
    monkeypatch.setattr("planner.search.astar_estimates_compiled.FIRST_RENEWAL", 400)
    task, renew, found = ground(load(*files), Limits()), Partitions.renew, []
    for watch in (None, ExpansionWatch(None, lambda _: None)):
        run, renewed = Run(watch=watch), []

        def note(self, states, work, run=run, renewed=renewed):
            renewed.append(run.expanded)
            return renew(self, states, work)

        monkeypatch.setattr(Partitions, "renew", note)
        search = CompiledAstar(Board(task, library.ENTRIES), "scp", work=100, room=1, pruning=())
        assert finished(search.steps(run)) is Ending.EXHAUSTED
        found.append((counted(run), renewed))
    assert found[0] == found[1]
    assert len(renewed) > 1


@pytest.mark.parametrize("search", [None, "depth-first", "greedy", "weighted", "astar", "uniform"])
@pytest.mark.parametrize("domain", HIERARCHIES)
@pytest.mark.usefixtures("hasty_clock")
def test_hierarchical_problems_are_searched_plainly(domain, search):
    problem = load(domain)
    one, other = (solve(problem, plain=True, search=search, time_limit=None) for _ in range(2))
    assert counts(one) == counts(other)
    assert verify(problem, one.expect_plan()).valid
    assert one.statistics.tier == ("reference" if search == "depth-first" else "interpreted")


def test_hashes_do_not_change_hierarchical_searches():
    for search in ("depth-first", "astar"):
        found = [run_command("household", "--search", search, PYTHONHASHSEED=seed) for seed in ("0", "1")]
        assert found[0] == found[1]


def test_machine_code_changes_nothing_but_the_tier(monkeypatch, files):
    place = find_machine_code()
    if place is None:
        pytest.skip("the machine code of these kernels has not been made")
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", place / "nothing")

    def with_machine_code(cache):
        monkeypatch.setenv("FORETHOUGHT_CACHE", str(cache))
        monkeypatch.setattr(library, "_loaded", {})
        found = {}
        for search, heuristic in sorted(COMPILED):
            for seed in range(12):
                run = searched(random_task(seed), search, heuristic, seed=seed % 3)
                found[search, heuristic, seed] = counted(run)
            for pruning in [(), ("h2", "stubborn", "symmetries")] if search == "astar" else [()]:
                told = []
                result = solve(
                    load(*files), plain=True, search=search, heuristic=heuristic or None, pruning=pruning,
                    time_limit=None, expansion_limit=400, on_expansion=lambda each: told.append(str(each)),  # noqa: B023
                )  # fmt: skip
                found[search, heuristic, pruning] = counts(result), told
        for domain in HIERARCHIES:
            for search in ("greedy", "astar"):
                result = solve(load(domain), plain=True, search=search, time_limit=None)
                found[domain, search] = counts(result), []
        return found

    plain, compiled = with_machine_code(place / "nothing"), with_machine_code(place)
    for key, value in compiled.items():
        if isinstance(value, tuple):
            assert value[0]["statistics"].pop("tier") == "compiled"
            assert plain[key][0]["statistics"].pop("tier") == "interpreted"
        assert value == plain[key]


def test_the_seed_reaches_what_draws(files):
    problem = load(*files)
    for search, heuristic in (("mcts", "hff"), ("greedy", "hff"), ("weighted", "hff"), ("astar", "scp")):
        options = {"plain": True, "search": search, "heuristic": heuristic, "time_limit": None, "expansion_limit": 120}
        found = []
        for seed in (0, 0, 1, 2, 3, 4, 5):
            told = []
            result = solve(problem, seed=seed, **options, on_expansion=lambda each: told.append((each.h, each.state)))  # noqa: B023
            found.append((counts(result), told))
        assert found[0] == found[1]
        assert any(each != found[0] for each in found[2:]), search


def test_expansions_say_what_is_expanded(files):
    told = []
    found = solve(load(*files), plain=True, time_limit=None, on_expansion=told.append)
    first, last = told[0], told[-1]
    assert first.step is None
    assert first.g == 0
    assert {str(atom) for atom in first.facts} == {
        "here(a)", "at(one, a)", "at(two, a)", "at(three, c)", "at(four, b)", "free(left)", "free(right)",
    }  # fmt: skip
    assert str(first) == f"1. initial state: g=0, h={first.h}"
    assert last.step is not None
    assert any(each.g % 1 for each in told)
    assert all(each.g + each.h <= found.cost for each in told)
    with pytest.raises(AttributeError):
        first.g = 1
    with pytest.raises(AttributeError):
        first.state = 0


@pytest.mark.parametrize("kind", [ValueError, StopIteration, AssertionError, KeyError])
@pytest.mark.parametrize(
    ("search", "heuristic"), [("astar", "lmcut"), ("astar", "hadd"), ("greedy", "hff"), ("mcts", "hff")]
)
@pytest.mark.parametrize("pruning", [(), ("h2",)], ids=["", "h2"])
def test_what_the_callback_raises_is_raised(kind, search, heuristic, pruning, files):
    told, error = [], kind("mine")

    def tell(expansion):
        told.append(expansion)
        if expansion.number == 3:
            raise error

    with pytest.raises(kind) as raised:
        solve(
            load(*files), plain=True, search=search, heuristic=heuristic, pruning=pruning, time_limit=None,
            on_expansion=tell,
        )  # fmt: skip
    assert raised.value is error
    assert len(told) == 3


def test_improving_takes_the_same_options(files):
    told = []
    options = {"plain": True, "search": "weighted", "expansion_limit": 50, "on_expansion": told.append}

    async def collect():
        return [each async for each in improve(load(*files), **options)]

    found = asyncio.run(collect())
    assert len(told) == 50
    assert all(validate(each.expect_plan().problem, each.expect_plan()).valid for each in found if each.has_plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pruning": ("h2",)}, "`pruning` is for plain search only; add plain=True"),
        ({"expansion_limit": 5}, "`expansion_limit` is for plain search only"),
        ({"on_expansion": print}, "`on_expansion` is for plain search only"),
        ({"plain": True, "expansion_limit": 0}, "must be a positive integer, got 0"),
        ({"plain": True, "expansion_limit": 2.5}, "must be a positive integer, got 2.5"),
        ({"plain": True, "on_expansion": "print"}, "must be a function, got 'print'"),
        ({"plain": True, "pruning": "h2"}, "must be a tuple of names, got 'h2'"),
        ({"plain": True, "pruning": ("h3",)}, "no pruning 'h3'; there are h2, stubborn, symmetries"),
        ({"plain": True, "pruning": (None,)}, "no pruning None"),
        ({"plain": True, "engine": "pyperplan"}, "`engine` names another planner"),
        ({"plain": True, "search": "greedy", "pruning": ("stubborn",)}, "search 'greedy' does not prune by stubborn"),
        ({"plain": True, "mode": "first", "pruning": ("symmetries",)}, "search 'greedy' does not prune by symmetries"),
        ({"plain": True, "heuristic": "hadd", "pruning": ("stubborn",)}, "astar does not prune by stubborn with hadd"),
        ({"plain": True, "search": "symbolic", "pruning": ("h2",)}, "always prunes by h2"),
        ({"plain": True, "search": "symbolic", "expansion_limit": 5}, "`expansion_limit` is about states"),
        ({"plain": True, "search": "symbolic", "on_expansion": print}, "`on_expansion` is about states"),
        ({"plain": True, "search": "best"}, "there is no search 'best'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError) as raised:
        solve(load("courier"), **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--plain --expansion-limit 2", 11, "a plan costs"),
        ("--plain --pruning h2 --pruning h2", 0, "proved optimal: cost 12"),
        ("--pruning h2", 2, "--pruning is for plain search; add '--plain'"),
        ("--expansion-limit 2", 2, "--expansion-limit is for plain search"),
        ("--plain --expansion-limit 0", 2, "'0' is not a whole number above 0"),
        ("--plain --pruning h3", 2, "'h3' is not one of h2, stubborn, symmetries"),
        ("--plain --candidates 2", 2, "--candidates goes without --plain"),
        ("--plain --deadline 9", 12, "unsupported: plain search does not take deadlines"),
    ],
)
def test_the_command_ends_with_its_exit_codes(options, code, message):
    command = [sys.executable, "-m", "planner.cli", "solve", "courier", *options.split(), "--time-limit=none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert message in done.stderr


@pytest.mark.parametrize("name", ["pruning", "expansion_limit", "on_expansion"])
def test_options_about_states_are_not_for_hierarchies(name):
    value = {"pruning": ("h2",), "expansion_limit": 5, "on_expansion": print}[name]
    with pytest.raises(InputError, match=f"`{name}` is for classical problems"):
        solve(load("household"), plain=True, **{name: value})


@pytest.mark.parametrize(("domain", "construct"), [("helpdesk", "actions that create objects"), ("outing", "budgets")])
def test_problems_for_which_searches_share_the_work_are_refused(domain, construct):
    found = solve(load(domain), plain=True)
    assert found.status is Status.UNSUPPORTED
    assert construct in found.reason


def test_searches_that_take_turns_say_in_which_tier_they_ran():
    for domain in (*SHIPPED, *HIERARCHIES, "helpdesk", "outing"):
        tiers = solve(load(domain)).statistics.tier.split(", ")
        assert tiers == [tier for tier in TIERS if tier in tiers]
        assert "compiled" not in tiers


def test_logarithms_are_the_same_on_all_platforms():
    """No logarithm is so near to a multiple of the grain that the last digits of `math.log` could matter."""
    with localcontext(prec=40):
        for number in range(2, len(LOGARITHMS)):
            exact = Decimal(number).ln() * int(GRAIN)
            assert Decimal(LOGARITHMS[number]) * int(GRAIN) == int(exact)
            assert min(exact % 1, 1 - exact % 1) > Decimal("1e-14") * int(GRAIN)
