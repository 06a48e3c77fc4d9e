"""What runs have shown of actions: what counts as what, what is made of it, and that plans follow it."""

import asyncio
from collections import Counter
from decimal import Decimal

import pytest

from executor import (
    ActionResult,
    ExecutionPolicy,
    Executor,
    Experience,
    Learning,
    Metrics,
    RunStatus,
    StepStatus,
    Wait,
    World,
    learn,
)
from executor.events.events import KINDS
from executor.journal import Journal
from executor.learning.attempts import READ, AttemptReader
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Case, Domain, InputError, Outcome, Status, expected_costs, load, solve


class Lamp:
    """A lamp that a handler lights; `answers` are what it returns or raises, in turn, and whether it was lit then."""

    def __init__(self, *answers, seen=True, conclusive=True, tags=(), policy=None, **declared):
        self.lit, self.answers = False, list(answers)
        self.domain = Domain("room")
        self.domain.action("light", {}, provides=["lit"], tags=tags, **declared)
        self.world = World(self.domain)
        self.world.handler("light", policy=policy or ExecutionPolicy(retries=0))(self.light)
        if seen:
            self.world.observer("lit", conclusive=conclusive)(lambda: self.lit)

    async def light(self):
        works, answer = self.answers.pop(0) if self.answers else (True, None)
        self.lit = self.lit or works
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, int):
            await asyncio.sleep(answer)
            return None
        return answer

    def run(self, journal, **options):
        problem = self.domain.problem(goal=["lit"])
        return run_virtual(Executor(self.world, journal=journal, **options).run(problem))


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "runs.db") as opened:
        yield opened


def counts(journal, action="light"):
    tally = learn(journal).of(action)
    return tally.done, tally.said, tally.failed, tally.open


def test_what_was_seen_to_be_done_is_done(journal):
    assert Lamp().run(journal).steps[0].status is StepStatus.SUCCEEDED
    assert counts(journal) == (1, 0, 0, 0)


def test_what_nobody_looked_at_is_done_by_the_word_of_its_handler(journal):
    assert Lamp(seen=False).run(journal).steps[0].status is StepStatus.UNVERIFIED
    assert counts(journal) == (0, 1, 0, 0)


@pytest.mark.parametrize("answer", [ActionResult.failed("no power"), RuntimeError("no power"), None])
def test_what_did_not_come_about_has_failed(journal, answer):
    outcome = Lamp((False, answer)).run(journal)
    assert outcome.steps[0].status is StepStatus.FAILED
    assert counts(journal)[2] == len(outcome.steps)


def test_every_attempt_counts_for_itself(journal):
    failed = (False, ActionResult.failed("no power"))
    outcome = Lamp(failed, failed, policy=ExecutionPolicy(retries=5)).run(journal)
    assert outcome.status is RunStatus.SUCCEEDED
    assert counts(journal) == (1, 0, 2, 0)


def test_an_answer_that_never_came_is_settled_by_what_is_seen(journal):
    policy = ExecutionPolicy(timeout=5.0, retries=1)
    assert Lamp((False, 100), policy=policy).run(journal).status is RunStatus.SUCCEEDED
    assert counts(journal) == (1, 0, 1, 0)
    assert Lamp((True, 100), policy=policy).run(journal).status is RunStatus.SUCCEEDED
    assert counts(journal) == (2, 0, 1, 0)


def test_what_is_in_doubt_counts_when_somebody_has_settled_it(journal):
    lamp = Lamp((False, 100), seen=False, policy=ExecutionPolicy(timeout=5.0, retries=0))
    outcome = lamp.run(journal, ask="later")
    assert outcome.status is RunStatus.IN_DOUBT
    assert counts(journal) == (0, 0, 0, 1)
    answers = {f"doubt:{outcome.steps[0].id}": "it happened"}
    run_virtual(Executor(lamp.world, journal=journal).resume(outcome.run, answers=answers))
    assert counts(journal) == (0, 1, 0, 0)


def test_partly_is_not_as_declared(journal):
    domain = Domain("room")
    domain.action("light", {}, provides=["lit", "warm"])
    world = World(domain)
    world.handler("light", policy=ExecutionPolicy(retries=0))(lambda: None)
    world.observer("lit", conclusive=True)(lambda: True)
    world.observer("warm", conclusive=True)(lambda: False)
    outcome = run_virtual(Executor(world, journal=journal).run(domain.problem(goal=["lit"])))
    assert outcome.steps[0].status is StepStatus.PARTIAL
    assert counts(journal) == (0, 0, 1, 0)


