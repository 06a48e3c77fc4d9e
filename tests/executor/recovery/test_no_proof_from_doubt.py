"""What is in doubt, or was only reported, is no proof that no plan exists: somebody is asked."""

from itertools import product

import pytest

from executor import ActionResult, Executor, InDoubt, NothingDone, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")
FAULTS = {
    "in doubt": lambda: _raise(InDoubt("the connection was lost")),
    "raises": lambda: _raise(RuntimeError("the connection was reset")),
    "says that it failed": lambda: ActionResult.failed("sold out"),
    "says that nothing was done": lambda: _raise(NothingDone("the line was busy")),
    "says that it is done": lambda: None,
}
OBSERVERS = {
    "nobody": None,
    "somebody": {},
    "a conclusive one": {"conclusive": True},
}
CASES = list(product(FAULTS, OBSERVERS))
SURE = ("says that it is done", "nobody")
"""A payment that is believed: nobody contradicts its handler."""


def _raise(error):
    raise error


class Shop:
    """A shop whose payment ends `due`; `paid` is seen by nobody, or falsely seen to be missing by an `observer`."""

    def __init__(self, fault, observer, *, archives=True):
        domain, self.log = Domain("shop"), []
        domain.type("order")
        order = {"o": "order"}
        domain.action("pay", order, requires=["due(o)"], provides=["paid(o)", "not due(o)"], tags=["irreversible"])
        domain.action("archive", order, requires=["paid(o)"], provides=["archived(o)"])
        self.world, self.domain, self.archives = World(domain), domain, archives

        def pay(o):
            self.log.append(f"pay {o}")
            return FAULTS[fault]()

        def archive(o):
            if self.archives:
                self.log.append(f"archive {o}")
            return self.archives

        self.world.handler("pay")(pay)
        self.world.handler("archive")(archive)
        self.world.observer("due(o)", conclusive=True, settle_within=0)(lambda o: f"pay {o}" not in self.log)
        self.world.observer("archived(o)", conclusive=True, settle_within=0)(lambda o: f"archive {o}" in self.log)
        if OBSERVERS[observer] is not None:
            self.world.observer("paid(o)", **OBSERVERS[observer])(lambda o: o == "another")

    def problem(self):
        return self.domain.problem(objects={"o7": "order"}, initial=["due(o7)"], goal=["archived(o7)"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("fault", "observer"), CASES)
def test_a_payment_that_may_have_happened_is_asked_about(fault, observer, model):
    shop = Shop(fault, observer)
    outcome = run_virtual(Executor(shop.world, model=model).run(shop.problem()))
    if (fault, observer) == SURE:
        assert outcome.status is RunStatus.SUCCEEDED
        assert shop.log == ["pay o7", "archive o7"]
        return
    assert outcome.status is RunStatus.IN_DOUBT, outcome.reason
    assert outcome.missing is None
    assert [each.step for each in outcome.questions] == ["s1"]
    assert shop.log == ["pay o7"]


@pytest.mark.parametrize(("fault", "observer"), [each for each in CASES if each != SURE])
@pytest.mark.parametrize("happened", [True, False])
def test_the_answer_decides(fault, observer, happened):
    shop = Shop(fault, observer)
    executor = Executor(shop.world)

    async def story():
        first = await executor.run(shop.problem())
        (question,) = first.questions
        said = "it happened" if happened else "it did not happen"
        return await executor.resume(first.run, answers={question.question: said})

    outcome = run_virtual(story())
    is_believed = happened and observer != "a conclusive one"
    assert shop.log == (["pay o7", "archive o7"] if is_believed else ["pay o7"])
    assert outcome.succeeded is is_believed
    assert outcome.missing is None or not happened


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("fault", "observer"), CASES)
def test_another_run_asks_about_the_payment_though_its_plan_cannot_begin(fault, observer, model):
    shop = Shop(fault, observer, archives=False)

    async def story():
        await Executor(shop.world, model=model).run(shop.problem())
        return await Executor(shop.world, model=model).run(shop.problem(), join=False)

    second = run_virtual(story())
    assert second.status is RunStatus.WAITING, second.reason
    assert second.missing is None
    assert len(second.questions) == 1
    assert shop.log == ["pay o7"]


@pytest.mark.parametrize("fault", ["in doubt", "says that it is done"])
def test_another_run_goes_on_from_what_somebody_says_of_the_payment(fault):
    shop = Shop(fault, "nobody", archives=False)
    executor = Executor(shop.world)

    async def story():
        await executor.run(shop.problem())
        shop.archives = True
        second = await executor.run(shop.problem(), join=False)
        (question,) = second.questions
        said = "it happened" if fault == "in doubt" else "it is so already"
        assert said in question.choices
        return await executor.resume(second.run, answers={question.question: said})

    outcome = run_virtual(story())
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert shop.log == ["pay o7", "archive o7"]


def test_what_is_conclusively_missing_proves_it_still():
    shop = Shop("says that it failed", "nobody")
    shop.world.observer("paid(o)", conclusive=True, settle_within=0)(lambda o: o == "another")
    outcome = run_virtual(Executor(shop.world).run(shop.problem()))
    assert outcome.status is RunStatus.IMPOSSIBLE
    assert outcome.steps[0].status is StepStatus.PARTIAL
