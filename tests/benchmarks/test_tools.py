"""Generated tool libraries: reproducible, with optima that hold, and contended where they say so."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from brute_force import brute_force
from effort import share
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.suite import load_suite
from benchmarks.tools.certify import (
    find_reachable,
    find_relevant,
    is_plan,
    relaxed_cost,
    search_by_regression,
    search_exhaustively,
)
from benchmarks.tools.tool_benchmark import Measured, judge_result, measure, tools_table
from benchmarks.tools.tool_library import Tool, declare_problem
from benchmarks.tools.tool_profiles import CONTENDED, PROFILES, generate
from planner import Plan, Result, Status, Step, StoppedBy, solve
from planner.errors import DocumentError
from planner.grounding.ground import ground
from planner.heuristics import REGISTRY as HEURISTICS
from planner.language.pddl import read
from planner.limits import Limits, never
from planner.task.ground_task import bits

SIZES = (10, 30, 100, 300, 1000)
SMALL = [(profile, size, seed) for profile in PROFILES for size in (10, 23, 50) for seed in range(3)]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", SIZES)
def test_a_library_has_the_size_asked_for_and_a_plan_that_works(profile: str, size: int) -> None:
    for seed in range(3):
        task = generate(profile, size, seed).task
        assert len({tool.name for tool in task.tools}) == len(task.tools) == size
        assert is_plan(task.tools, task.initial, task.goal, task.plan)
        assert task.plan


@pytest.mark.parametrize("profile", PROFILES)
def test_a_seed_determines_the_library(profile: str) -> None:
    assert generate(profile, 200, 3) == generate(profile, 200, 3)
    assert generate(profile, 200, 3).task != generate(profile, 200, 4).task


@pytest.mark.parametrize(("profile", "size", "seed"), SMALL)
def test_an_exhaustive_search_finds_the_certified_optimum(profile: str, size: int, seed: int) -> None:
    task = generate(profile, size, seed).task
    plan = search_exhaustively(task.tools, task.initial, task.goal)
    assert replace(task, plan=plan).optimum == task.optimum


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", [10, 12])
def test_the_slow_twin_of_planning_finds_the_certified_optimum(profile: str, size: int) -> None:
    """Through the declarations, on the declared model."""
    library = generate(profile, size, 1)
    assert brute_force(declare_problem(library), max_states=20_000) == library.optimum


@pytest.mark.parametrize("profile", CONTENDED)
@pytest.mark.parametrize("size", SIZES)
def test_estimates_that_ignore_deletes_are_far_too_low_where_resources_are_contended(profile: str, size: int) -> None:
    for seed in range(3):
        library = generate(profile, size, seed)
        task = ground(declare_problem(library), Limits())
        assert task.resolution == 1
        for name in ("hmax", "lmcut"):
            estimate = HEURISTICS[name].build(task, [action.cost for action in task.actions], never)
            assert estimate(bits(task.initial)) < 0.8 * library.optimum


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.drawn
@pytest.mark.parametrize("subjects", share([0, 1, 2], 3))
def test_what_our_solver_proves_is_as_certified(profile: str, subjects: int) -> None:
    measured = measure(generate(profile, 40, 2, subjects=subjects), 20.0, rounds=2)
    assert (measured.outcome, measured.cost) == ("optimal", measured.optimum)
    assert measured.declare is not None
    assert measured.compile is not None
    assert measured.search is not None
    assert measured.total == pytest.approx(measured.compile + measured.search)


def random_layers(random: Random) -> tuple[list[Tool], dict[str, int]]:
    facts = {f"f{layer}{place}": layer for layer in range(4) for place in range(2)}
    tools = []
    for number in range(12):
        layer = random.randint(1, 3)
        below = [fact for fact in facts if facts[fact] < layer]
        level = [fact for fact in facts if facts[fact] == layer]
        needs, gives = random.sample(below, random.randint(0, 2)), random.sample(level, random.randint(1, 2))
        tools.append(Tool(f"t{number}", tuple(needs), tuple(gives), cost=random.randint(1, 9)))
    return tools, facts


@pytest.mark.parametrize("seed", range(60))
def test_regression_and_exhaustive_search_agree_without_deletes(seed: int) -> None:
    tools, level = random_layers(Random(seed))
    initial, goal = ("f00", "f01"), ("f30", "f31")
    costs = {tool.name: tool.cost for tool in tools}
    try:
        forward = search_exhaustively(tools, initial, goal)
    except ValueError:
        with pytest.raises(ValueError, match=r"^there is no plan$"):
            search_by_regression(tools, initial, goal, level)
        return
    backward = search_by_regression(tools, initial, goal, level)
    assert is_plan(tools, initial, goal, backward)
    assert sum(costs[name] for name in backward) == sum(costs[name] for name in forward)
    assert sum(costs[name] for name in forward) <= relaxed_cost(tools, initial, goal)


def test_regression_refuses_tools_that_do_not_keep_to_the_levels() -> None:
    tools = [Tool("up", ("b",), ("a",)), Tool("start", (), ("b",))]
    with pytest.raises(ValueError, match="up does not keep to the levels"):
        search_by_regression(tools, (), ("a",), {"a": 0, "b": 1})


def test_what_is_reachable_and_relevant() -> None:
    tools = [
        Tool("use", ("made",), ("goal",)),
        Tool("make", ("start",), ("made",)),
        Tool("aside", ("start",), ("other",)),
        Tool("never", ("missing",), ("goal",)),
    ]
    assert {tool.name for tool in find_reachable(tools, ["start"])} == {"use", "make", "aside"}
    assert {tool.name for tool in find_relevant(tools, ["start"], ["goal"])} == {"use", "make"}


def test_deletes_bind_in_an_exhaustive_search() -> None:
    tools = [
        Tool("cheap", ("key",), ("a",), ("key",), 1),
        Tool("also_cheap", ("key",), ("b",), ("key",), 1),
        Tool("dear", (), ("b",), cost=5),
    ]
    assert set(search_exhaustively(tools, ["key"], ["a", "b"])) == {"cheap", "dear"}
    assert not is_plan(tools, ["key"], ["a", "b"], ["cheap", "also_cheap"])
    assert relaxed_cost(tools, ["key"], ["a", "b"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("group", 100, 0, 0), "there is no profile 'group'; did you mean 'groups'?"),
        (("groups", 9, 0, 0), "a library has 10 tools or more, not 9"),
        (("groups", 10, 0, 4), "the goal is for 0 to 3 subjects, not 4"),
    ],
)
def test_libraries_that_do_not_exist(arguments: tuple[str, int, int, int], message: str) -> None:
    *key, subjects = arguments
    with pytest.raises(DocumentError) as caught:
        generate(*key, subjects=subjects)
    assert str(caught.value) == message


def test_answers_are_judged_against_the_certificate() -> None:
    library = generate("groups", 20)
    problem = declare_problem(library)
    result = solve(problem)
    assert result.plan is not None
    best = library.optimum
    assert judge_result(result, best) == "optimal"
    assert judge_result(replace(result, status=Status.SOLVED, lower_bound=0), best) == "solved"
    assert judge_result(result, best - 1).startswith("wrong: cost")
    assert judge_result(result, best + 1).startswith("wrong: cost")
    assert judge_result(replace(result, lower_bound=0), best - 1) == f"wrong: proved {best}, not {best - 1}"
    assert judge_result(replace(result, plan=Plan((Step("missing"),), problem)), best).startswith("wrong:")
    assert judge_result(Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED), best) == "wrong: no plan"
    assert judge_result(Result(Status.UNKNOWN, StoppedBy.TIME), best) == "time"


def test_the_table_gives_medians_and_marks_what_was_given_up() -> None:
    row = Measured("groups", 1000, 0, 0, "forethought", "optimal", 7, 7, 12.0, 11.5, 1.0, 2.25, 9.0, 3)
    slow = replace(row, profile="dense", outcome="time", total=20_000.0, search=19_997.0)
    lines = tools_table([row, replace(row, seed=1, total=14.0), replace(row, seed=2, total=2000.0), slow]).splitlines()
    assert lines[2] == "| groups | 1,000 | forethought | 3/3 | 1.00 | 2.25 | 9.00 | 14.0 | 11.5 | 15.0 |  |"
    assert lines[3] == "| dense | 1,000 | forethought | 0/1 | 1.00 | 2.25 | 19,997 | > 20,000 | 11.5 | > 20,001 |  |"


@pytest.mark.usefixtures("small_heap")
def test_the_command_measures_and_writes_json_lines(tmp_path: Path) -> None:
    out = tmp_path / "tools.jsonl"
    options = ["--profile", "quotas", "--sizes", "10,20", "--seeds", "2", "--out", str(out)]
    ran = CliRunner().invoke(app, ["tools", *options])
    assert ran.exit_code == 0
    assert "| quotas | 20 | forethought | 2/2 |" in ran.stdout
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(line["size"], line["seed"], line["outcome"]) for line in lines] == [
        (10, 0, "optimal"),
        (10, 1, "optimal"),
        (20, 0, "optimal"),
        (20, 1, "optimal"),
    ]


def test_sizes_that_are_no_numbers_are_a_usage_error() -> None:
    ran = CliRunner().invoke(app, ["tools", "--sizes", "ten"])
    assert ran.exit_code == 2
    assert "write numbers with commas between" in ran.output


@pytest.mark.parametrize("subjects", ["0", "1"])
def test_libraries_are_written_as_a_suite(tmp_path: Path, subjects: str) -> None:
    options = ["--profile", "locks", "--profile", "groups", "--sizes", "20", "--seeds", "1", "--subjects", subjects]
    assert CliRunner().invoke(app, ["tools", *options, "--write", str(tmp_path)]).exit_code == 0
    tasks = load_suite(tmp_path)
    assert [task.domain for task in tasks] == ["locks", "groups"]
    rows = [line.split("\t") for line in (tmp_path / "tasks.tsv").read_text(encoding="utf-8").splitlines()]
    for task, row in zip(tasks, rows[1:], strict=True):
        result = solve(read(task.domain_path, task.problem_path))
        assert (result.status, str(result.cost)) == (Status.OPTIMAL, row[5])


def test_groups_are_pruned_to_little_and_a_pool_is_not() -> None:
    shares = []
    for profile in ("groups", "dense"):
        task = generate(profile, 1000).task
        shares.append(len(find_relevant(task.tools, task.initial, task.goal)) / 1000)
    assert all(lower + 0.5 < upper for lower, upper in pairwise(shares))


def test_relevant_tools_are_ranked_for_each_profile_and_size() -> None:
    options = ["--profile", "locks", "--profile", "groups", "--sizes", "20,50", "--seeds", "2", "--goals", "3"]
    ran = CliRunner().invoke(app, ["relevant", *options])
    assert ran.exit_code == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ran.stdout.splitlines()[2:]]
    assert [row[:2] for row in rows if row] == [[name, size] for name in ("locks", "groups") for size in ("20", "50")]
    for row in filter(None, rows):
        found, known = map(int, row[6].split("/"))
        assert 0 < found <= known