def test_what_never_began_says_nothing(journal):
    lamp = Lamp(tags=["needs_approval"])
    outcome = lamp.run(journal, approve=lambda _: "no")
    assert outcome.steps[0].status is StepStatus.FAILED
    assert counts(journal) == (0, 0, 0, 0)


def test_a_handler_that_was_not_called_says_nothing_of_itself(journal):
    """The first call keeps its lock for good; the second has failed without having begun."""
    policy = ExecutionPolicy(timeout=1.0, retries=0, lock=True)
    lamp = Lamp((False, 10_000), seen=False, tags=["idempotent"], policy=policy)
    lamp.run(journal)
    assert counts(journal)[2] >= 1
    reader = AttemptReader()
    for entry in journal.read(journal.runs()[0].run):
        if entry.kind in READ:
            reader.take(entry.kind, _with_error(entry))
    assert not reader.trials


def _with_error(entry):
    from executor.loop.attempt import KEPT
    from executor.tools.json_data import load_json

    data = load_json(entry.data)
    if data.get("result"):
        data["result"]["error"] = KEPT
    return data


def test_a_process_that_dies_says_nothing_of_what_was_at_work(tmp_path):
    lamp = Domain("room")
    lamp.action("light", {}, provides=["lit"])
    problem = lamp.problem(goal=["lit"])
    ledger, path = tmp_path / "world", tmp_path / "runs.db"
    for kind in (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER):
        faults = [Fault(kind)]
        with Journal(path) as journal:
            world = SimulatedWorld(problem, faults=faults, ledger=ledger).world
            with pytest.raises(Crash) as crash:
                run_virtual(Executor(world, journal=journal).run(problem, run=kind.name))
            crash.value.bury()
        with Journal(path) as journal:
            world = SimulatedWorld(problem, faults=faults, ledger=ledger).world
            assert run_virtual(Executor(world, journal=journal).resume(kind.name)).status is RunStatus.SUCCEEDED
            found = counts(journal)
        ledger.unlink()
    assert found == (1, 0, 0, 0)


def test_a_step_that_waits_counts_when_its_answer_has_come(journal):
    lamp = Lamp((False, Wait(event="switched")), seen=False)
    outcome = lamp.run(journal)
    assert outcome.status is RunStatus.WAITING
    assert counts(journal) == (0, 0, 0, 0)
    run_virtual(Executor(lamp.world, journal=journal).resume(outcome.run, results={outcome.steps[0].id: True}))
    assert counts(journal) == (0, 1, 0, 0)


def test_a_failure_of_a_run_that_was_called_off_says_nothing(journal):
    lamp = Lamp(seen=False)

    async def called_off():
        executor = Executor(lamp.world, journal=journal)
        run = executor.start(lamp.domain.problem(goal=["lit"]))

        async def light():
            run.cancel()
            return ActionResult.failed("called off")

        lamp.world.handler("light", policy=ExecutionPolicy(retries=0))(light)
        return await run

    assert run_virtual(called_off()).status is RunStatus.CANCELLED
    assert counts(journal) == (0, 0, 0, 0)


def test_all_that_is_read_is_an_event():
    assert set(KINDS) >= READ


def test_what_comes_later_is_added_once(journal):
    experience = Experience()
    for times in range(1, 4):
        Lamp((False, ActionResult.failed("no")), policy=ExecutionPolicy(retries=1)).run(journal)
        for _ in range(2):
            experience.read(journal)
        assert experience.of("light") == learn(journal).of("light")
        assert experience.of("light").done == times


def test_what_is_reported_is_averaged(journal):
    for cost, tokens in ((3.0, 100), (4.5, 50), (0.0, 0)):
        Lamp((True, ActionResult(metrics=Metrics(duration=2.0, cost=cost, tokens=tokens)))).run(journal)
    Lamp((False, ActionResult.failed("no")), policy=ExecutionPolicy(retries=1)).run(journal)
    domain = Lamp().domain.model
    learned = learn(journal).applied_to(domain).actions["light"]
    assert learned.cost == (Decimal("1.875"),)
    assert learned.uses == {"tokens": (Decimal("37.5"),)}
    assert learned.duration == Decimal("1.2")
    assert learned.risk == Decimal("0.1429")


