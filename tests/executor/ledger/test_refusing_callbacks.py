"""A callback that refuses a step speaks for a person: no other irreversible step does the same unasked."""

import pytest

from executor import Executor, RunStatus, World
from executor.journal import Journal
from executor.testing import run_virtual
from planner import Domain

REFUSALS = (False, "no", "no: not this supplier", "never")


class Shop:
    """A shop that is `paid` by card or, at a higher price, by wire; nobody sees what was paid."""

    def __init__(self, *tags):
        self.paid, domain = [], Domain("shop")
        domain.action("card", provides=["settled"], tags=["trusted", *tags])
        domain.action("wire", provides=["settled"], tags=["irreversible", "trusted"], cost=5)
        self.world, self.problem = World(domain), domain.problem(goal=["settled"])
        for name in ("card", "wire"):
            self.world.handler(name)(lambda name=name: self.paid.append(name))


def decide(said):
    """Return a callback that says so of the card and allows all else; it raises an exception that is said."""

    def callback(request):
        if request.action == "card" and isinstance(said, Exception):
            raise said
        return said if request.action == "card" else True

    return callback


@pytest.mark.parametrize("said", REFUSALS)
@pytest.mark.parametrize("callback", ["permit", "approve"])
@pytest.mark.parametrize("tags", [("irreversible", "needs_approval"), ("needs_approval",)], ids=str)
def test_another_way_is_asked_about(callback, said, tags, tmp_path):
    shop, options = Shop(*tags), {"approve": lambda _: True, callback: decide(said)}
    with Journal(tmp_path / "runs.db") as journal:
        outcome = run_virtual(Executor(shop.world, journal, **options).run(shop.problem))
        assert [(each.text, each.outcome.name) for each in journal.ledger.entries()] == [("card()", "REFUSED")]
    assert outcome.status is RunStatus.WAITING, outcome.reason
    assert "card() is for the same, and it was refused" in outcome.questions[0].text.lower()
    assert shop.paid == []


@pytest.mark.parametrize("callback", ["permit", "approve"])
def test_a_callback_that_raises_has_refused_nothing(callback, tmp_path):
    shop, options = Shop("irreversible", "needs_approval"), {"approve": lambda _: True}
    options[callback] = decide(OSError("no line"))
    with Journal(tmp_path / "runs.db") as journal:
        outcome = run_virtual(Executor(shop.world, journal, **options).run(shop.problem))
        assert [each.text for each in journal.ledger.entries()] == ["wire()"]
    assert (outcome.status, shop.paid) == (RunStatus.SUCCEEDED, ["wire"])
