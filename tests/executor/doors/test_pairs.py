"""Two doors in one story: whoever asks again comes through the other one, and every promise holds.

A share of the pairs with each commit, all of them in `make test-all`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doors.campaign import Tale, draw_at_pair, shrink
from doors.cells import LEAVE_DOUBT, find_broken, judge, list_pair_cells
from doors.door import find_doors, list_pairs
from doors.story import play

from executor.loop.flights import Flights
from executor.loop.step_identity import Brought

TESTS = Path(__file__).parents[2]
CELLS = list_pair_cells()
BLOCKS = 144
OF_PAYMENTS = (
    "irreversible at most once",
    "not before what can fail",
    "approval honoured",
    "no means no",
    "looked at before",
    "already so",
    "success only if observed",
)
"""The promises that random stories at two doors are judged by."""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_at_every_pair_of_doors(block):
    found = {str(cell): judge(cell)[1] for cell in CELLS[block::BLOCKS]}
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_stories_at_two_doors_pay_as_promised(seed):
    tales = [draw_at_pair(number) for number in range(seed, 24 * 20, 24)]
    found = {str(tale): [each for each in tale.play()[1] if each.startswith(OF_PAYMENTS)] for tale in tales}
    assert {token: broken for token, broken in found.items() if broken} == {}


def test_each_plain_door_is_in_pairs_with_all_that_have_a_journal_as_it_has():
    pairs = [find_doors(each) for each in list_pairs()]
    assert {made.flavour for pair in pairs for made in pair} == {"plain"}
    assert all(first.has_journal == second.has_journal for first, second in pairs)
    assert {"sequential+agent", "agent+sequential", "without journal+calls without journal"} <= {*list_pairs()}
    assert {each.fault.name for each in CELLS} == {*LEAVE_DOUBT, "none"}


def test_whoever_asks_again_comes_through_the_second_door(tmp_path):
    cell = next(each for each in CELLS if str(each) == "sequential+planned-calls:raises-after-acting:blind")
    story = play(find_doors(cell.door), cell.scene, cell.fault, tmp_path)
    assert story.names == ["sequential", "planned calls"]
    assert len({each.run for each in story.asked}) > 1
    assert find_broken(story) == []


def test_a_token_tells_a_story_at_two_doors_again():
    for seed in range(60):
        tale = draw_at_pair(seed)
        assert Tale.parse(str(tale)) == tale
        assert tale.door in list_pairs()


def test_pairs_find_a_bug_that_no_door_alone_shows(monkeypatch):
    """Each execution model is given identities of its own."""
    identify = Flights.identify
    monkeypatch.setattr(Flights, "identify", lambda self, record: f"{self.state.plan.model}{identify(self, record)}")
    monkeypatch.setattr(Flights, "describe", lambda *_: Brought({}, {}))  # by no fact does one find the other
    told = "/ blind / raises after / ask"
    assert not any(Tale.parse(f"{door} {told}").play()[1] for door in ("sequential", "dag"))
    tale = Tale.parse(f"sequential+dag {told}")
    broken = tale.play()[1]
    assert any(each.startswith("irreversible at most once") for each in broken)
    assert str(shrink(tale, broken)) == "sequential+dag / blind /  / "


@pytest.mark.parametrize("token", ["sequential+agent / blind / dies after / ask |", "agent+worker / / / | ask"])
def test_a_story_at_two_doors_happens_in_real_processes(token):
    command = [sys.executable, "-m", "doors.campaign", "--processes", "--only", token]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[1:3] for line in done.stdout.splitlines()].count(["act", "pay"]) == 1
