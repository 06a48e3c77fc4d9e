"""Nothing that is doomed is begun: handlers, values and results are looked for before the first step."""

import dataclasses
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict

from executor import ActionPlan, ActionResult, Executor, RunStatus, Wait, World
from executor.lint.check import check_world
from executor.loop.parameters import Fillings
from executor.plan_check.check_plan import check_plan
from executor.testing import run_virtual
from executor.tools.returned_values import may_have
from planner import FIXED, Domain, From, Outcome, decide, k_best, solve
from planner.errors import NoPlan, PlanError

MODELS = ("sequential", "parallel", "dag", "reactive")


def two(annotation=None, returns=None, *, second=True):
    """Return a domain of two steps, of which the second may take data, its world, and what is done."""
    domain, log = Domain("two"), []
    domain.action("first", provides=["x"], tags=["trusted"])
    data = {} if annotation is None else {"n": annotation}
    domain.action("second", data, requires=["x"], provides=["y"], tags=["trusted"])
    world = World(domain)

    def first():
        log.append("first")
        return {"m": 1, "rows": [{"k": 2}]}

    first.__annotations__ = {} if returns is None else {"return": returns}
    world.handler("first")(first)
    if second:
        world.handler("second")(lambda **given: log.append(given))
    return domain.problem(goal=["y"]), world, log


def as_given(problem):
    """Return all the forms in which the plan for a problem can be run."""
    plan = solve(problem).expect_plan()
    return [problem, plan, solve(problem), k_best(problem, 2), ActionPlan.of(plan)]


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("lacks", ["handler", "value", "field"])
def test_a_run_that_lacks_something_for_a_later_step_does_not_begin(form, model, lacks):
    annotation = {"handler": None, "value": int, "field": Annotated[int, From("x", "data.gone")]}[lacks]
    problem, world, log = two(annotation, Shape if lacks == "field" else None, second=lacks != "handler")
    what = as_given(problem)[form]
    with pytest.raises((PlanError, NoPlan)) as refused:
        run_virtual(Executor(world, model=model).run(what))
    words = {"handler": "second", "value": "lacks a value for 'n'", "field": "comes from 'data.gone'"}
    assert words[lacks] in str(refused.value)
    assert log == []
    found = check_plan(ActionPlan.of(solve(problem)), world)
    rules = {"handler": "no-handler", "value": "missing-parameter", "field": "no-field"}
    assert [each.rule for each in found if each.is_error] == [rules[lacks]]


def test_a_way_without_the_action_that_nobody_carries_out_is_taken():
    domain, log = Domain("ways"), []
    domain.action("fly", provides=["there"], cost=1, tags=["trusted"])
    domain.action("walk", provides=["there"], cost=9, tags=["trusted"])
    world = World(domain)
    world.handler("walk")(lambda: log.append("walk"))
    for model in (*MODELS, "policy"):
        assert run_virtual(Executor(world, model=model).run(domain.problem(goal=["there"]))).succeeded
    assert log == ["walk"] * 5


@pytest.mark.parametrize("lacks", ["handler", "value", "field"])
def test_a_policy_that_lacks_something_does_not_begin(lacks):
    annotation = {"handler": None, "value": int, "field": Annotated[int, From("x", "data.gone")]}[lacks]
    domain, log = Domain("two"), []
    outcomes = [Outcome("0.5", ["x"]), Outcome("0.5", ["z"], name="other")]
    domain.action("first", provides=["x"], outcomes=outcomes, tags=["trusted"])
    data = {} if annotation is None else {"n": annotation}
    domain.action("second", data, requires=["x"], provides=["y"], tags=["trusted"])
    domain.action("third", requires=["z"], provides=["y"], tags=["trusted"])
    world = World(domain)

    @world.handler("first")
    def first() -> Shape:
        log.append("first")
        return Shape(m=1)

    world.handler("third")(lambda: None)
    if lacks != "handler":
        world.handler("second")(lambda **given: log.append(given))
    problem = domain.problem(goal=["y"])
    given = [decide(problem), ActionPlan.of(decide(problem))]
    for what in given if lacks == "handler" else [problem, *given]:
        with pytest.raises((PlanError, NoPlan)):
            run_virtual(Executor(world, model="policy").run(what))
    assert log == []


