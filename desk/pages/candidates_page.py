"""Pages of JSON results without their domain: several plans side by side, or one plan as far as its data tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from desk.pages import document as doc
from planner.errors import InputError, Location
from planner.plan import Plan, json_number
from planner.topk.top_k import CandidateSet

MEASURES: Final = ("cost", "makespan", "utility", "net_benefit", "score")
"""Fields of results that are worth comparing, in the order of the page."""


def is_result(data: Any) -> bool:
    """Return whether JSON `data` is a result, a plan, or candidates."""
    return isinstance(data, Mapping) and bool({"plan", "steps", "candidates"} & data.keys()) and "domain" not in data


def page_of_data(data: Mapping[str, Any], source: str) -> doc.Page:
    """Return the page of a JSON result; raises `InputError` where it holds no plan."""
    plans = data.get("candidates")
    if isinstance(plans, list):
        if not plans:
            raise InputError("there are no candidates in it", Location(source))
        return _candidates_page(plans, data, source)
    plan = data.get("plan", data)
    if not isinstance(plan, Mapping) or not isinstance(plan.get("steps"), list):
        reason = data.get("reason") or f"its status is {data.get('status', 'unknown')}"
        raise InputError(f"it holds no plan: {reason}", Location(source))
    return _plan_page(plan, data, source)


def candidates_page(found: CandidateSet, title: str = "") -> doc.Page:
    """Return the page of several plans."""
    name = title or (found.plans[0].problem.name if found.plans else "candidates")
    return _candidates_page([_data(each) for each in found.plans], found.to_dict(), name)


def _data(plan: Plan) -> dict[str, Any]:
    return {"cost": json_number(plan.cost), **plan.to_dict()}


def _candidates_page(plans: Sequence[Any], data: Mapping[str, Any], source: str) -> doc.Page:
    texts = [[_text(step, source) for step in _steps(each, source)] for each in plans]
    shared = Counter(text for each in texts for text in set(each))
    ranks = {each["candidate"]: each for each in data.get("ranking", {}).get("ranked", ())}
    candidates = []
    for number, (plan, lines) in enumerate(zip(plans, texts, strict=True), start=1):
        steps = [
            doc.CandidateStep(line, shared[line], step.get("cost"))
            for line, step in zip(lines, _steps(plan, source), strict=True)
        ]
        figures = _measures(plan, len(lines), ranks.get(number, {}))
        lost = [f"without {each.get('wish')}" for each in plan.get("forgone", ())]
        candidates.append(doc.Candidate(f"Candidate {number}", figures, tuple(steps), "; ".join(lost)))
    why = data.get("ranking", {}).get("why", "")
    heads = [doc.Figure("candidates", str(len(plans)))]
    if "proved" in data:
        proved = bool(data["proved"])
        heads.append(doc.Figure("order", "proved" if proved else "not proved", "good" if proved else "warn"))
    if data.get("lower_bound") is not None:
        heads.append(doc.Figure("others cost at least", str(data["lower_bound"])))
    return doc.Page(
        "candidates",
        source,
        "plans side by side",
        tuple(heads),
        tuple(filter(None, why.splitlines())),
        candidates=tuple(candidates),
    )


def _measures(plan: Mapping[str, Any], length: int, ranked: Mapping[str, Any]) -> tuple[doc.Figure, ...]:
    found = {name: plan[name] for name in MEASURES if plan.get(name) is not None} | {"steps": length}
    found |= {name: value for name, value in ranked.get("values", {}).items() if value is not None}
    if "cost" not in found:
        found = {"cost": sum(each.get("cost", 0) for each in plan.get("steps", ())), **found}
    return tuple([doc.Figure(name.replace("_", " "), f"{value:g}") for name, value in found.items()])


def _steps(plan: Any, source: str) -> list[Mapping[str, Any]]:
    steps = plan.get("steps") if isinstance(plan, Mapping) else None
    if not isinstance(steps, list) or not all(isinstance(each, Mapping) for each in steps):
        raise InputError('found a plan without "steps"', Location(source), "as `forethought solve --json` writes them")
    return steps


def _text(step: Mapping[str, Any], source: str) -> str:
    action, arguments = step.get("action"), step.get("arguments", [])
    if not isinstance(action, str) or not isinstance(arguments, list):
        hint = 'expected {"action": "move", "arguments": ["r1", "a", "b"]}'
        raise InputError(f"found {step!r:.80}, no step", Location(source), hint)
    return f"{action}({', '.join(map(str, arguments))})"


def _plan_page(plan: Mapping[str, Any], data: Mapping[str, Any], source: str) -> doc.Page:
    steps = []
    for each in _steps(plan, source):
        _text(each, source)
        steps.append(doc.StepItem(each["action"], tuple(map(str, each.get("arguments", ()))), each.get("cost")))
    timed = [each for each in plan["steps"] if isinstance(each.get("start"), int | float)]
    chart = None
    if timed and len(timed) == len(steps):
        starts = tuple([each["start"] for each in timed])
        ends = tuple([each["start"] + each.get("duration", 0) for each in timed])
        chart = doc.Chart("seconds", starts, ends)
    status = data.get("status")
    figures = [doc.Figure("status", str(status).lower(), "good" if status == "OPTIMAL" else "plain")] if status else []
    figures += [doc.Figure("steps", str(len(steps)))]
    figures += [doc.Figure(each, f"{data[each]:g}") for each in ("cost", "lower_bound") if data.get(each) is not None]
    note = "Give the domain and the problem before this file to see why each step is there."
    tree = _tree(plan.get("decomposition"))
    subtitle = "a plan from a file"
    return doc.Page("plan", source, subtitle, tuple(figures), (note,), steps=tuple(steps), chart=chart, tree=tree)


def _tree(data: Any) -> doc.Tree | None:
    """Return the decomposition in the data of a plan."""
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list):
        return None
    nodes = []
    for each in data["nodes"]:
        label = f"{each.get('task')}({', '.join(map(str, each.get('arguments', ())))})"
        step = each.get("step")
        nodes.append(
            doc.TreeNode(
                label, 0 if step is None else step + 1, each.get("method", ""), tuple(each.get("children", ()))
            )
        )
    return doc.Tree(tuple(data.get("roots", ())), tuple(nodes))
