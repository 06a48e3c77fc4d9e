"""Planned calls: what is offered, what is refused, what is observed, and what the agent is told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from support_desk import desk_domain, desk_problem, desk_world, priced_domain

from executor import ActionResult, ExecutionPolicy, World
from executor.adapters.planned_calls import PlannedCalls
from executor.journal import Journal
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Domain, InputError, UnsupportedError, load, never
from planner.language.loading.load import open_source
from planner.problem_kinds import classical_of


def play(calls: PlannedCalls, *asked):
    """Make the calls, each a name with arguments, and return the reports."""

    async def main():
        return [await calls.call(name, arguments) for name, arguments in asked]

    return asyncio.run(main())


def offered(calls: PlannedCalls) -> dict:
    return {each.name: each for each in asyncio.run(calls.offers())}


def test_only_what_comes_next_is_offered_with_its_objects() -> None:
    world, _ = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))
    assert list(offered(calls)) == ["find"]
    assert offered(calls)["find"].parameters["properties"]["o"]["enum"] == ["o7"]
    [report] = play(calls, ("find", {"o": "o7"}))
    assert (report.status, report.next, report.goal) == ("SUCCEEDED", ("pack(o7)",), "open")
    assert report.result == {"price": 7}
    assert list(offered(calls)) == ["pack"]


def test_independent_steps_are_offered_together_and_any_may_come_first() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)", "packed(o8)"))
    assert offered(calls)["find"].parameters["properties"]["o"]["enum"] == ["o7", "o8"]
    reports = play(calls, ("find", {"o": "o8"}), ("pack", {"o": "o8"}), ("find", {"o": "o7"}), ("pack", {"o": "o7"}))
    assert [each.status for each in reports] == ["SUCCEEDED"] * 4
    assert reports[-1].goal == "reached"
    assert calls.is_reached
    assert offered(calls) == {}
    assert desk.log == ["find o8", "pack o8", "find o7", "pack o7"]


def test_an_irreversible_step_that_is_not_next_is_refused_and_not_called() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)"))
    desk.facts |= {"packed o8", "known o8"}
    reports = play(calls, ("ship", {"o": "o8"}), ("refund", {"o": "o7", "reason": "x", "amount": 1}))
    assert [each.status for each in reports] == ["REFUSED"] * 2
    assert "cannot be taken back" in reports[0].reason
    assert reports[0].next == ("find(o7)",)
    assert desk.log == []


def test_a_reversible_detour_is_allowed_and_the_plan_follows_it() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"), "packed(o7)")
    reports = play(calls, ("find", {"o": "o7"}), ("find", {"o": "o8"}), ("pack", {"o": "o8"}), ("pack", {"o": "o7"}))
    assert [each.goal for each in reports] == ["open", "open", "open", "reached"]
    assert "packed o8" in desk.facts


def test_a_tool_that_lies_is_found_out_and_the_next_plan_goes_round_it() -> None:
    world, desk = desk_world()
    desk.lying.add("ship")
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))
    reports = play(calls, *[(name, {"o": "o7"}) for name in ("find", "pack", "ship", "courier")])
    lied = reports[2]
    assert lied.status == "FAILED"
    assert "not shipped(o7)" in lied.unexpected
    assert lied.next == ("courier(o7)",)
    assert (reports[3].status, reports[3].goal) == ("SUCCEEDED", "reached")


def test_a_tool_that_raises_is_told_and_another_way_is_offered() -> None:
    world, desk = desk_world()
    desk.broken.add("ship")
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))
    reports = play(calls, *[(name, {"o": "o7"}) for name in ("find", "pack", "ship")])
    assert reports[2].status == "FAILED"
    assert "ship is down" in reports[2].reason
    assert list(offered(calls)) == ["courier"]


def test_what_changed_meanwhile_is_noticed() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))
    play(calls, ("find", {"o": "o7"}), ("pack", {"o": "o7"}))
    desk.facts.discard("packed o7")
    [report] = play(calls, ("ship", {"o": "o7"}))
    assert report.status == "REFUSED"
    assert "packed(o7)" in report.reason
    assert desk.log == ["find o7", "pack o7"]
    assert report.next == ("pack(o7)",)


def test_what_nobody_sees_is_unverified_and_not_done_twice() -> None:
    world, desk = desk_world(watched=False)
    calls = PlannedCalls(world, desk_problem(world, "(and (shipped o7) (shipped o8))"))
    both = [(name, {"o": order}) for name in ("find", "pack") for order in ("o7", "o8")]
    *_, shipped, again = play(calls, *both, *[("ship", {"o": "o7"})] * 2)
    assert shipped.status == "UNVERIFIED"
    assert (again.status, again.next) == ("REFUSED", ("ship(o8)",))
    assert desk.log.count("ship o7") == 1


def test_an_approval_waits_for_an_answer_from_outside() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "refunded(o7)"))
    asked = {"o": "o7", "reason": "broken", "amount": 7}
    _, waiting = play(calls, ("find", {"o": "o7"}), ("refund", asked))
    assert waiting.status == "WAITING"
    [again] = play(calls, ("refund", asked))
    assert again.status == "REFUSED", "else two answers would refund it twice"
    assert "waits for an answer" in again.reason
    assert desk.log == ["find o7"]
    with pytest.raises(InputError, match="no call has asked"):
        asyncio.run(calls.answer("nothing", "yes"))
    done = asyncio.run(calls.answer(waiting.question["question"], "yes"))
    assert (done.status, done.goal, done.result) == ("SUCCEEDED", "reached", "7 for broken")
    with pytest.raises(InputError, match=r"comes too late; it was answered: 'yes'"):
        asyncio.run(calls.answer(waiting.question["question"], "no"))


def test_a_callback_decides_about_approvals() -> None:
    for answer, status in ((True, "SUCCEEDED"), (False, "FAILED")):
        world, desk = desk_world()
        calls = PlannedCalls(world, desk_problem(world, "refunded(o7)"), approve=lambda _, answer=answer: answer)
        asked = {"o": "o7", "reason": "broken", "amount": 7}
        assert play(calls, ("find", {"o": "o7"}), ("refund", asked))[1].status == status
        assert ("refund o7" in desk.log) is answer


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("fnd", {"o": "o7"}, "did you mean 'find'"),
        ("find", {"o": "o9"}, "no object 'o9'"),
        ("find", {}, "lacks o"),
        ("find", {"o": None}, "None"),
        ("find", {"o": ["o7"]}, "o7"),
        ("find", {"o": "o7", "colour": "red"}, "no argument 'colour'"),
        ("find", {"o": "x" * 100_000}, "no object"),
        ("refund", {"o": "o7"}, "lacks a value for 'reason'"),
        ("", {}, "no tool ''"),
    ],
)
def test_mistakes_of_models_are_answers(name, arguments, words) -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)"))
    [report] = play(calls, (name, arguments))
    assert report.status == "REFUSED"
    assert words in report.reason
    assert desk.log == []


def test_values_of_another_type_are_refused_before_the_call() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "refunded(o7)"), approve=lambda _: True)
    asked = {"o": "o7", "reason": "broken", "amount": "much"}
    _, report = play(calls, ("find", {"o": "o7"}), ("refund", asked))
    assert report.status == "REFUSED"
    assert "amount" in report.reason
    assert desk.log == ["find o7"]


def test_where_no_plan_is_left_the_agent_is_told_why() -> None:
    domain = Domain("dead", types=["order"])
    domain.action("ship", {"o": "order"}, requires=["packed(o)"], provides=["shipped(o)"])
    world = World(domain)
    world.handler("ship")(lambda o: None)  # noqa: ARG005 - as the action has it
    calls = PlannedCalls(world, domain.problem("p", objects={"o7": "order"}, goal=["shipped(o7)"]))
    assert offered(calls) == {}
    assert "packed(o7)" in asyncio.run(calls.describe())
    [report] = play(calls, ("ship", {"o": "o7"}))
    assert (report.status, report.goal) == ("REFUSED", "impossible")
    assert "the run is over" in report.reason


def test_by_goal_more_is_offered_but_nothing_irreversible_beside_the_plan() -> None:
    world, _ = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"), by="goal", always=["unpack"])
    assert list(offered(calls)) == ["find", "unpack"]
    play(calls, ("find", {"o": "o7"}), ("pack", {"o": "o7"}))
    assert {"courier", "ship", "unpack"} <= set(offered(calls))
    assert "refund" not in offered(calls)


def test_a_goal_that_holds_from_the_start_is_looked_at_and_nothing_is_offered() -> None:
    world, desk = desk_world()
    problem = Domain.of(world.model).problem("p", objects={"o7": "order"}, initial=["packed(o7)"], goal=["packed(o7)"])
    calls = PlannedCalls(world, problem)
    assert list(offered(calls)) == ["find"], "it is stated, and not so"
    desk.facts.add("packed o7")
    calls = PlannedCalls(world, problem)
    assert offered(calls) == {}
    assert "is reached" in asyncio.run(calls.describe())


def test_of_hundreds_of_tools_few_are_offered() -> None:
    domain = desk_domain()
    for number in range(500):
        domain.action(f"other{number}", {"o": "order"}, requires=[f"b{number}(o)"], provides=[f"b{number + 1}(o)"])
    world, _ = desk_world(domain)
    for number in range(500):
        world.handler(f"other{number}")(lambda o: None)  # noqa: ARG005 - as the action has it
    for by in ("plan", "goal"):
        calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"), by=by)
        assert list(offered(calls)) == ["find"]


def test_calls_at_once_take_turns() -> None:
    world, desk = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)", "packed(o8)"))

    async def main():
        found = await asyncio.gather(*[calls.call("find", {"o": each}) for each in ("o7", "o8")])
        return [*found, *await asyncio.gather(*[calls.call("pack", {"o": each}) for each in ("o7", "o8")])]

    reports = asyncio.run(main())
    assert [each.status for each in reports] == ["SUCCEEDED"] * 4
    assert calls.is_reached
    assert sorted(desk.log) == ["find o7", "find o8", "pack o7", "pack o8"]


def test_all_calls_are_one_run_of_the_journal(tmp_path) -> None:
    world, _ = desk_world()
    calls = PlannedCalls(world, desk_problem(world, "packed(o7)"), run="o7", journal=tmp_path / "runs.db")
    play(calls, ("find", {"o": "o7"}), ("pack", {"o": "o7"}))
    with Journal(tmp_path / "runs.db") as journal:
        assert [(each.run, each.status) for each in journal.runs()] == [("o7", "SUCCEEDED")]


def test_objects_that_calls_create_can_be_used_by_later_ones() -> None:
    domain = Domain("tickets", types=["ticket"])
    domain.action("open_one", provides=["is_open(t)"], creates={"t": "ticket"})
    domain.action("close_one", {"t": "ticket"}, requires=["is_open(t)"], provides=["closed(t)"])
    world, log = World(domain), []
    world.handler("open_one")(lambda: {"success": True, "created": {"t": "T-1"}})
    world.handler("close_one")(lambda t: log.append(t))  # noqa: PLW0108 - a handler names its parameters
    problem = domain.problem("p", goal=["(exists (?t - ticket) (closed ?t))"])
    calls = PlannedCalls(world, problem)
    [opened] = play(calls, ("open_one", {}))
    assert opened.next == ("close_one(T-1)",)
    [closed] = play(calls, ("close_one", {"t": "T-1"}))
    assert (closed.goal, log) == ("reached", ["T-1"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda world, problem: PlannedCalls(world.model, problem, always=()), "a World"),
        (lambda world, problem: PlannedCalls(world, problem, by="mood"), "by 'plan' or by 'goal'"),
        (lambda world, problem: PlannedCalls(world, problem, always=["fnd"]), "did you mean 'find'"),
        (lambda world, problem: PlannedCalls(world, problem, ["nothing(x)"]), "nothing"),
        (lambda world, _: PlannedCalls(world, "problem"), "problem"),
    ],
)
def test_mistakes_of_authors_are_named(make, words) -> None:
    world, _ = desk_world()
    with pytest.raises(InputError, match=r".") as raised:
        make(world, desk_problem(world, "packed(o7)"))
    assert words in str(raised.value)


def follow(calls: PlannedCalls, simulated, most: int = 60) -> None:
    """Make the calls of the plan, with sample values for data parameters."""

    async def main():
        for _ in range(most):
            steps = await calls.next_steps()
            if not steps:
                return
            action = calls.world.model.actions[steps[0].action]
            names = [each.name.removeprefix("?") for each in action.parameters]
            samples = {
                each.name: simulated.parameters(action.name).get(each.name)
                for each in action.data
                if each.source is None and not each.has_default
            }
            await calls.call(action.name, dict(zip(names, steps[0].arguments, strict=False)) | samples)

    run_virtual(main())


@pytest.mark.parametrize("domain", ["assistant", "courier", "helpdesk", "runbook", "secretary", "stacking", "tools"])
def test_shipped_domains_work_in_simulated_worlds(domain) -> None:
    for problem in list(open_source(domain).problems().values())[:2]:
        classical = classical_of(problem)
        simulated = SimulatedWorld(classical)
        calls = PlannedCalls(simulated.world, classical, approve=lambda _: True)
        follow(calls, simulated)
        assert calls.is_reached, calls.reports[-1]
        assert simulated.holds(classical.goal.hard)


@pytest.mark.parametrize("seed", range(12))
def test_with_faults_the_goal_is_never_said_to_be_reached_where_it_is_not(seed) -> None:
    problem = classical_of(load(["assistant", "courier", "stacking", "tools"][seed % 4]))
    kinds = [FaultKind.FAILS, FaultKind.RAISES_DONE, FaultKind.LIES, FaultKind.PARTLY, FaultKind.CHANGE_DURING]
    faults = [Fault(kind, times=None, rate=0.05) for kind in kinds]
    simulated = SimulatedWorld(problem, seed=seed, faults=faults)
    calls = PlannedCalls(simulated.world, problem, approve=lambda _: True, time_limit=3)
    follow(calls, simulated, most=30)
    assert simulated.holds(problem.goal.hard) or not calls.is_reached


def test_constraints_on_the_way_are_kept_and_detours_against_them_refused() -> None:
    domain, done = Domain("trip"), list[str]()
    for name in ("insured", "booked", "wild"):
        domain.action(f"be_{name}", provides=[name], tags=["trusted"])
    world = World(domain)
    for name in ("insured", "booked", "wild"):
        world.handler(f"be_{name}")(lambda name=name: done.append(name))
    problem = domain.problem(goal=["insured", "booked"], constraints=[never("wild")])
    calls = PlannedCalls(world, problem)
    wild, *_, last = play(calls, ("be_wild", {}), ("be_booked", {}), ("be_insured", {}))
    assert (wild.status, last.goal) == ("REFUSED", "reached")
    assert "never wild" in wild.reason
    assert done == ["booked", "insured"]


def test_deadlines_are_part_of_the_run_and_those_on_the_clock_are_refused() -> None:
    world, _ = desk_world()
    problem = desk_problem(world, "packed(o7)")
    calls = PlannedCalls(world, replace(problem, deadline=9))
    assert play(calls, ("find", {"o": "o7"}), ("pack", {"o": "o7"}))[-1].goal == "reached"
    domain = Domain("kitchen")
    domain.action("bake", provides=["baked"], duration=10, holds={"oven": 1})
    timed = domain.problem(goal=["baked"], capacity={"oven": 1}, deadline=30)
    with pytest.raises(UnsupportedError, match="in time"):
        PlannedCalls(World(domain), timed)


def test_budgets_are_used_up_by_calls_also_by_failed_ones() -> None:
    world, desk = desk_world()
    desk.broken.add("pack")
    problem = replace(desk_problem(world, "packed(o7)"), budgets={"cost": 3})
    calls = PlannedCalls(world, problem)
    reports = play(calls, ("find", {"o": "o8"}), ("find", {"o": "o7"}))
    assert [each.goal for each in reports] == ["open", "open"]
    assert calls.problem.budgets == {"cost": 1}
    [report] = play(calls, ("pack", {"o": "o7"}))
    assert (report.status, report.goal) == ("FAILED", "impossible")


def test_values_come_from_the_results_of_earlier_calls() -> None:
    world, log = World(priced_domain()), []
    world.handler("find")(lambda o: {"price": len(o) + 5})
    world.handler("refund")(lambda o, amount: log.append((o, amount)))
    calls = PlannedCalls(world, desk_problem(world, "refunded(o7)"))
    assert "amount" not in calls.offers_of(["refund"])[0].parameters["properties"]
    play(calls, ("find", {"o": "o7"}), ("refund", {"o": "o7"}))
    assert log == [("o7", 7)]


def test_objects_that_a_call_finds_are_offered_to_the_next() -> None:
    domain, done = Domain("post", types=["order"]), set()
    domain.action("list_orders", lists=["pending(_)"])
    domain.action("handle", {"o": "order"}, requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
    world = World(domain)
    world.handler("list_orders")(lambda: {"success": True, "found": {"order": ["o1", "o2"]}})
    world.handler("handle")(lambda o: done.add(o))  # noqa: PLW0108 - a handler names its parameters
    world.observer("pending(_)", conclusive=True)(lambda: [o for o in ("o1", "o2") if o not in done])
    world.observer("handled(o)", conclusive=True)(lambda o: o in done)
    problem = domain.problem("p", goal=["(forall (?o - order) (not (pending ?o)))"], unknown=["pending(_)"])
    calls = PlannedCalls(world, problem)
    [listed] = play(calls, ("list_orders", {}))
    assert set(listed.next) == {"handle(o1)", "handle(o2)"}
    assert offered(calls)["handle"].parameters["properties"]["o"]["enum"] == ["o1", "o2"]
    reports = play(calls, ("handle", {"o": "o2"}), ("handle", {"o": "o1"}))
    assert [each.goal for each in reports] == ["open", "reached"]
    assert done == {"o1", "o2"}


def test_a_step_in_doubt_is_not_done_again_until_somebody_says_that_it_did_not_happen() -> None:
    world, desk = desk_world(watched=False)
    world.policy("ship", ExecutionPolicy(timeout=0.1))
    block = threading.Event()
    world.handler("ship", name="slow")(lambda o: block.wait(5))  # noqa: ARG005 - as the action has it
    world.policy("ship", ExecutionPolicy(timeout=0.1, skills=lambda names, _: "slow" if "slow" in names else names[0]))
    calls = PlannedCalls(world, desk_problem(world, "shipped(o7)"))
    reports = play(calls, *[(name, {"o": "o7"}) for name in ("find", "pack", "ship", "ship")])
    block.set()
    assert reports[2].status == "IN_DOUBT"
    assert reports[3].status == "REFUSED"
    assert desk.log == ["find o7", "pack o7"]
    question = reports[2].question
    assert question["choices"] == ["it happened", "it did not happen"]
    done = asyncio.run(calls.answer(question["question"], "it happened"))
    assert done.goal == "reached"


@pytest.mark.parametrize("amount", [1, "a lot", None])
def test_an_agent_cannot_replace_a_value_that_comes_from_a_result(amount) -> None:
    charged = []
    world = World(priced_domain())
    world.handler("find")(lambda o: ActionResult(data={"price": 7}))  # noqa: ARG005 - as the action has it
    world.handler("refund")(lambda o, amount: charged.append((o, amount)))
    calls = PlannedCalls(world, desk_problem(world, "refunded(o7)"))
    [_, refused, done] = play(
        calls, ("find", {"o": "o7"}), ("refund", {"o": "o7", "amount": amount}), ("refund", {"o": "o7"})
    )
    assert refused.status == "REFUSED"
    assert refused.reason == "'amount' of refund(o) comes from the result that provided known(o); leave it out"
    assert done.goal == "reached"
    assert charged == [("o7", 7)]


@pytest.mark.parametrize(("name", "arguments"), [("find", "o7"), ("find", ["o7"]), ("find", {7: "o7"}), (None, {})])
def test_what_is_no_call_is_refused(name, arguments) -> None:
    world, desk = desk_world()
    [report] = play(PlannedCalls(world, desk_problem(world, "known(o7)")), (name, arguments))
    assert report.status == "REFUSED"
    assert desk.log == []


def test_a_goal_that_is_wrong_is_not_blamed_on_this_package() -> None:
    world, _ = desk_world()
    with pytest.raises(InputError, match=r"^the goal of the planned calls: 'o99' in shipped\(o99\)"):
        PlannedCalls(world, desk_problem(world, "shipped(o7)"), "shipped(o99)")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("publish", "the tool 'publish' has no handler: @world.handler('publish') says who does it"),
        ("publisher", "there is no tool 'publisher'; call one of those that are offered"),
        ("wriet", "there is no tool 'wriet'; did you mean 'write'?"),
    ],
)
def test_a_tool_without_a_handler_is_told_from_one_that_does_not_exist(name, reason) -> None:
    press = Domain("press")
    press.action("write", provides=["written"])
    press.action("publish", requires=["written"], provides=["published"])
    world = World(press)
    world.handler("write")(lambda: None)
    [report] = play(PlannedCalls(world, press.problem(goal=["written"])), (name, {}))
    assert (report.status, report.reason) == ("REFUSED", reason)