@pytest.mark.parametrize("way", ["memory", "default", "plan", "fill", "fixed", "earlier"])
def test_what_has_a_value_somewhere_begins(way):
    annotation = Annotated[int, FIXED] if way == "fixed" else int
    problem, world, log = two(annotation)
    what, options, fill = ActionPlan.of(solve(problem)), {}, None
    if way in ("memory", "fixed"):
        options = {"memory": {"n": 3}}
    elif way == "default":
        domain = Domain("two")
        domain.action("first", provides=["x"], tags=["trusted"])

        @domain.action(requires=["x"], provides=["y"], tags=["trusted"])
        def second(n: int = 3):
            log.append({"n": n})

        world = World(domain)
        world.handler("first")(lambda: log.append("first"))
        what = domain.problem(goal=["y"])
    elif way == "plan":
        steps = [what.steps[0], what.steps[1].model_copy(update={"parameters": {"n": 3}})]
        what = what.model_copy(update={"steps": tuple(steps)})
    elif way == "fill":

        async def fill(request):
            return Fillings({each.name: 3 for each in request.parameters})

    else:
        world.handler("first")(lambda: log.append("first") or ActionResult(values={"n": 3}))
        what = problem
    outcome = run_virtual(Executor(world, fill=fill).run(what, **options))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert log == ["first", {"n": 3}]


class Shape(BaseModel):
    m: int
    inner: "list[Shape]" = []

    @property
    def twice(self) -> int:
        return 2 * self.m


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Row(TypedDict):
    k: Shape


class Pair(NamedTuple):
    one: int
    two: Shape


@dataclasses.dataclass
class Point:
    x: int
    at: Row


class Plain:
    """A class that says nothing of its attributes."""


class Answer(BaseModel):
    success: bool
    data: Shape


@pytest.mark.parametrize(
    ("annotation", "has", "lacks"),
    [
        (
            Shape,
            ["data", "data.m", "data.inner", "data.inner.0.m", "data.twice", "text"],
            ["data.n", "data.inner.m", "n"],
        ),
        (Shape, ["confidence"], ["values.m", "created.m", "text.m", "data.m.k"]),
        (Open, ["data.anything"], ["values.n"]),
        (Row, ["data.k.m"], ["data.j", "data.k.n"]),
        (Pair, ["data.0"], ["data.one"]),
        (Point, ["data.x", "data.at.k.m"], ["data.y", "data.at.j"]),
        (Plain, ["data.x.y"], ["other"]),
        (dict[str, Shape], ["data.k.m", "values.k", "text"], ["data.k.n"]),
        (dict, ["data.k.n"], ["nothing"]),
        (list[Shape], ["data.0.m"], ["data.m", "data.0.n"]),
        (tuple[int, ...], ["data.3"], ["data.x"]),
        (str, ["data", "text"], ["data.x", "text.x"]),
        (int, ["data"], ["data.m"]),
        (None, ["text"], ["data.m", "data"]),
        (bool, ["success"], ["data.m"]),
        (Shape | None, ["data.m"], ["data.n"]),
        (Annotated[Shape, "the one"], ["data.m"], ["data.n"]),
        (Shape | Wait, ["data.n", "values.n"], ["n"]),
        (ActionResult, ["data.n", "values.n", "created.n"], ["n"]),
        (Answer, ["data.m", "values.n"], ["data.n", "n"]),
        (Any, ["data.n.m"], ["n"]),
        (object, ["data.n.m"], ["n"]),
        ("Shape", ["data.m"], ["data.n"]),
        ("Missing", ["data.m"], ["n"]),
    ],
    ids=str,
)
def test_what_a_declared_type_has(annotation, has, lacks):
    def handler(): ...

    handler.__annotations__ = {"return": annotation}
    assert {path: may_have(handler, path) for path in has} == dict.fromkeys(has, True)
    assert {path: may_have(handler, path) for path in lacks} == dict.fromkeys(lacks, False)


def test_a_value_that_comes_with_a_fact_of_the_start_is_missing():
    domain = Domain("start")
    domain.action(
        "second", {"n": Annotated[int, From("x", "data.m")]}, requires=["x"], provides=["y"], tags=["trusted"]
    )
    world = World(domain)
    world.handler("second")(lambda n: f"{n} came")
    problem = domain.problem(initial=["x"], goal=["y"])
    for what in as_given(problem):
        with pytest.raises(PlanError, match="no step provides x before it"):
            run_virtual(Executor(world).run(what))
    assert run_virtual(Executor(world).run(problem, memory={"n": 3})).succeeded


@pytest.mark.parametrize(("path", "is_found"), [("data.gone", True), ("data.m", False)])
def test_the_check_of_a_world_finds_fields_that_no_handler_returns(path, is_found):
    _, world, _ = two(Annotated[int, From("x", path)], Shape)
    assert ("no-field" in [each.rule for each in check_world(world)]) is is_found