def test_what_was_never_seen_stays_as_declared():
    domain = Lamp(risk="0.3", cost=7).domain.model
    assert Experience().applied_to(domain) == domain


@pytest.mark.parametrize(("weight", "risk"), [(0, "0.75"), (2, "0.55"), (10, "0.3154")])
def test_the_declared_risk_is_worth_so_many_observations(journal, weight, risk):
    failed = (False, ActionResult.failed("no"))
    Lamp(failed, failed, failed, policy=ExecutionPolicy(retries=5)).run(journal)
    domain = Lamp(risk="0.15").domain.model
    learned = learn(journal, Learning(weight=weight)).applied_to(domain)
    expected = (Decimal(weight) * Decimal("0.15") + 3) / (weight + 4)
    assert learned.actions["light"].risk == expected.quantize(Decimal("0.0001"))
    assert abs(learned.actions["light"].risk - Decimal(risk)) < Decimal("0.01")


def test_outcomes_are_counted_by_what_was_seen(journal):
    domain = Domain("table")
    heads, tails = Outcome("0.5", ["heads"]), Outcome("0.5", ["tails"], name="tails")
    domain.action("toss", {}, provides=["heads"], outcomes=[heads, tails])
    world, falls = World(domain), ["heads", "tails", "tails", "tails"]
    shown = set()
    world.handler("toss")(lambda: shown.update([falls.pop(0)]))
    for side in ("heads", "tails"):
        world.observer(side, conclusive=True)(lambda side=side: side in shown)
    for _ in range(4):
        shown.clear()
        run_virtual(Executor(world, journal=journal).run(solve(domain.problem(goal=["heads"]))))
    experience = learn(journal)
    assert experience.of("toss").outcomes == Counter({"heads": 1, "tails": 3}) or not falls
    learned = experience.applied_to(domain.model).actions["toss"]
    count = experience.of("toss").outcomes
    assert [each.probability for each in learned.outcomes] == [
        ((1 + Decimal(count[name])) / (2 + sum(count.values()))).quantize(Decimal("0.0001"))
        for name in ("heads", "tails")
    ]
    assert sum(each.probability for each in learned.outcomes) == 1


def tools(**more):
    domain = Domain("tools", types=["tool", "task"])
    domain.action("call", {"tool": "tool", "task": "task"}, provides=["done(task)"], tags=["idempotent"], **more)
    return domain


def toolbox(domain):
    return domain.problem(objects={"good": "tool", "bad": "tool", "t": "task"}, goal=["done(t)"])


def test_objects_are_told_apart_where_that_is_asked_for(journal):
    domain = tools()
    problem = toolbox(domain)
    from planner.plan import Plan, Step

    for tool, rate, number in (("good", 0, 6), ("bad", 1, 3)):
        for seed in range(number):
            faults = [Fault(FaultKind.FAILS, "call(bad, _)", times=1, rate=rate)]
            world = SimulatedWorld(problem, seed=seed, faults=faults).world
            world.policy("call", ExecutionPolicy(retries=1, jitter=0, backoff=0))
            run_virtual(Executor(world, journal=journal).run(Plan((Step("call", (tool, "t"), 1),), problem)))
    whole = learn(journal).applied_to(domain.model).actions["call"]
    assert whole.risk == (Decimal(3) / (2 + 12)).quantize(Decimal("0.0001"))
    assert not whole.cases
    apart = learn(journal, Learning(by={"call": "tool"})).applied_to(domain.model).actions["call"]
    seen = {"good": (0, 6), "bad": (3, 6)}
    for tool, other in (("good", "bad"), ("bad", "good")):
        failed, count = seen[tool]
        pooled = Decimal(seen[other][0]) / seen[other][1]
        risk = ((failed + pooled) / (2 + 1 + count)).quantize(Decimal("0.0001"))
        assert apart.odds((tool, "t"))[0] == risk
    assert apart.odds(("new", "t"))[0] == apart.risk == (Decimal(3) / 12 / 3).quantize(Decimal("0.0001"))
    alone = learn(journal, Learning(by={"call": "tool"}, pooling=0)).applied_to(domain.model).actions["call"]
    assert [alone.odds((tool, "t"))[0] for tool in ("good", "bad", "new")] == [0, Decimal("0.375"), 0]


