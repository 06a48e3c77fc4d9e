"""Several handlers of one action: which is called, which after it has failed, and which never; all in virtual time."""

import asyncio
import itertools

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, Rung, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, InputError

OBSERVED = {"nobody": None, "somebody": False, "conclusively": True}


class Died(BaseException):
    """The process died."""


class Desk:
    """Sends letters by mail or by hand; `script` says what each handler does in turn, and after that it sends."""

    def __init__(self, *, tags=(), observed="conclusively", policy=None, names=("mail", "hand")):
        self.sent, self.calls = [], []
        self.script = {name: [] for name in names}
        self.domain = Domain("desk", types=["letter"])
        self.domain.action("send", {"letter": "letter"}, provides=["sent(letter)"], tags=tags)
        self.world = World(self.domain)
        for name in names:
            self.world.handler("send", name=name, policy=policy)(self.handler(name))
        if OBSERVED[observed] is not None:
            self.world.observer("sent(letter)", conclusive=OBSERVED[observed])(lambda letter: letter in self.sent)

    def handler(self, name):
        async def send(letter):
            self.calls.append(name)
            answer = self.script[name].pop(0) if self.script[name] else None
            if isinstance(answer, Exception):
                raise answer
            if answer is None:
                self.sent.append(letter)
            return answer

        return send

    def run(self, letters=("a",), **options):
        problem = self.domain.problem(objects=dict.fromkeys(letters, "letter"), goal=[f"sent({x})" for x in letters])
        return run_virtual(Executor(self.world, **options).run(problem))


@pytest.mark.parametrize(
    ("observed", "options"),
    [
        ("conclusively", {}),
        ("conclusively", {"policy": ExecutionPolicy(retries=0)}),
        ("somebody", {"policy": ExecutionPolicy(retries=1)}),
        ("somebody", {"tags": ["idempotent"]}),
        ("nobody", {"policy": ExecutionPolicy(retries=1)}),
        ("nobody", {"tags": ["idempotent"]}),
    ],
)
@pytest.mark.parametrize("answer", [False, ActionResult.failed("no stamps")])
def test_another_handler_is_called_where_the_first_says_that_it_failed(answer, observed, options):
    desk = Desk(observed=observed, **options)
    desk.script["mail"] = [answer]
    outcome = desk.run()
    assert desk.calls == ["mail", "hand"]
    assert desk.sent == ["a"]
    assert outcome.status is (RunStatus.UNVERIFIED if observed == "nobody" else RunStatus.SUCCEEDED)
    assert [each.rung for each in outcome.state.rungs] == [Rung.SKILL]


@pytest.mark.parametrize("observed", ["nobody", "somebody"])
@pytest.mark.parametrize("retries", [None, 0])
def test_none_is_called_where_nobody_knows_that_the_first_did_nothing_and_the_reason_says_so(observed, retries):
    desk = Desk(observed=observed, policy=ExecutionPolicy(retries=retries))
    desk.script["mail"] = [False]
    outcome = desk.run()
    assert desk.calls == ["mail"]
    assert "no other handler is called" in outcome.steps[0].reason


@pytest.mark.parametrize(
    ("tags", "observed", "calls"),
    [
        ((), "nobody", ["mail"]),
        ((), "somebody", ["mail"]),
        ((), "conclusively", ["mail", "hand"]),
        (("idempotent",), "nobody", ["mail", "hand"]),
    ],
)
@pytest.mark.parametrize("failure", ["raises", "hangs"])
def test_none_is_called_where_the_first_may_have_done_it(failure, tags, observed, calls):
    desk = Desk(tags=tags, observed=observed, policy=ExecutionPolicy(timeout=1.0))
    if failure == "raises":
        desk.script["mail"] = [OSError("the line is dead")]
    else:
        desk.world.handler("send", name="mail")(hanging(desk))
        desk.world.handler("send", name="hand")(desk.handler("hand"))
    outcome = desk.run()
    assert desk.calls == calls
    assert (outcome.status is RunStatus.FAILED) is (desk.sent == [] and failure == "raises")


def hanging(desk):
    async def send(letter):  # noqa: ARG001 - handlers take what the action has
        desk.calls.append("mail")
        await asyncio.sleep(1000)

    return send


def test_what_fails_is_put_off_though_its_step_was_done_by_another():
    desk = Desk()
    desk.script["mail"] = [False]
    outcome = desk.run(("a", "b", "c"))
    assert desk.calls == ["mail", "hand", "hand", "hand"]
    assert outcome.state.failed_skills["send"] == {"mail": 1}
    assert [each.failed for each in outcome.steps] == [("mail",), (), ()]


def test_in_order_each_handler_has_its_retries():
    desk = Desk(policy=ExecutionPolicy(retries=1, skills="in order", backoff=0, jitter=0))
    desk.script["mail"] = [False] * 4
    outcome = desk.run(("a", "b"))
    assert desk.calls == ["mail", "mail", "hand", "mail", "mail", "hand"]
    assert outcome.status is RunStatus.SUCCEEDED


def test_best_first_every_handler_has_its_retries():
    desk = Desk(tags=["idempotent"], policy=ExecutionPolicy(retries=1, backoff=0, jitter=0))
    desk.script = {"mail": [False] * 9, "hand": [False] * 9}
    desk.run()
    assert desk.calls == ["mail", "hand", "mail", "hand"]


def test_a_function_chooses_by_name_and_by_what_failed():
    asked = []

    def last(names, failed):
        asked.append((names, dict(failed)))
        return names[-1]

    desk = Desk(names=("mail", "hand", "pigeon"), policy=ExecutionPolicy(skills=last))
    desk.script["pigeon"] = [False]
    assert desk.run().status is RunStatus.SUCCEEDED
    assert desk.calls == ["pigeon", "hand"]
    assert asked == [
        (("mail", "hand", "pigeon"), {"mail": 0, "hand": 0, "pigeon": 0}),
        (("mail", "hand"), {"mail": 0, "hand": 0}),
    ]


@pytest.mark.parametrize("choose", [lambda *_: "fax", lambda *_: 1 / 0])
def test_a_function_that_chooses_none_fails_the_step_and_nothing_is_called(choose):
    desk = Desk(policy=ExecutionPolicy(skills=choose))
    outcome = desk.run()
    assert desk.calls == []
    assert outcome.status is RunStatus.FAILED
    assert "no handler was chosen" in outcome.steps[0].reason


def test_a_way_to_choose_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="best first, in order"):
        ExecutionPolicy(skills="worst first")


def test_what_failed_before_a_crash_counts_after_it(tmp_path):
    """The process dies at every write of a run in which one handler fails: nothing is sent twice, nor by the other."""
    for at in itertools.count(1):
        desk = Desk()
        desk.script["mail"] = [False]
        executor = Executor(desk.world, journal=tmp_path / f"{at}.db")
        writes, append = itertools.count(1), executor.journal.append

        def dying(*arguments, writes=writes, append=append, last=at, **options):
            if next(writes) >= last:
                raise Died
            append(*arguments, **options)

        executor.journal.append = dying
        problem = desk.domain.problem(objects={"a": "letter", "b": "letter"}, goal=["sent(a)", "sent(b)"])
        try:
            outcome = run_virtual(executor.run(problem, run="r"))
        except Died:
            executor.journal.close()
        else:
            assert at > 5
            break
        if at > 1:
            outcome = run_virtual(Executor(desk.world, journal=tmp_path / f"{at}.db").resume("r"))
            assert outcome.status is RunStatus.SUCCEEDED
            assert sorted(desk.sent) == ["a", "b"]
            assert desk.calls.count("mail") <= 2
