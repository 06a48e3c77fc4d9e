"""Progress: each change is told once in a pipe; on a terminal the steps are drawn, few of them where there are many."""

from __future__ import annotations

import asyncio
import io
import re

import pytest

from executor import ActionPlan, Executor, RunStatus, StepStatus, World
from executor.events.events import (
    Answered,
    Asked,
    Disagreement,
    PlanChanged,
    RunEnded,
    RunStarted,
    StepEnded,
    StepProgress,
    StepStarted,
)
from executor.events.run_state import RunState
from executor.report.live import Show, _parts
from executor.report.progress import View, event_line, line_of
from planner import Domain

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": "20"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def row(size):
    """Return a domain in which dominoes fall one after the other, and a plan for `size` of them."""
    domain = Domain("dominoes", types=["domino"])
    domain.predicate("fallen", "domino")
    domain.action("push", {"d": "domino"}, provides=["fallen(d)"])
    objects = {f"d{number}": "domino" for number in range(size)}
    steps = [{"id": f"s{n}", "action": "push", "arguments": {"d": name}} for n, name in enumerate(objects)]
    return domain, ActionPlan(objects=objects, steps=steps, goal=["fallen(d0)"])


def shown(stream, size=3, handler=lambda **_: None, sees=True, runs=1):
    domain, plan = row(size)
    world = World(domain)
    world.handler("push")(handler)
    world.observer("fallen(d)")(lambda d: bool(d) and sees)
    show = stream if isinstance(stream, Show) else Show(stream)
    executor = Executor(world, listeners=(show,))

    async def all_runs():
        return await asyncio.gather(*(executor.run(plan, run=f"r{number}") for number in range(runs)))

    return asyncio.run(all_runs())[0]


def test_in_a_pipe_each_thing_is_a_line():
    stream = io.StringIO()
    assert shown(stream, 2).status is RunStatus.SUCCEEDED
    assert stream.getvalue().splitlines() == [
        "plan: 2 steps, sequential",
        "s0 push(d0): running",
        "s0 push(d0): succeeded",
        "s1 push(d1): running",
        "s1 push(d1): succeeded",
        "succeeded, the goal was observed",
    ]


def test_several_runs_in_a_pipe_say_which_they_are():
    stream = io.StringIO()
    shown(stream, 2, runs=2)
    lines = stream.getvalue().splitlines()
    assert "r0: s1 push(d1): succeeded" in lines
    assert "r1: s1 push(d1): succeeded" in lines


def test_a_failure_says_why_and_what_is_done_about_it():
    stream = io.StringIO()
    shown(stream, 2, handler=lambda **_: False, sees=False)
    lines = stream.getvalue().splitlines()
    assert "s0 push(d0): failed: the handler returned False" in lines
    assert any(line.startswith("patch after s0: ") for line in lines)
    assert lines[-1].startswith("failed, the goal was not reached: push(d0)")


def test_a_pipe_that_knows_few_letters_gets_those():
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")

    def fails(**_):
        raise OSError("tür \x1b[31m\nzu")

    shown(stream, 1, handler=fails, sees=False)
    stream.seek(0)
    assert "OSError: t\\xfcr [31m zu" in stream.read()


def test_a_terminal_ends_with_all_steps_and_how_the_run_ended():
    stream = Terminal()
    shown(stream, 3)
    last = CODES.sub("", stream.getvalue()).splitlines()[-4:]
    assert [line.split()[:3] for line in last[:3]] == [["succeeded", f"s{n}", f"push(d{n})"] for n in range(3)]
    assert last[3].startswith("succeeded, the goal was observed · 3 of 3 steps done")


def test_what_is_transient_is_wiped_away_in_the_end():
    stream = Terminal()
    shown(Show(stream, transient=True), 3)
    screen = stream.getvalue().splitlines()
    assert screen[-1].endswith("\x1b[1A\x1b[2K" * 4), "four lines were drawn, and each is cleared"


def test_a_terminal_that_cannot_draw_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    shown(stream, 1)
    assert "\x1b" not in stream.getvalue()
    assert "s0 push(d0): succeeded" in stream.getvalue().splitlines()


