"""Peers for hierarchical tasks: GTPyhop's domains in Python, and what is made of GTPyhop's and Aries' plans."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace as Space
from typing import Any

import pytest

from benchmarks.hop.gtpyhop_domains import Blocks, Snacks, Towers, find_parts, read_expression, read_initial, read_tasks
from benchmarks.hop.gtpyhop_guest import choose_method, find_python_domain, plan_text, recover_decomposition
from benchmarks.planners import Outcome, find_missing, planner_of
from benchmarks.planners import guest_script as aries
from benchmarks.planners.environments import VARIABLE
from benchmarks.process import Limits, run_limited
from benchmarks.suite import HDDL
from benchmarks.validators.plan_checks import check_by_forethought

DATA = Path(__file__).parents[2].parent / "shared/data/ipc2020-htn/total-order"
GTPYHOP = """
class State:
    def __init__(self, name, **given): vars(self).update(given)
class Domain:
    def __init__(self, name): self.actions, self.methods = {}, {}; globals().update(current=self)
def set_verbose_level(level): pass
def set_recursive_planning(strategy): print("by", strategy)
def declare_actions(*actions): current.actions.update({one.__name__: one for one in actions})
def declare_task_methods(task, *methods): current.methods[task] = methods
def find_plan(state, todo):
    from copy import deepcopy
    state, todo, steps = deepcopy(state), list(todo), []
    while todo:
        name, *arguments = task = todo.pop(0)
        if name in current.actions:
            state = current.actions[name](state, *arguments)
            if state is None: return False
            steps.append(task)
        else:
            given = (method(state, *arguments) for method in current.methods[name])
            subtasks = next((one for one in given if one is not None), None)
            if subtasks is None: return False
            todo = subtasks + todo
    return steps