def test_runs_plan_with_what_was_learned(journal):
    domain = Domain("tools")
    domain.action("cheap", {}, provides=["done"], cost=1, tags=["idempotent"])
    domain.action("dear", {}, provides=["done"], cost=3, tags=["idempotent"])
    problem = domain.problem(goal=["done"])
    faults = [Fault(FaultKind.FAILS, "cheap", times=None, rate=0.9)]
    costs = []
    for number in range(12):
        world = SimulatedWorld(problem, seed=number, faults=faults).world
        for name in ("cheap", "dear"):
            world.policy(name, ExecutionPolicy(retries=20, jitter=0, backoff=0))
        outcome = run_virtual(Executor(world, journal=journal, learned=True).run(problem))
        assert outcome.status is RunStatus.SUCCEEDED
        costs.append([each.step.action for each in outcome.steps])
    assert costs[0] == ["cheap"]
    assert costs[-1] == ["dear"]
    assert run_virtual(Executor(world, journal=journal).run(problem)).steps[0].step.action == "cheap"
    assert run_virtual(Executor(world).run(problem, learned=learn(journal))).steps[0].step.action == "dear"


def test_patches_know_what_was_learned():
    domain = Domain("tools")
    domain.action("first", {}, provides=["done"], cost=1)
    domain.action("cheap", {}, provides=["done"], cost=2)
    domain.action("dear", {}, provides=["done"], cost=3)
    problem = domain.problem(goal=["done"])
    experience = Experience()
    _note(experience, "cheap", failed=9, worked=1)
    fails = [Fault(FaultKind.FAILS, "first", times=None)]
    for learned, second in ((False, "cheap"), (experience, "dear")):
        world = SimulatedWorld(problem, faults=fails).world
        outcome = run_virtual(Executor(world, learned=learned).run(problem))
        assert outcome.status is RunStatus.SUCCEEDED
        assert outcome.steps[-1].step.action == second


def _note(experience, action, *, failed, worked, **objects):
    from executor.learning.attempts import Trial, Verdict

    for verdict, number in ((Verdict.FAILED, failed), (Verdict.DONE, worked)):
        for _ in range(number):
            experience.add(Trial(action, tuple(objects.items()), verdict))


