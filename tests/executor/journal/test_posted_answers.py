"""Answers that are posted to a run in the journal: checked as the run checks them, and taken by its driver."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from executor import Executor, NoRunError, Wait, World
from executor.errors import RunError
from executor.events import events
from executor.events.answers import identify_question
from executor.events.events import RunStatus, event_to_data
from executor.events.open_questions import OpenQuestions, load_open_questions, post_answer
from executor.journal import AnyJournal, open_journal
from executor.testing import run_virtual
from executor.workers.worker import Worker
from planner import Domain
from planner.cli import main as command
from planner.errors import InputError

ASKED = events.Asked("approve:s1", "s1", "May it be sent?", ("yes", "no"), ("to = ada",))
DRIVER = """
import sys
from executor.journal import open_journal

with open_journal(sys.argv[1]) as journal, journal.drive("r"):
    print("driving", flush=True)
    sys.stdin.read()
"""


def keep(journal: AnyJournal, *story: events.Event) -> None:
    journal.create("r")
    with journal.drive("r"):
        for event in story:
            journal.append("r", type(event).__name__, json.dumps(event_to_data(event)))


def letters() -> tuple[World, list[str]]:
    """Return a world with a step that needs an approval, and what it has sent."""
    domain, sent = Domain("post"), []
    domain.action("seal", {}, provides=["sealed"])
    domain.action("send", {}, requires=["sealed"], provides=["sent"], tags=["irreversible", "needs_approval"])
    world = World(domain)
    world.handler("seal")(lambda: None)
    world.observer("sealed")(lambda: True)
    world.handler("send")(lambda: sent.append("letter"))
    world.observer("sent")(lambda: bool(sent))
    return world, sent


def test_an_answer_is_kept_until_it_is_taken(journal: AnyJournal) -> None:
    keep(journal, ASKED)
    post_answer(journal, "r", "approve:s1", "no: not today")
    (posted,) = journal.posted.read("r")
    assert (posted.question, json.loads(posted.answer), posted.objection) == ("approve:s1", "no: not today", "")
    assert posted.shown == identify_question(ASKED)
    post_answer(journal, "r", "approve:s1", "yes")
    journal.posted.remove("r", posted)  # another one was posted meanwhile: that stays
    (newer,) = journal.posted.read("r")
    assert json.loads(newer.answer) == "yes"
    journal.posted.refuse("r", newer, "too late")
    assert journal.posted.read("r")[0].objection == "too late"
    assert journal.posted.read("other") == []


def test_answers_go_with_their_run(journal: AnyJournal) -> None:
    keep(journal, ASKED)
    post_answer(journal, "r", "approve:s1", "yes")
    journal.delete("r")
    assert journal.posted.read("r") == []


@pytest.mark.parametrize(
    ("question", "answer", "what"),
    [
        ("approve:s1", "perhaps", "is no answer to 'approve:s1'; say one of: yes, no"),
        ("approve:s1", 7, "is no answer"),
        ("approve:s2", "yes", "does not ask 'approve:s2'; it asks approve:s1"),
    ],
)
def test_an_answer_that_means_nothing_is_refused(journal: AnyJournal, question: str, answer, what: str) -> None:
    keep(journal, ASKED)
    with pytest.raises(InputError, match=what):
        post_answer(journal, "r", question, answer)
    assert journal.posted.read("r") == []


def test_an_answer_counts_for_what_was_shown_alone(journal: AnyJournal) -> None:
    newer = events.Asked("approve:s1", "s1", "May it be sent?", ("yes", "no"), ("to = eve",))
    keep(journal, ASKED, newer)
    with pytest.raises(RunError, match="is not what it was"):
        post_answer(journal, "r", "approve:s1", "yes", shown=identify_question(ASKED))
    post_answer(journal, "r", "approve:s1", "yes", shown=identify_question(newer))


def test_an_unknown_run_has_no_questions(journal: AnyJournal) -> None:
    with pytest.raises(NoRunError):
        post_answer(journal, "nobody", "approve:s1", "yes")


@pytest.mark.parametrize(
    ("event", "open_after"),
    [
        (events.Answered("approve:s1", "yes"), False),
        (events.StepEnded("s1", events.StepStatus.SKIPPED), False),
        (events.StepEnded("s1", events.StepStatus.FAILED), True),
        (events.StepEnded("s2", events.StepStatus.SUCCEEDED), True),
        (events.PlanChanged(({"id": "s2"},), 0, 1, 1, ""), False),
        (events.PlanChanged(({"id": "s1"},), 1, 0, 0, ""), True),
        (events.RunEnded(RunStatus.FAILED), False),
        (events.RunEnded(RunStatus.WAITING), True),
    ],
)
def test_questions_close_with_what_they_are_about(event: events.Event, open_after: bool) -> None:
    found = OpenQuestions()
    found.take(ASKED)
    found.take(event)
    assert bool(found.asked) is open_after


def test_a_run_at_work_takes_a_posted_answer_at_once(place) -> None:
    world, sent = letters()

    async def main():
        run = Executor(world, journal=place, stay=True).start(world.domain.problem(goal=["sent"]), run="r")
        async for event in run.events():
            if isinstance(event, events.Asked):
                break
        with open_journal(place) as elsewhere:
            assert [*load_open_questions(elsewhere, "r")] == [event.question]
            assert elsewhere.is_driven("r")
            post_answer(elsewhere, "r", event.question, "yes")
            outcome = await asyncio.wait_for(run, 60)
            assert elsewhere.posted.read("r") == []
            assert not elsewhere.is_driven("r")
        return outcome

    assert asyncio.run(main()).status is RunStatus.SUCCEEDED
    assert sent == ["letter"]


def test_a_run_that_is_taken_up_takes_what_was_posted(place) -> None:
    world, sent = letters()
    executor = Executor(world, journal=place)
    waits = asyncio.run(executor.run(world.domain.problem(goal=["sent"]), run="r"))
    assert (waits.status, sent) == (RunStatus.WAITING, [])
    (asked,) = waits.questions
    post_answer(executor.journal, "r", asked.question, "no: it rains")
    ended = asyncio.run(executor.resume("r"))
    assert "it rains" in ended.reason
    assert sent == []
    assert executor.journal.posted.read("r") == []


def test_an_answer_to_what_has_changed_is_not_taken_but_told(place) -> None:
    world, sent = letters()
    executor = Executor(world, journal=place)
    (asked,) = asyncio.run(executor.run(world.domain.problem(goal=["sent"]), run="r")).questions
    executor.journal.posted.post("r", asked.question, "what was shown before", '"yes"')
    ended = asyncio.run(executor.resume("r"))
    assert (ended.status, sent) == (RunStatus.WAITING, [])
    assert "has changed" in executor.journal.posted.read("r")[0].objection


def test_an_answer_that_came_too_late_is_kept_with_the_objection(place) -> None:
    world, sent = letters()
    executor = Executor(world, journal=place)
    (asked,) = asyncio.run(executor.run(world.domain.problem(goal=["sent"]), run="r")).questions
    post_answer(executor.journal, "r", asked.question, "no")
    ended = asyncio.run(executor.resume("r", answers={asked.question: "yes"}))
    assert (ended.status, sent) == (RunStatus.SUCCEEDED, ["letter"])
    [late] = executor.journal.posted.read("r")
    assert (late.question, "came too late" in late.objection) == (asked.question, True)


def test_a_worker_takes_up_what_was_answered(place) -> None:
    world, sent = letters()
    executor = Executor(world, journal=place)
    worker = Worker(executor)
    (asked,) = asyncio.run(executor.run(world.domain.problem(goal=["sent"]), run="r")).questions
    asyncio.run(worker.work(once=True))
    assert worker.done == 0
    post_answer(executor.journal, "r", asked.question, "yes")
    assert executor.journal.posted.runs() == {"r"}
    asyncio.run(worker.work(once=True))
    assert (worker.done, sent, executor.journal.posted.runs()) == (1, ["letter"], set())
    executor.journal.close()


def test_followers_get_each_event_once_and_learn_that_there_is_none_yet(journal: AnyJournal) -> None:
    journal.create("r")
    entries = journal.follow("r")
    assert next(entries) is None
    with journal.drive("r"):
        journal.append("r", "A", "{}")
        journal.append("r", "B", "{}")
        assert [next(entries).kind, next(entries).kind, next(entries)] == ["A", "B", None]
        journal.append("r", "C", "{}")
    assert [next(entries).kind, next(entries)] == ["C", None]
    journal.delete("r")
    with pytest.raises(NoRunError):
        next(entries)


def test_other_processes_see_who_drives(journal: AnyJournal, place) -> None:
    journal.create("r")
    journal.create("s")
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "driving\n"
        assert [journal.is_driven(each) for each in "rs"] == [True, False]
        with journal.drive("s"):
            assert journal.is_driven("s")
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    assert not journal.is_driven("r")


LETTERS = """
from executor import World
from planner import Domain

