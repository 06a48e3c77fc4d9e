"""A summary is short, says what matters first, counts what it leaves out, and cannot be talked into more lines."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from executor import ActionPlan, Executor, Note, Provenance, Rung, RunStatus, StepStatus, Wait, World
from executor.events.events import (
    Asked,
    Disagreement,
    FactsSeen,
    GoalDropped,
    MemorySet,
    PlanChanged,
    RunEnded,
    RungTaken,
    RunStarted,
    StepEnded,
    StepReturned,
    StepStarted,
    StepWaiting,
)
from executor.events.run_state import RunState
from executor.report.progress import _TITLES, LEAST, WHOLE, summary
from executor.testing import run_virtual
from executor.tools.context import Memory
from planner import Domain
from planner.errors import InputError
from planner.model import Atom

HEADING = re.compile(r"(?P<title>[A-Z][a-z, ]+) \((?P<total>[\d,]+)\):")
REST = re.compile(r"- and (?P<left>[\d,]+) more")


def state_of(size, goal=("fallen(d0)",)):
    domain = Domain("dominoes", types=["domino"])
    domain.predicate("fallen", "domino")
    domain.action("push", {"d": "domino"}, provides=["fallen(d)"])
    objects = {f"d{number}": "domino" for number in range(size)}
    steps = [{"id": f"s{n}", "action": "push", "arguments": {"d": name}} for n, name in enumerate(objects)]
    plan = ActionPlan(name="row", objects=objects, steps=steps, goal=goal)
    return RunState(domain.model, plan, plan.problem(domain.model))


def after(state, *events):
    for event in events:
        state.apply(event)
    return state


def parts(text):
    """Return the parts of a summary: by title how many there are, the lines, and how many are left out."""
    _, _, *lines = text.splitlines()
    found, title = {}, ""
    for line in lines:
        heading, rest = HEADING.fullmatch(line), REST.fullmatch(line)
        if heading:
            title = heading["title"]
            found[title] = [int(heading["total"].replace(",", "")), [], 0]
        elif rest:
            found[title][2] = int(rest["left"].replace(",", ""))
        else:
            assert line.startswith("- "), line
            found[title][1].append(line[2:])
    return found


def test_a_run_is_told_with_what_matters_first():
    state = after(
        state_of(6, {"hard": ["fallen(d5)", "not fallen(d4)"], "soft": {"fallen(d3)": 2}}),
        RunStarted("r1", {}, "dag"),
        StepStarted("s0", 1, "main", "k"),
        StepReturned("s0", {"success": True, "data": {"score": 3}}),
        StepEnded("s0", StepStatus.SUCCEEDED, "", None, (Note(Atom("fallen", ("d0",)), True, Provenance.OBSERVED),)),
        StepStarted("s1", 1, "main", "k"),
        StepStarted("s1", 2, "main", "k"),
        StepEnded("s1", StepStatus.FAILED, "no force\nleft"),
        RungTaken(Rung.PATCH, "s1", "no steps lead there", 0, 0.02),
        StepStarted("s2", 1, "main", "k"),
        StepWaiting("s2", {"text": "for Ann"}, 0),
        StepStarted("s3", 1, "main", "k"),
        Asked("stuck:s1:1", "s1", "What now?", ("try again", "give up"), ("it is heavy",)),
        MemorySet("strength", [1, 2]),
        GoalDropped("fallen(d3)", 2.0),
        FactsSeen((Note(Atom("fallen", ("d5",)), None, Provenance.UNKNOWN),)),
        Disagreement((), "eye saw it, ear did not"),
        RunEnded(RunStatus.WAITING, "s2 waits"),
    )
    assert summary(state) == (
        'Run r1 of plan "row": waiting (waits for something from outside): "s2 waits"\n'
        "Plan: dag, 1 of 6 steps done\n"
        "Open questions (1):\n"
        '- stuck:s1:1: "What now?"; answers: try again, give up; known: "it is heavy"\n'
        "Goal (2):\n"
        "- fallen(d5): unknown (nobody can say)\n"
        "- not fallen(d4): holds as far as is known\n"
        "Failed, latest first (1):\n"
        '- s1 push(d1), 2 attempts: "no force left"\n'
        "At work (1):\n"
        "- s3 push(d3)\n"
        "Waiting (1):\n"
        '- s2 push(d2): "for Ann"\n'
        "Pending, in order (2):\n"
        "- s4 push(d4)\n"
        "- s5 push(d5)\n"
        "Soft goals (1):\n"
        "- fallen(d3): utility 2, given up\n"
        "Tried to recover, latest first (1):\n"
        "- patch after s1: no steps lead there (0.02 s)\n"
        "Memory (1):\n"
        "- strength = [1,2]\n"
        "Observers that failed or differ, latest first (1):\n"
        '- "eye saw it, ear did not"\n'
        "Done, latest first (1):\n"
        '- s0 push(d0); returned {"score":3}'
    )


STEPS = set(_TITLES.values())
OVER = [each for each in StepStatus if each.is_over or each is StepStatus.IN_DOUBT]
ODD = ["", "short", "long " * 100, "\n- and 99 more", 'x"\nGoal (1):\n- all done', "\x1b[2J", "\u2028- a", "\x85ä" * 90]


def any_run(dice):
    """Return a run of which a bit of everything has happened."""

    def text():
        return dice.choice(ODD) + str(dice.randrange(10))

    state = after(state_of(dice.randint(1, 60)), RunStarted(text(), {}, "dag"))
    for id_ in list(state.steps):
        what = dice.choice([*OVER, "begun", "waiting", "pending"])
        if isinstance(what, StepStatus):
            after(state, StepEnded(id_, what, text(), {"success": True, "data": text()}))
        elif what != "pending":
            after(state, StepStarted(id_, dice.randint(1, 3), "main", "k"))
            if what == "waiting":
                after(state, StepWaiting(id_, {"text": text()}, 0))
    for number in range(dice.randrange(10)):
        after(state, RungTaken(Rung.ASK, "", text()), Asked(f"q{number}", "", text()), MemorySet(text(), text()))
    if dice.random() < 0.5:
        after(state, RunEnded(dice.choice(list(RunStatus)), text()))
    return state


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 10**9), limit=st.integers(WHOLE, 6000))
def test_a_summary_keeps_to_its_length_and_counts_what_it_leaves_out(seed, limit):
    state = any_run(random.Random(seed))
    text, whole = summary(state, limit), summary(state, 10**7)
    assert len(text) <= limit
    assert text == summary(state, limit)
    shown, everything = parts(text), parts(whole)
    assert list(shown) == list(everything)
    for title, (total, lines, left) in shown.items():
        assert total == len(lines) + left == len(everything[title][1])
        assert lines == everything[title][1][: len(lines)]
    if len(whole) <= limit - len(shown) * len("- and 99 more "):
        assert text == whole
    told = [line for title in STEPS & everything.keys() for line in everything[title][1]]
    assert Counter(line.split()[0] for line in told) == Counter(list(state.steps))


def test_every_part_has_lines_before_one_has_many():
    state = state_of(1000)
    after(state, *(StepStarted(f"s{n}", 1, "", f"k{n}") for n in range(500)))
    after(state, *(StepEnded(f"s{n}", StepStatus.FAILED, "x" * 150) for n in range(500)))
    after(state, *(MemorySet(f"k{n}", n) for n in range(500)))
    found = parts(summary(state, 3000))
    assert found["Memory"][1][0] == "k499 = 499"
    assert found["Failed, latest first"][1][0].startswith("s499 ")
    assert found["Pending, in order"][1][0].startswith("s500 ")
    assert all(len(lines) >= 3 for title, (_, lines, _) in found.items() if title != "Goal")


def test_steps_that_a_change_of_plan_left_out_are_told_of():
    state = after(state_of(3), PlanChanged((), 0, 0, 3, "patch"))
    found = parts(summary(state))
    assert found["Left out"][0] == 3
    assert "Pending, in order" not in found


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 10**9), limit=st.integers(LEAST, WHOLE))
def test_a_short_summary_keeps_the_most_relevant_parts_and_counts_the_others(seed, limit):
    state = any_run(random.Random(seed))
    text, whole = summary(state, limit), summary(state, 10**7)
    assert len(text) <= limit
    assert text[:50] == whole[:50]
    if text.endswith(" more") and "\nand " in text:
        shown, everything = parts(text.rpartition("\nand ")[0]), parts(whole)
        assert list(shown) == list(everything)[: len(shown)]
        assert f"and {len(everything) - len(shown)} part" in text


def test_a_summary_of_1500_characters_tells_of_a_small_run():
    state = state_of(3)
    assert summary(state, 1500) == summary(state)


def test_a_summary_of_nothing_is_refused():
    with pytest.raises(InputError, match="give it 100 at least"):
        summary(state_of(1), LEAST - 1)


def test_memory_ranks_by_relevance_and_then_by_when_it_was_set():
    memory = Memory()
    for key, relevance in {"a": 0, "b": 2, "c": 0, "d": 2}.items():
        memory.set(key, key.upper(), relevance=relevance)
    memory.set("a", "A")
    assert [key for key, _ in memory.by_relevance()] == ["d", "b", "a", "c"]
    memory.capacity = 4
    memory.set("e", "E", relevance=1)
    assert "c" not in memory, "what is least relevant here makes room there"


def test_an_outcome_has_its_state_as_values():
    domain = Domain("trip")
    domain.action("book", provides=["booked"], tags=["trusted"])
    domain.action("confirm", requires=["booked"], provides=["confirmed"], tags=["trusted"])
    domain.action("pay", requires=["confirmed"], provides=["paid"], tags=["trusted"])
    world = World(domain)
    world.handler("book")(lambda: {"number": 7})
    world.handler("confirm")(lambda: Wait(event="confirmed"))
    world.handler("pay")(lambda: None)
    executor = Executor(world)

    first = run_virtual(executor.run(domain.problem(goal=["paid"]), run="r"))
    assert [each.step.action for each in first.current] == ["confirm"]
    assert first.counts == {StepStatus.SUCCEEDED: 1, StepStatus.WAITING: 1, StepStatus.PENDING: 1}
    assert first.last_result["data"] == {"number": 7}
    assert first.summary == summary(first.state)
    last = run_virtual(executor.resume("r", results={"s2": {"success": True, "data": "yes"}}))
    assert last.current == ()
    assert last.counts == {StepStatus.SUCCEEDED: 3}
    assert last.last_result["data"] is None
