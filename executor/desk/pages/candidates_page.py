"""Pages of JSON results without their domain: several plans side by side, or one plan as far as its data tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, FiniteFloat, ValidationError

from executor.desk.pages import document as doc
from planner.errors import InputError, Location
from planner.plan import Plan, StoppedBy, json_number
from planner.topk.top_k import CandidateSet

MEASURES: Final = ("cost", "makespan", "utility", "net_benefit", "score")
"""Fields of results that are worth comparing, in the order of the page."""
_Amount = Annotated[int, Field(strict=True)] | FiniteFloat
_Word = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


class _Step(BaseModel):
    action: str
    arguments: tuple[_Word, ...] = ()
    cost: _Amount | None = None
    start: _Amount | None = None
    duration: _Amount = 0

    def __str__(self) -> str:
        return f"{self.action}({', '.join(self.arguments)})"


class _Node(BaseModel):
    task: str
    arguments: tuple[_Word, ...] = ()
    step: Annotated[int, Field(ge=0)] | None = None
    method: str = ""
    children: tuple[int, ...] = ()


class _Tree(BaseModel):
    roots: tuple[int, ...]
    nodes: tuple[_Node, ...]


class _Wish(BaseModel):
    wish: str


class _Plan(BaseModel):
    steps: tuple[_Step, ...]
    cost: _Amount | None = None
    makespan: _Amount | None = None
    utility: _Amount | None = None
    net_benefit: _Amount | None = None
    forgone: tuple[_Wish, ...] = ()
    decomposition: _Tree | None = None


class _Ranked(BaseModel):
    candidate: int
    values: dict[str, _Amount | None] = {}
    score: _Amount | None = None


class _Ranking(BaseModel):
    ranked: tuple[_Ranked, ...] = ()
    why: str = ""


class _Candidates(BaseModel):
    candidates: Annotated[tuple[_Plan, ...], Field(min_length=1)]
    proved: bool | None = None
    lower_bound: _Amount | None = None
    ranking: _Ranking = _Ranking()


class _Milestone(BaseModel):
    elapsed: Annotated[FiniteFloat, Field(ge=0)]
    cost: _Amount | None = None
    lower_bound: _Amount | None = None
    search: str = ""


class _SearchTurns(BaseModel):
    search: str
    heuristic: str = ""
    turns: tuple[tuple[FiniteFloat, FiniteFloat], ...] = ()


class _History(BaseModel):
    milestones: tuple[_Milestone, ...] = ()
    searches: tuple[_SearchTurns, ...] = ()


class _Result(BaseModel):
    plan: _Plan
    status: str = ""
    stopped_by: str = ""
    cost: _Amount | None = None
    utility: _Amount | None = None
    lower_bound: _Amount | None = None
    history: _History = _History()
    statistics: dict[str, _Amount | str] = {}


def is_result(data: Any) -> bool:
    """Return whether JSON `data` is a result, a plan, or candidates."""
    return isinstance(data, Mapping) and bool({"plan", "steps", "candidates"} & data.keys()) and "domain" not in data


def page_of_data(data: Mapping[str, Any], source: str) -> doc.Page:
    """Return the page of a JSON result; raises `InputError` where it holds no plan, or is none."""
    try:
        if "candidates" in data:
            return _candidates_page(_Candidates.model_validate(data), _title(source, "Candidates"))
        if data.get("plan", data) is None:
            raise InputError(f"it holds no plan: {data.get('reason') or data.get('status')}", Location(source))
        result = _Result.model_validate(data if "plan" in data else {"plan": data})
    except ValidationError as error:
        raise doc.refuse_data(error, "result", "forethought solve --json", source) from None
    return _plan_page(result, source)


def _title(source: str, otherwise: str) -> str:
    return otherwise if source.startswith("<") else source


def candidates_page(found: CandidateSet, title: str = "") -> doc.Page:
    """Return the page of several plans; there must be one."""
    data = found.to_dict() | {"candidates": [_data(each) for each in found.plans]}
    return page_of_data(data, title or (found.plans[0].problem.name if found.plans else "candidates"))


def _data(plan: Plan) -> dict[str, Any]:
    return {"cost": json_number(plan.cost), "utility": json_number(plan.utility), **plan.to_dict()}


def _candidates_page(found: _Candidates, source: str) -> doc.Page:
    texts = [[str(step) for step in plan.steps] for plan in found.candidates]
    shared = Counter(text for each in texts for text in set(each))
    ranks = {each.candidate: each for each in found.ranking.ranked}
    candidates = [
        doc.Candidate(
            f"Candidate {number}",
            tuple(_measures(plan, ranks.get(number))),
            tuple([doc.CandidateStep(str(step), shared[str(step)], step.cost) for step in plan.steps]),
            "; ".join(f"without {each.wish}" for each in plan.forgone),
        )
        for number, plan in enumerate(found.candidates, start=1)
    ]
    heads = [doc.Figure("candidates", str(len(candidates)))]
    if found.proved is not None:
        words: tuple[str, doc.Tone] = ("proved", "good") if found.proved else ("not proved", "warn")
        heads.append(doc.Figure("order", *words))
    if found.lower_bound is not None:
        heads.append(doc.Figure("others cost at least", f"{found.lower_bound:g}"))
    notes = tuple(filter(None, found.ranking.why.splitlines()))
    return doc.Page("candidates", source, "plans side by side", tuple(heads), notes, candidates=tuple(candidates))


def _measures(plan: _Plan, ranked: _Ranked | None) -> Iterator[doc.Figure]:
    """Yield the figures of a candidate: its own, and those of its ranking."""
    found: dict[str, Any] = {name: getattr(plan, name, None) for name in MEASURES}
    if plan.cost is None:
        found["cost"] = sum(each.cost or 0 for each in plan.steps)
    found["steps"] = len(plan.steps)
    if ranked is not None:
        found |= {**ranked.values, "score": ranked.score}
    yield from [doc.Figure(name.replace("_", " "), f"{value:g}") for name, value in found.items() if value is not None]


def _plan_page(found: _Result, source: str) -> doc.Page:
    plan = found.plan
    starts = [each.start for each in plan.steps if each.start is not None]
    chart = None
    if starts and len(starts) == len(plan.steps):
        ends = [start + step.duration for start, step in zip(starts, plan.steps, strict=True)]
        chart = doc.Chart("seconds", tuple(starts), tuple(ends))
    tone: doc.Tone = "good" if found.status == "OPTIMAL" else "plain"
    figures = [doc.Figure("status", found.status.lower(), tone)] if found.status else []
    figures += [doc.Figure("steps", str(len(plan.steps)))]
    amounts = {"cost": found.cost, "lower bound": found.lower_bound}
    figures += [doc.Figure(name, f"{value:g}") for name, value in amounts.items() if value is not None]
    return doc.Page(
        "plan",
        _title(source, "Plan"),
        "a plan from a file",
        tuple(figures),
        ("Give the domain and the problem before this file to see why each step is there.",),
        steps=tuple([doc.StepItem(each.action, each.arguments, each.cost) for each in plan.steps]),
        chart=chart,
        search=_search(found),
        tree=None if plan.decomposition is None else _tree(plan.decomposition, len(plan.steps), source),
    )


def _search(found: _Result) -> doc.Search | None:
    """Return how the search went; None where the JSON says nothing of it."""
    if not found.statistics:
        return None
    from executor.desk.pages.search_part import search_of_data

    names = {each.name.lower(): each.value for each in StoppedBy}
    stopped_by = names.get(found.stopped_by, found.stopped_by)
    statistics = {**found.statistics, "stopped by": stopped_by}
    return search_of_data(found.history.model_dump(), statistics, "cost" if found.utility is None else "charge")


def _tree(found: _Tree, steps: int, source: str) -> doc.Tree:
    """Return the decomposition; raises `InputError` where it is no forest, or names steps that are not there."""
    _check_forest(found, source)
    nodes = []
    for place, node in enumerate(found.nodes):
        if node.step is not None and node.step >= steps:
            message = f"node {place} of the decomposition is step {node.step}, and there are {steps}, counted from 0"
            raise InputError(message, Location(source))
        label = f"{node.task}({', '.join(node.arguments)})" if node.arguments else node.task
        nodes.append(doc.TreeNode(label, 0 if node.step is None else node.step + 1, node.method, node.children))
    return doc.Tree(found.roots, tuple(nodes))


def _check_forest(found: _Tree, source: str) -> None:
    """Raise `InputError` unless each node is a root, or a child of one node, and can be reached from a root."""
    named: Sequence[int] = [*found.roots, *[child for node in found.nodes for child in node.children]]
    strange = next((place for place in named if not 0 <= place < len(found.nodes)), None)
    if strange is not None:
        raise InputError(f"the decomposition names node {strange}, which is not there", Location(source))
    twice = next((place for place, count in Counter(named).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"node {twice} of the decomposition is named twice", Location(source))
    reached, waiting = set[int](), list(found.roots)
    while waiting:
        place = waiting.pop()
        reached.add(place)
        waiting += found.nodes[place].children
    if len(reached) < len(found.nodes):
        lost = min({*range(len(found.nodes))} - reached)
        raise InputError(f"node {lost} of the decomposition is below none of its roots", Location(source))