def test_several_runs_share_a_terminal():
    stream = Terminal()
    shown(stream, 30, runs=3)
    text = CODES.sub("", stream.getvalue())
    assert sum(f"r{n}: succeeded, the goal was observed" in text for n in range(3)) == 2, "the last one is drawn"


def state_of(size):
    domain, plan = row(size)
    return RunState(domain.model, plan, plan.problem(domain.model))


def heard(state, view, *events):
    for event in events:
        state.apply(event)
        view.take(event, state)


@pytest.mark.parametrize(("done", "first"), [(0, 0), (20, 17), (95, 90), (100, 90)])
def test_of_many_steps_those_around_the_present_one_are_drawn(done, first):
    state = state_of(100)
    view = View.of(state, "r")
    heard(state, view, *(StepEnded(f"s{n}", StepStatus.SUCCEEDED) for n in range(done)))
    before, rows, after = view.window(10)
    assert (before, [row.id for row in rows], after) == (first, [f"s{first + n}" for n in range(10)], 90 - first)
    assert view.footer.startswith(f"{done} of 100 steps done")


def test_few_steps_are_drawn_all():
    before, rows, after = View.of(state_of(3), "r").window(10)
    assert (before, len(rows), after) == (0, 3, 0)


def test_a_view_follows_changes_of_the_plan():
    state = state_of(3)
    view = View.of(state, "r")
    new = {"id": "s9", "action": "push", "arguments": {"d": "d1"}}
    heard(
        state,
        view,
        StepStarted("s0", 1, "main", "k"),
        StepEnded("s0", StepStatus.FAILED, "stuck"),
        PlanChanged((new, state.plan.steps[2].model_dump()), 1, 1, 1, "patch after s0"),
    )
    _, rows, _ = view.window(10)
    assert [(row.id, row.status, row.note) for row in rows] == [
        ("s0", StepStatus.FAILED, "stuck"),
        ("s9", StepStatus.PENDING, ""),
        ("s2", StepStatus.PENDING, ""),
    ]


def test_a_step_at_work_says_how_far_and_how_long():
    state = state_of(20)
    view = View.of(state, "r")
    heard(state, view, StepStarted("s10", 2, "main", "k"))
    assert view.rows["s10"].note == "attempt 2"
    heard(state, view, StepProgress("s10", "painting\nred", 0.5))
    lines = [str(part) for part in _parts(view, 3)]
    assert lines[0] == "pending      s0  push(d0)"
    heard(state, view, *(StepEnded(f"s{n}", StepStatus.SUCCEEDED) for n in range(10)))
    lines = [str(part) for part in _parts(view, 3)]
    assert lines[:2] == ["… 9 before", "succeeded    s9   push(d9)"]
    assert re.fullmatch(r"running      s10  push\(d10\)  \d s 50% painting red", lines[2])
    assert lines[4] == "… 8 after"
    assert lines[5].startswith("10 of 20 steps done · 1 at work · ")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Asked("q", "s1", "May it?", ("yes", "no")), "question q: May it? (yes / no)"),
        (Answered("q", "yes"), "answer to q: yes"),
        (Disagreement((), "a and\nb differ"), "unknown: a and b differ"),
        (PlanChanged((), 3, 2, 1, "patch"), "plan changed (patch): 3 kept, 2 new, 1 dropped"),
        (
            RunEnded(RunStatus.IN_DOUBT, "why"),
            "in doubt, nobody can say whether a step happened, and somebody has to: why",
        ),
        (RunStarted("r", {}, "dag"), "plan: 1 step, dag"),
    ],
)
def test_lines_of_events(event, line):
    assert event_line(event, state_of(1)) == line


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("one\n  two\x00\x1b[0m", "one two [0m"),
        ({"a": [1, "x"]}, '{"a":[1,"x"]}'),
        (None, "null"),
        ("x" * 25, "x" * 25),
        ("x" * 30, "xxxxxxxx… (30 characters)"),
        ("x" * 200_000, "xxx… (200,000 characters)"),
        (" " * 150, "… (150 characters)"),
    ],
)
def test_lines_of_values(value, line):
    assert line_of(value, 25) == line
