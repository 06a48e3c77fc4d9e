"""The page of a run: every kind of event is told with who said it, and attempts end where the journal says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from executor.desk.pages import document as doc
from executor.desk.pages.run_page import run_page
from executor.events import events
from executor.events.events import Note, Provenance, Rung, RunStatus, StepStatus, event_to_data
from executor.journal import Journal
from planner.errors import InputError
from planner.model import Atom

SEEN = (Note(Atom("hot"), True, Provenance.OBSERVED, "thermometer"), Note(Atom("tea"), None, Provenance.UNKNOWN))
PLAN = {
    "id": "p",
    "name": "afternoon",
    "steps": [
        {"id": "s1", "action": "boil", "arguments": {"pot": "kettle"}, "cost": 2},
        {"id": "s2", "action": "brew", "arguments": {}, "depends_on": ["s1"], "cost": None},
        {"id": "s3", "action": "drink", "arguments": {}, "depends_on": ["s2"]},
    ],
}
STORY = [
    events.RunStarted("r", PLAN, "sequential", {"guest": "ada"}),
    events.ParametersFilled("s1", {"litres": 2}, "two cups", metrics={"tokens": 120, "cost": 0.25}),
    events.ParametersChanged("s1", {"litres": 1}, "the thrift hook"),
    events.StepStarted("s1", 1, "main", "r/s1", {"litres": 1}, {"litres": "language model"}),
    events.ModelAsked("s1", {"tokens": 30, "cost": 0.05}),
    events.StepProgress("s1", "warming", 0.5),
    events.StepReturned("s1", {"success": False, "error": "no power"}, raised="PowerError"),
    events.RungTaken(Rung.RETRY, "s1", "retry: again", cost=2, seconds=0.5),
    events.StepStarted("s1", 2, "stove", "r/s1"),
    events.StepReturned("s1", {"success": True, "text": "hot"}),
    events.StepEnded("s1", StepStatus.SUCCEEDED, facts=SEEN),
    events.FactsSeen(SEEN, "a look"),
    events.TimePassed(1, SEEN),
    events.ObjectsFound({"cup7": ("cup",)}, "the cupboard"),
    events.Disagreement((Atom("hot"),), "two thermometers differ"),
    events.StepStarted("s2", 1, "main", "r/s2"),
    events.ChildBegun("s2", "bell-run"),
    events.StepWaiting("s2", {"text": "for the bell"}, 3.0),
    events.Asked("q1", "s2", "May it be brewed?", ("yes", "no"), ("tea = green",)),
    events.Answered("q1", "yes"),
    events.StepReturned("s2", {}, doubt="timed out"),
    events.StepEnded("s2", StepStatus.IN_DOUBT, "nobody saw it"),
    events.PlanChanged(({"id": "s4", "action": "pour", "arguments": {}},), 0, 1, 1, "patch"),
    events.GoalDropped("cake", 3.0),
    events.GoalChanged({}, "tea will do"),
    events.MemorySet("mood", "calm"),
    events.MemoryDropped(("mood", "tune")),
    events.HandlerRaised("s1", "Traceback (most recent call last):\nPowerError: no power"),
    events.ProvedImpossible({"missing": "cake"}),
    events.RunResumed("r"),
    events.RunEnded(RunStatus.WAITING, "the bell\nis silent"),
]


@pytest.fixture
def journal(tmp_path: Path):
    with Journal(tmp_path / "runs.db") as opened:
        yield opened


def keep(journal: Journal, story) -> doc.Page:
    journal.create("r")
    with journal.drive("r"):
        for second, event in enumerate(story):
            data = json.dumps(event_to_data(event))
            journal.append("r", type(event).__name__, data, status="ACTIVE", at=1000.0 + second)
    return run_page(journal, "r")


def test_the_story_has_every_kind_of_event() -> None:
    assert {type(each) for each in STORY} == {*events.KINDS.values()}


def test_every_event_is_told_with_who_said_it(journal: Journal) -> None:
    page = keep(journal, STORY)
    told = page.run.events
    assert [each.kind for each in told] == [type(each).__name__ for each in STORY]
    assert all(each.text and each.who for each in told)
    assert [each.time for each in told] == list(range(len(STORY)))
    said = {each.kind: each.who for each in told}
    assert said["ParametersFilled"] == "language model"
    assert said["ParametersChanged"] == "the thrift hook"
    assert said["FactsSeen"] == "thermometer"
    assert said["Answered"] == "person"
    assert said["RungTaken"] == "recovery"
    assert next(each.text for each in told if each.kind == "RungTaken").startswith("retry of boil(kettle): ")
    assert doc.from_data(json.loads(doc.to_json(page))) == page


def test_attempts_end_with_their_events(journal: Journal) -> None:
    page = keep(journal, STORY)
    boil, brew, drink, pour = page.steps
    assert [(each.begin, each.end, each.status, each.skill) for each in boil.attempts] == [
        (3, 6, "failed", "main"),
        (8, 10, "succeeded", "stove"),
    ]
    assert boil.parameters == ("pot",)
    assert [each.status for each in brew.attempts] == ["in doubt"]
    assert (drink.status, pour.because) == ("skipped", "patch")


def test_the_head_counts_what_it_took(journal: Journal) -> None:
    page = keep(journal, STORY)
    figures = {each.label: each.value for each in page.figures}
    assert figures["steps done"] == "1 of 3", "one of the four was skipped"
    assert figures["tokens"] == "150"
    assert figures["money"] == "0.3"
    assert figures["recoveries"] == figures["changes of the plan"] == figures["questions"] == "1"
    assert figures["status"] == "waiting"
    assert page.notes == ("the bell", "is silent")


def test_the_latest_run_is_shown_unless_one_is_named(journal: Journal) -> None:
    keep(journal, STORY[:1])
    journal.create("later")
    assert run_page(journal, "r").subtitle == "run r"
    with pytest.raises(InputError, match="later has not begun"):
        run_page(journal, "later")


def test_a_journal_without_runs_is_told(journal: Journal) -> None:
    with pytest.raises(InputError, match="has no runs"):
        run_page(journal)