domain, sent = Domain("post"), []
domain.action("send", {}, provides=["sent"], tags=["irreversible", "needs_approval"])
world = World(domain)
world.handler("send")(lambda: sent.append("letter"))
world.observer("sent")(lambda: bool(sent))
problem = domain.problem("letter", goal=["sent"])
"""


def test_the_command_stays_for_answers_and_another_gives_them(tmp_path: Path, capsys) -> None:
    (tmp_path / "letters.py").write_text(LETTERS, encoding="utf-8")
    words = [sys.executable, "-m", "planner.cli", "run", "letters.py", "--real", "--journal", "runs.db"]
    options = ("--stay", "--json", "--time-limit", "none")
    process = subprocess.Popen(
        [*words, *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        name = wait_for_question(tmp_path / "runs.db")
        with pytest.raises(SystemExit):
            command(["runs", "answer", str(tmp_path / "runs.db"), name])
        assert "May send() be done?" in capsys.readouterr().out
        with pytest.raises(SystemExit):
            command(["runs", "answer", str(tmp_path / "runs.db"), name, "approve:s1=yes"])
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert json.loads(out)["status"] == "SUCCEEDED", err


def test_a_step_that_waits_for_a_choice_is_listed_beside_the_questions(tmp_path: Path, capsys) -> None:
    domain = Domain("desk")
    domain.action("sign", provides=["signed"], tags=["trusted"])
    world, place = World(domain), tmp_path / "runs.db"
    world.handler("sign")(lambda: Wait("Ada approves", choices=("yes", "no")))
    executor = Executor(world, place)
    run_virtual(executor.run(domain.problem(goal=["signed"]), run="r"))
    with pytest.raises(RunError, match=r"the step waits for an answer to wait:s1"):
        post_answer(executor.journal, "r", "s1", "yes")
    with pytest.raises(SystemExit):
        command(["runs", "answer", str(place), "r"])
    listed = "wait:s1  Ada approves (yes or no)\n    sign() waits\n"
    assert capsys.readouterr().out == listed
    post_answer(executor.journal, "r", "wait:s1", "yes")
    with pytest.raises(SystemExit):
        command(["runs", "answer", str(place), "r"])
    assert capsys.readouterr().out == listed + '    answered, and not taken yet: "yes"\n'
    run_virtual(executor.resume("r"))
    with pytest.raises(SystemExit):
        command(["runs", "answer", str(place), "r"])
    assert capsys.readouterr().out == ""


def wait_for_question(path: Path) -> str:
    """Wait until the only run in the journal at `path` asks something, and return its id."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if path.is_file():
            with open_journal(path) as journal:
                for run in journal.runs():
                    if load_open_questions(journal, run.run):
                        return run.run
        time.sleep(0.1)
    raise AssertionError("nothing was asked")


def test_staying_needs_a_journal(capsys) -> None:
    with pytest.raises(SystemExit) as end:
        command(["run", "courier", "--stay", "--time-limit", "none"])
    assert end.value.code == 2
    assert "--journal PLACE" in capsys.readouterr().err


def test_runs_are_listed_where_nothing_can_be_written(tmp_path: Path, capsys, monkeypatch) -> None:
    world, _ = letters()
    executor = Executor(world, tmp_path / "runs.db")
    asyncio.run(executor.run(world.domain.problem(goal=["sent"]), run="r"))
    executor.journal.close()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    monkeypatch.setattr(
        "os.access", lambda path, mode: mode != os.W_OK or tmp_path not in (Path(path), Path(path).parent)
    )
    for words in (["list"], ["answer", "r"]):
        with pytest.raises(SystemExit) as ended:
            command(["runs", words[0], str(tmp_path / "runs.db"), *words[1:]])
        assert not ended.value.code
    out = capsys.readouterr().out
    assert "r  WAITING" in out
    assert "approve:s2  May send() be done? (yes or no)" in out
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
