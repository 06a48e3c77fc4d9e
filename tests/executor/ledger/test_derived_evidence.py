"""That a derived fact is seen false says that a payment is missing only if all else is there that it follows from."""

import pytest
from office import PAY, Office

from executor import Executor, Journal, RunStatus
from executor.testing import run_virtual

MODELS = ("sequential", "parallel", "dag", "reactive", "policy")


def counter(*watched, axiom="(and (paid ?o) (closed ?o))"):
    """Return an office where an order is settled when it is paid and closed; the first payment is made, and raises."""
    office = Office(close={"provides": ["closed(o)"]}, pay=PAY)
    office.domain.predicate("domestic", "order")
    office.domain.derive("settled(o)", {"o": "order"}, axiom)
    office.watch("settled", *watched)
    office.does["pay"] = lambda: settle(office)
    return office


def settle(office):
    """Let observers see that an order is settled if it is paid and closed; lose the answer to the first payment."""
    office.truth |= {"settled(o7)"} if "closed(o7)" in office.truth else set()
    if not office.payments[1:]:
        raise ConnectionError("the line is dead")


def fail():
    raise ConnectionError("the line is dead")


def run_twice(office, place, initial=(), **options):
    """Run the problem twice in one journal; return the outcomes."""

    async def main():
        with Journal(place) as journal:
            executor = Executor(office.world, journal, **options)
            return [await executor.run(office.problem(initial=initial), join=False) for _ in range(2)]

    return run_virtual(main())


@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_settled_as_its_closing_was_lost_is_not_paid_twice(model, tmp_path):
    """The closing is only believed: nobody sees it."""
    office = counter()
    office.does["close"] = lambda: office.truth.discard("closed(o7)")
    first, later = run_twice(office, tmp_path / "runs.db", model=model)
    assert office.payments == ["pay(o7)"]
    assert first.status is RunStatus.IN_DOUBT
    assert later.questions


@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_settled_as_it_was_never_closed_is_not_paid_twice(model, tmp_path):
    """That it is closed is only stated."""
    office = counter()
    first, later = run_twice(office, tmp_path / "runs.db", model=model, initial=["closed(o7)"])
    assert office.payments == ["pay(o7)"]
    assert first.status is RunStatus.IN_DOUBT
    assert later.questions


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("axiom", ["(and (paid ?o) (closed ?o))", "(and (paid ?o) (closed ?o) (domestic ?o))"])
def test_what_is_not_settled_though_it_is_seen_to_be_closed_was_not_paid(axiom, model, tmp_path):
    """The bank has dropped the first payment. Which orders are domestic never changes: that needs no look."""
    office = counter("closed", axiom=axiom)
    office.does["pay"] = lambda: settle(office) if office.payments[1:] else fail()
    outcomes = run_twice(office, tmp_path / "runs.db", model=model, initial=["domestic(o7)"])
    assert office.payments == ["pay(o7)"] * 2
    assert outcomes[-1].status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("model", MODELS)
def test_what_is_settled_was_paid(model, tmp_path):
    office = counter()
    outcomes = run_twice(office, tmp_path / "runs.db", model=model)
    assert office.payments == ["pay(o7)"]
    assert [each.status for each in outcomes] == [RunStatus.SUCCEEDED] * 2