def test_what_is_explored():
    experience = {
        explore: Experience(Learning(by={"call": ["tool"]}, explore=explore, seed=5))
        for explore in (None, "optimistic", "sample")
    }
    domain = tools(risk="0.2")
    for each in experience.values():
        _note(each, "call", failed=5, worked=15, tool="good", task="t")
    risks = {
        explore: each.applied_to(toolbox(domain)).domain.actions["call"].odds(("good", "t"))[0]
        for explore, each in experience.items()
    }
    assert Decimal("0.05") < risks["optimistic"] < risks[None] < Decimal("0.3")
    assert risks["sample"] not in (risks[None], risks["optimistic"])
    sampled = experience["sample"].applied_to(toolbox(domain)).domain.actions["call"]
    assert {case.arguments[0] for case in sampled.cases} == {"good", "bad"}
    assert experience["sample"].applied_to(toolbox(domain)).domain.actions["call"] == sampled
    _note(experience["sample"], "call", failed=0, worked=1, tool="good", task="t")
    assert experience["sample"].applied_to(toolbox(domain)).domain.actions["call"] != sampled


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Learning(by=["tool"]), "by names parameters of actions"),
        (lambda: Learning(weight=-1), "weight is a number of observations"),
        (lambda: Learning(explore="optimistc"), "optimistic"),
        (lambda: Learning(confidence=1), "confidence is a probability"),
        (lambda: Experience(Learning(by={"call": ["tol"]})).applied_to(tools().model), "tool"),
        (lambda: Experience(Learning(by={"cal": ["tool"]})).applied_to(tools().model), "call"),
        (lambda: Experience().applied_to("tools"), "a domain or a problem"),
        (lambda: Executor(Lamp().world, learned=True), "learned from a journal"),
        (lambda: Executor(Lamp().world, learned="yes"), "learned must be True or False"),
        (lambda: asyncio.run(Executor(Lamp().world).run(toolbox(tools()), learned="yes")), "what is learned"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


class TestExpectedCosts:
    def test_the_cost_is_that_of_trying_until_it_works(self):
        domain = Domain("coin")
        domain.action("sure", {}, provides=["done"], cost=3)
        domain.action("risky", {}, provides=["done"], cost=2, risk="0.2", duration=4)
        domain.action(
            "toss",
            {},
            provides=["done"],
            cost=1,
            risk="0.5",
            outcomes=[Outcome("0.4", ["done"]), Outcome("0.6", ["lost"])],
        )
        found = expected_costs(domain.problem(goal=["done"])).domain.actions
        assert found["sure"] is domain.model.actions["sure"]
        assert found["risky"].cost == (Decimal("2.5"),)
        assert found["risky"].duration == 5
        assert found["risky"].risk == Decimal("0.2")
        assert found["toss"].cost == (5,)

    def test_costs_that_depend_on_arguments_are_multiplied_for_each(self):
        domain = tools(cost=["price(tool)", 1], risk="0.5")
        problem = domain.problem(
            objects={"good": "tool", "bad": "tool", "t": "task"},
            goal=["done(t)"],
            values={"price(good)": 2, "price(bad)": 1},
        )
        action = domain.model.actions["call"]
        from planner.lightweight import replace

        cases = (Case(("good", "_")), Case(("bad", "_"), Decimal("0.75")))
        told = replace(problem, domain=replace(domain.model, actions={"call": replace(action, cases=cases)}))
        result = solve(expected_costs(told))
        assert result.expect_plan().steps[0].arguments == ("good", "t")
        assert result.cost == 3
        assert solve(expected_costs(problem)).cost == 4

    def test_steps_without_a_value_do_not_apply(self):
        domain = tools(cost="price(tool)", risk="0.5")
        objects = {"bad": "tool", "good": "tool", "t": "task"}
        result = solve(expected_costs(domain.problem(objects=objects, goal=["done(t)"])))
        assert result.status is Status.UNSOLVABLE
        assert "lacks a value of price" in result.reason
        priced = domain.problem(objects=objects, goal=["done(t)"], values={"price(good)": 3})
        plan = solve(expected_costs(priced)).expect_plan()
        assert [step.arguments[0] for step in plan.steps] == ["good"]
        assert plan.cost == 6


def test_policies_are_decided_with_what_was_learned():
    domain = tools(risk="0.1")
    problem = toolbox(domain)
    experience = Experience(Learning(by={"call": "tool"}))
    _note(experience, "call", failed=9, worked=1, tool="bad", task="t")
    _note(experience, "call", failed=1, worked=9, tool="good", task="t")
    world = SimulatedWorld(problem).world
    outcome = run_virtual(Executor(world, model="policy", learned=experience).run(problem))
    assert outcome.succeeded
    assert [each.step.arguments[0] for each in outcome.steps] == ["good"]
    (first, *_) = outcome.state.policy["nodes"]
    assert first["branches"][0]["probability"] == pytest.approx(1 - (0.2 + 1 + 0.9) / 13, abs=1e-3)


def test_hierarchical_problems_are_planned_with_what_was_learned(journal):
    problem = load("travel", "board")
    experience = Experience()
    plain = solve(problem)
    for step in plain.expect_plan().steps:
        _note(experience, step.action, failed=3, worked=1)
    world = SimulatedWorld(problem).world
    outcome = run_virtual(Executor(world, journal=journal, learned=experience).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    learned = expected_costs(experience.applied_to(problem).classical).domain.actions
    (step, *_) = plain.expect_plan().steps
    assert learned[step.action].risk == Decimal("0.5")
    assert learned[step.action].cost != problem.classical.domain.actions[step.action].cost


def test_what_was_learned_is_said_in_words(journal):
    failed = (False, ActionResult.failed("no", metrics=Metrics(cost=2.0)))
    Lamp(failed, (True, ActionResult(metrics=Metrics(cost=3.0))), policy=ExecutionPolicy(retries=5)).run(journal)
    assert str(learn(journal)) == "light: 2 attempts, 1 done, 1 failed; cost 2.5 on average"
    assert str(Experience()) == "nothing was tried"
