"""`forethought runs ledger` lists what was done and what is in doubt, and people settle doubt by it."""

import asyncio
import contextlib
import json
import shutil
from pathlib import Path

import pytest
from earlier_shop import Bank, make_world
from typer.testing import CliRunner

from executor import Executor, Journal, RunStatus, World
from executor.cli.runs import app
from executor.loop.past_effects import fill_ledger
from planner import Domain


def make(bank, *, fails=True):
    domain = Domain("shop")
    domain.action("pay", provides=["paid"], tags=["irreversible"])
    world = World(domain)

    @world.handler("pay")
    def pay():
        bank.append("pay")
        if fails:
            raise ConnectionError("reset")

    return domain.problem(goal=["paid"]), world


def call(*arguments):
    found = CliRunner().invoke(app, ["ledger", *map(str, arguments)])
    return found.exit_code, found.output.splitlines()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "runs.db"


def begin(place, bank, **options):
    problem, world = make(bank, **options)
    with opened(world, place) as executor:
        return asyncio.run(executor.run(problem, run="first"))


@contextlib.contextmanager
def opened(world, place):
    """An executor whose journal is closed at the end."""
    executor = Executor(world, place)
    yield executor
    executor.journal.close()


def test_the_ledger_lists_what_was_done(place):
    begin(place, [], fails=False)
    code, lines = call(place)
    assert code == 0
    assert lines[0].split()[1:5] == ["DONE,", "as", "reported", "pay()"]
    _, told = call(place, "--json")
    assert [each["outcome"] for each in json.loads(told[0])["entries"]] == ["DONE"]


@pytest.mark.parametrize(
    ("word", "times", "status"), [("happened", 1, RunStatus.UNVERIFIED), ("not", 2, RunStatus.IN_DOUBT)]
)
def test_a_person_settles_doubt_in_the_ledger_and_the_run_goes_on_with_that(place, word, times, status):
    bank = []
    assert begin(place, bank).status is RunStatus.IN_DOUBT
    _, lines = call(place)
    id_, *rest = lines[0].split()
    assert rest[:2] == ["IN_DOUBT", "pay()"]
    code, told = call(place, f"{id_}={word}")
    assert (code, told[0]) == (0, f"settled {id_}")
    assert "'first'" in told[1]
    _, world = make(bank)
    with opened(world, place) as executor:
        assert asyncio.run(executor.resume("first")).status is status
    assert len(bank) == times


def test_nothing_else_is_settled(place):
    begin(place, [])
    for wrong in ("ffff=happened", "=happened"):
        assert call(place, wrong)[0] != 0
    _, lines = call(place)
    assert call(place, f"{lines[0].split()[0]}=perhaps")[0] != 0
    assert call(place)[1] == lines


def test_an_identity_that_no_step_has_is_named(place):
    begin(place, [])
    found = CliRunner().invoke(app, ["ledger", str(place), "zzzz=happened"])
    assert "no step under way or in doubt has an ID that begins with 'zzzz'" in str(found.exception)


def test_an_answer_in_the_ledger_reaches_every_run_that_asks(place):
    bank = []
    begin(place, bank)
    problem, world = make(bank)
    with opened(world, place) as executor:
        assert asyncio.run(executor.run(problem, run="second")).status is RunStatus.WAITING
    id_ = call(place)[1][0].split()[0]
    assert {each.split("'")[1] for each in call(place, f"{id_}=happened")[1][1:]} == {"first", "second"}
    with opened(make(bank)[1], place) as executor:
        for run in ("first", "second"):
            assert asyncio.run(executor.resume(run)).status is RunStatus.UNVERIFIED
    assert len(bank) == 1


EARLIER = Path(__file__).parents[1] / "journal/data/shop-3c9c25d5.db"


def test_runs_from_before_the_ledger_are_listed_by_their_domain(place, tmp_path):
    shutil.copy(EARLIER, place)
    code, lines = call(place)
    assert (code, len(lines)) == (0, 1)
    assert "runs from before the ledger are not listed" in lines[0]
    shop = tmp_path / "shop.py"
    shop.write_text("from earlier_shop import *\nshop = make_domain()\n", encoding="utf-8")
    listed = call(place, "--domain", shop)[1]
    assert len([each for each in listed if " DONE, " in each and " pay(" in each]) >= 3
    assert {each.split()[2] for each in listed if "IN_DOUBT" in each} == {"pay(o2)", "pay(o4)"}
    with Journal(place) as journal:
        assert not journal.ledger.is_filled("shop"), "a list changes nothing"
        fill_ledger(journal, make_world(Bank()).model, "shop")
    assert call(place)[1] == call(place, "--domain", shop)[1] == listed


def test_what_the_ledger_knows_of_an_earlier_run_is_not_filled_in_again(place):
    shutil.copy(EARLIER, place)
    world = make_world(Bank())
    with Journal(place) as journal:
        fill_ledger(journal, world.model, "shop")
        before = journal.ledger.flights(), journal.ledger.entries()
        journal._store.connection.execute("DELETE FROM filled_ledgers")
        fill_ledger(journal, world.model, "shop")
        assert (journal.ledger.flights(), journal.ledger.entries()) == before
