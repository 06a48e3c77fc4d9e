"""What tests of pages share: pages of shipped problems, and a domain with hostile names."""

from __future__ import annotations

import json
import re
from functools import cache

from executor.desk.pages.document import Page
from executor.desk.pages.html import write_html
from executor.desk.pages.plan_page import plan_page
from planner import Domain, Outcome, Plan, load, solve

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "quote\" and 'single",
    "שלום \u202eevil",
    "emoji 🚚 \u2028 line",
    "{{document}} && ${x} `tick`",
    "back\\slash",
)
SHIPPED = {
    "courier": "one-parcel",
    "elevator": "two-guests",
    "stacking": "swap",
    "mules": "one-crate",
    "assistant": "with-chart",
    "workshop": "stool",
    "errands": "bread",
    "outing": "stroll",
    "household": "supper",
    "incident": "shop",
    "travel": "board",
    "tools": "one-question",
    "helpdesk": "new-account",
    "runbook": "patch",
    "purchasing": "paper",
    "secretary": "one-meeting",
}
"""A small problem of each shipped domain."""


@cache
def solved(domain: str, problem: str):
    """Return the result for a shipped problem."""
    return solve(load(domain, problem), time_limit=20)


@cache
def page_of(domain: str) -> Page:
    """Return the page of the plan for the small problem of `domain`."""
    result = solved(domain, SHIPPED[domain])
    return plan_page(result.plan, result)


def hostile_plan() -> Plan:
    """Return a plan whose objects have hostile names, made without the readers, which would refuse them."""
    yard = Domain("yard")
    yard.action("touch", {"a": "object"}, provides=["touched(a)"])
    problem = yard.problem("any", objects={"x": "object"}, goal=["touched(x)"])
    from planner.lightweight import replace
    from planner.model import And, Atom, Goal, Object
    from planner.plan import Step

    goal = Goal(And(tuple(Atom("touched", (name,)) for name in HOSTILE)))
    odd = replace(problem, name=HOSTILE[0], objects=tuple(Object(name, ("object",)) for name in HOSTILE), goal=goal)
    return Plan(tuple(Step("touch", (name,), 1) for name in HOSTILE), odd)


def chain_plan(steps: int, *, wide: int = 1) -> Plan:
    """Return a plan of moves to and fro, by `wide` robots that do not wait for each other."""
    walk = Domain("walk", types=["robot", "room"])
    walk.action(
        "move",
        {"r": "robot", "here": "room", "there": "room"},
        requires=["at(r, here)", "door(here, there)"],
        provides=["at(r, there)"],
        modifies=["at(r, _)"],
    )
    robots = [f"r{number}" for number in range(wide)]
    facts = [f"at({robot}, a)" for robot in robots] + ["door(a, b)", "door(b, a)"]
    objects = dict.fromkeys(robots, "robot") | {"a": "room", "b": "room"}
    problem = walk.problem("fro", objects=objects, initial=facts, goal=[f"at({robots[0]}, a)"])
    from planner.plan import Step

    made = []
    for number in range(steps):
        here, there = ("a", "b") if (number // wide) % 2 == 0 else ("b", "a")
        made.append(Step("move", (robots[number % wide], here, there), 1))
    return Plan(tuple(made), problem)


def over():
    """Return a problem with a bridge that may break, and water that one may drown in."""
    bridge = Domain("bridge")
    bridge.action(
        "cross",
        requires=["here", "bridge"],
        provides=["there", "not here"],
        outcomes=[Outcome(0.75, ["there", "not here"]), Outcome(0.25, ["not bridge"])],
    )
    bridge.action("mend", requires=["here"], provides=["bridge"], risk=0.5, cost=2)
    bridge.action(
        "swim",
        requires=["here"],
        provides=["there", "not here"],
        outcomes=[Outcome(0.9, ["there", "not here"]), Outcome(0.1, ["not here"])],
    )
    return bridge.problem("over", initial=["here", "bridge"], goal=["there"])


def data_of(html: str) -> dict:
    """Return the document that a page holds."""
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1])


def html_of(domain: str) -> str:
    """Return the page of a shipped domain's small problem as HTML."""
    return write_html(page_of(domain))