"""


def greedy(kind: Callable[..., Any], text: str) -> tuple[Any, list[str]]:
    """Return the last state of a problem, and the steps that its first applicable methods give."""
    problem = read_text(text)
    state = Space(steps=0)
    domain = kind(state, problem)
    actions = {action.__name__: action for action in domain.actions}
    todo, steps = read_tasks(problem), []
    while todo:
        task = todo.pop(0)
        if task[0] in actions:
            assert actions[task[0]](state, *task[1:]) is state, task
            steps.append(" ".join(task))
        else:
            subtasks = choose_method(domain, state, task)[1]
            assert subtasks is not None, task
            todo = subtasks + todo
    assert state.steps == len(steps)
    return state, steps


def read_text(text: str) -> Any:
    with NamedTemporaryFile("w", suffix=".hddl", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return read_expression(file.name)


def test_reading() -> None:
    problem = read_text("""; a (comment
      (define (problem P) (:INIT (on A b) (free) ; (more
        (on b c)) (:htn :parameters () :ordered-tasks (and (t1 (get A)) (put b c))))""")
    assert read_initial(problem) == {"on": [("a", "b"), ("b", "c")], "free": [()]}
    assert read_tasks(problem) == [("get", "a"), ("put", "b", "c")]
    assert find_parts(problem, "problem") == [["problem", "p"]]


def test_one_task_may_stand_alone() -> None:
    assert read_tasks(read_text("(define (problem p) (:htn :ordered-subtasks (get a)))")) == [("get", "a")]


def test_blocks() -> None:
    state, steps = greedy(
        Blocks,
        """(define (problem p) (:htn :ordered-subtasks (and (do_put_on b c) (do_put_on a b)))
        (:init (on a b) (ontable b) (on c d) (ontable d) (handempty) (clear a) (clear c)))""",
    )
    assert steps[:4] == ["nop", "unstack a b", "put_down a", "nop"]
    assert steps[4:6] == ["unstack c d", "put_down c"]
    assert (state.below["b"], state.below["a"], state.below["c"], state.hand) == ("c", "b", "table", None)


def test_blocks_that_are_there_stay_there() -> None:
    text = """(define (problem p) (:htn :ordered-subtasks (and (do_put_on a b) (do_put_on c a)))
        (:init (on a b) (ontable b) (ontable c) (handempty)))"""
    assert greedy(Blocks, text)[1] == ["nop", "nop", "nop", "nop", "pick_up c", "stack c a"]


def test_snacks() -> None:
    state, steps = greedy(
        Snacks,
        """(define (problem p) (:htn :ordered-subtasks (and (serve ann) (serve bob)))
        (:init (at tray kitchen) (waiting ann t1) (waiting bob t2) (allergic_gluten bob) (not_allergic_gluten ann)
          (at_kitchen_bread rye) (at_kitchen_bread rice) (at_kitchen_content ham) (at_kitchen_content jam)
          (no_gluten_bread rice) (no_gluten_content jam) (notexist s1) (notexist s2)))""",
    )
    assert steps[0] == "make_sandwich s1 rye ham"
    assert steps[5:9:3] == ["make_sandwich_no_gluten s2 rice jam", "serve_sandwich_no_gluten s2 bob tray t2"]
    assert (state.on, state.tray) == ({"s1": "ann", "s2": "bob"}, {"tray": "kitchen"})


@pytest.mark.parametrize("rings", [1, 2, 3, 4])
def test_towers(rings: int) -> None:
    on = [(f"r{ring}", f"r{ring + 1}" if ring < rings else "t1") for ring in range(1, rings + 1)]
    smaller = [(f"r{one}", f"r{other}") for one in range(1, rings + 1) for other in range(one + 1, rings + 1)]
    smaller += [(f"r{ring}", f"t{tower}") for ring in range(1, rings + 1) for tower in (1, 2, 3)]
    facts = [f"(on {one} {other})" for one, other in on] + [f"(smallerThan {one} {other})" for one, other in smaller]
    state, steps = greedy(
        Towers,
        f"""(define (problem p) (:htn :ordered-tasks (and (task0 (shiftTower t1 t2 t3))))
        (:init {" ".join(facts)} (towerTop r1 t1) (towerTop t2 t2) (towerTop t3 t3)))""",
    )
    assert len(steps) == 2**rings - 1
    assert state.on == {one: "t3" if other == "t1" else other for one, other in on}


@pytest.mark.parametrize(
    ("kind", "text", "refused"),
    [
        (Blocks, "(on a b) (ontable b)", [("pick_up", "a"), ("unstack", "b", "a"), ("put_down", "a")]),
        (Blocks, "(on a b) (ontable b)", [("pick_up", "b"), ("stack", "a", "a"), ("stack", "b", "a")]),
        (Towers, "(smallerThan r t) (on r t) (towerTop r t) (towerTop u u)", [("move", "r", "t", "t", "u", "u")]),
    ],
)
def test_actions_that_are_not_applicable(kind: Any, text: str, refused: list[Any]) -> None:
    state = Space(steps=0)
    domain = kind(state, read_text(f"(define (problem p) (:htn :ordered-tasks (and)) (:init {text}))"))
    actions = {action.__name__: action for action in domain.actions}
    assert [actions[name](state, *arguments) for name, *arguments in refused] == [None] * len(refused)
    assert state.steps == 0


class Counting:
    """`up` counts to its argument."""

    def __init__(self, state: Any) -> None:
        state.count = 0

    def one(self, state: Any) -> Any:
        state.count += 1
        return state

    def nothing(self, state: Any, number: str) -> Any:
        return [] if state.count == int(number) else None

    def more(self, state: Any, number: str) -> Any:
        return [("one",), ("up", number)] if state.count < int(number) else None

    @property
    def actions(self) -> Any:
        return [self.one]

    @property
    def methods(self) -> Any:
        return {"up": {"m-none": self.nothing, "m-more": self.more}}


def test_decompositions_are_told() -> None:
    state = Space()
    steps = [("one",)] * 3
    nodes = recover_decomposition(Counting(state), state, [("up", "2"), ("up", "3")], steps)
    assert plan_text(steps, 2, nodes, {"one": "add-one"}).splitlines() == [
        "==>",
        "0 add-one",
        "1 add-one",
        "2 add-one",
        "root 3 4",
        "3 up 2 -> m-more 0 6",
        "4 up 3 -> m-more 2 10",
        "6 up 2 -> m-more 1 8",
        "8 up 2 -> m-none",
        "10 up 3 -> m-none",
        "<==",
    ]


@pytest.mark.parametrize(("count", "roots"), [(1, ["2"]), (3, ["2"]), (2, ["2", "1"])])
def test_steps_that_the_first_methods_do_not_give(count: int, roots: list[str]) -> None:
    state, steps = Space(), [("one",)] * count
    assert recover_decomposition(Counting(state), state, [("up", root) for root in roots], steps) is None
    assert plan_text(steps, 1, None, {"one": "one"}) == "(one)\n" * count


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a stand-in for GTPyhop, which never goes back from a method, in an environment of its own."""
    place = tmp_path / "peers" / "gtpyhop"
    site = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for path in (place / "bin", site / "gtpyhop-7.1.dist-info"):
        path.mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (site / "gtpyhop.py").write_text(GTPYHOP)
    (site / "gtpyhop-7.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: gtpyhop\nVersion: 7.1\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "peers"))


def ask_peer(domain: Path, problem: Path, folder: Path) -> Any:
    place = folder / "run"
    place.mkdir()
    for name, path in (("domain", domain), ("problem", problem)):
        (place / f"{name}.hddl").symlink_to(path)
    planner = planner_of("gtpyhop")
    assert find_missing(planner) is None
    job = planner.job(LIMITS).on(HDDL)
    run = run_limited(job.command, place, LIMITS, environment=job.environment)
    return planner.read(run, place, frozenset({"hierarchy"}))


LIMITS = Limits(cpu_seconds=20, memory_gib=2.0)


@pytest.mark.usefixtures("peer")
@pytest.mark.parametrize(
    "name",
    ["Childsnack/p01", "Blocksworld-GTOHP/p01", "Blocksworld-GTOHP/p05", "Towers/pfile_01", "Towers/pfile_04"],
)
def test_plans_of_competition_problems_are_valid(name: str, tmp_path: Path) -> None:
    problem = DATA / f"{name}.hddl"
    if not problem.exists():
        pytest.skip("the competition's problems are not beside the checkout")
    domain = problem.with_name("domain.hddl")
    answer = ask_peer(domain, problem, tmp_path)
    assert answer.outcome is Outcome.SOLVED, answer.detail
    assert "==>" in answer.plan
    assert check_by_forethought(domain, problem, answer.plan).valid


@pytest.mark.usefixtures("peer")
def test_what_is_not_written_in_python_is_unsupported(tmp_path: Path) -> None:
    (tmp_path / "d.hddl").write_text("(define (domain d) (:task get :parameters ()))")
    (tmp_path / "p.hddl").write_text("(define (problem p) (:htn :ordered-tasks (and (get))) (:init))")
    answer = ask_peer(tmp_path / "d.hddl", tmp_path / "p.hddl", tmp_path)
    assert (answer.outcome, answer.detail) == (Outcome.UNSUPPORTED, "no domain in Python is written for it")


def test_a_domain_is_known_by_its_tasks() -> None:
    problem = read_text("(define (problem p) (:htn :ordered-tasks (and)) (:init))")
    names = ("do_put_on", "do_on_table", "do_move", "do_clear")
    assert isinstance(find_python_domain([[":task", name] for name in names], problem, Space()), Blocks)
    assert find_python_domain([[":task", name] for name in names[1:]], problem, Space()) is None


@pytest.mark.parametrize("name", ["aries:optimal=1", "gtpyhop:first=1"])
def test_options_that_a_peer_does_not_have(name: str) -> None:
    with pytest.raises(Exception, match="has no option"):
        planner_of(name)


@pytest.mark.parametrize(("name", "package"), [("aries", "up-aries"), ("gtpyhop", "gtpyhop")])
def test_a_peer_without_an_environment_is_missing(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert find_missing(planner_of(name)) == package


def test_plans_of_aries() -> None:
    """Its subtasks come in any order, and parameters of methods in another order than those of their tasks."""
    look, go = (
        Space(action=Space(name=name), actual_parameters=given) for name, given in (("look", "b"), ("go", "ab"))
    )
    place, origin = Space(name="p"), Space(name="o")
    there = Space(
        name="there",
        parameters=[origin, place],
        achieved_task=Space(task=Space(name="visit"), parameters=[place]),
        subtasks=[Space(identifier="1"), Space(identifier="2")],
    )
    used = Space(method=there, parameters=["a", "b"], decomposition=Space(subtasks={"2": look, "1": go}))
    plan = Space(action_plan=Space(actions=[go, look]), decomposition=Space(subtasks={"only": used}))
    problem = Space(task_network=Space(subtasks=[Space(identifier="only")]))
    assert aries.plan_text(plan, problem).splitlines() == [
        "==>",
        "0 go a b",
        "1 look b",
        "root 2",
        "2 visit b -> there 0 1",
        "<==",
    ]
