"""Versions of a domain, and what is expected of runs of the old one that a new one takes up.

tests/executor/promises and tests/executor/temporal go through the changes in each state of a run and each journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from executor import World
from planner import Domain

PAY = {"tags": ["irreversible", "needs_approval"]}


@dataclass
class Bank:
    """What has happened in the world, whatever journals say."""

    paid: list[str] = field(default_factory=list)
    filed: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    stamped: list[str] = field(default_factory=list)
    fails: bool = False

    def pay(self, item: str, text: str) -> None:
        self.paid.append(item)
        assert text == "rent"
        if self.fails:
            raise TimeoutError("no answer")


@dataclass
class Version:
    """A version of the domain: what its names are, and what it has besides."""

    type: str = "bill"
    pay: str = "pay"
    parameter: str = "b"
    note: str = "note"
    check: bool = True
    stamp: bool = False
    files: bool = True
    was: Mapping[str, Any] = field(default_factory=dict)

    def make(self, bank: Bank, name: str = "", was: str = "") -> World:
        one, p = {self.parameter: self.type}, self.parameter
        domain = Domain("desk", types=[self.type], was=self.was)
        stamped = [f"stamped({p})"] if self.stamp else []
        if self.check:
            domain.action("check", one, provides=[f"checked({p})"])
        domain.action("scan", one, provides=[f"checked({p})"], cost=9)
        if self.stamp:
            domain.action("stamp", one, provides=stamped)
        requires, provides = [f"checked({p})", *stamped], [f"paid({p})"]
        domain.action(self.pay, {**one, self.note: "str"}, requires=requires, provides=provides, **PAY)
        domain.action("file", one, requires=[f"paid({p})"], provides=[f"filed({p})"])
        world = World(domain, name, was or ())
        done = {"checked": bank.checked, "filed": bank.filed, "stamped": bank.stamped}
        for action, kept in (("check", "checked"), ("scan", "checked"), ("stamp", "stamped"), ("file", "filed")):
            if action in world.model.actions and (self.files or action != "file"):
                world.handler(action)(lambda kept=kept, **given: done[kept].append(str(given[p])))
        world.handler(self.pay)(lambda **given: bank.pay(str(given[p]), given[self.note]))
        for kept in done.keys() - ({"stamped"} - {*world.model.predicates}):
            world.observer(f"{kept}(_)", conclusive=True, settle_within=0)(lambda kept=kept: list(done[kept]))
        return world


OLD = Version()


@dataclass
class Change:
    """A new version, and what is expected of runs of the old one: `waits` has words of the reason, "" to go on."""

    new: Version
    waits: str = ""
    reads: bool = True
    """Whether the new version can read a run that is over."""


WAS = {"types": {"bill": "order"}, "actions": {"pay": "settle"}}
CHANGES: dict[str, Change] = {
    "nothing": Change(Version()),
    "type renamed": Change(Version(type="order", was={"types": {"bill": "order"}})),
    "action renamed": Change(Version(pay="settle", was={"actions": {"pay": "settle"}})),
    "parameter renamed": Change(Version(parameter="x", note="words", was={
        "parameters": {
            "pay": {"b": "x", "note": "words"},
            **{each: {"b": "x"} for each in ("check", "scan", "file")},
        }
    })),
    "all renamed": Change(Version(type="order", pay="settle", note="words", was={
        **WAS, "parameters": {"settle": {"note": "words"}},
    })),
    "handler gone": Change(Version(files=False), waits="file"),
    "precondition added": Change(Version(stamp=True)),
    "action lost": Change(Version(check=False, was={"actions": {"check": None}})),
    "action removed": Change(Version(check=False), waits="check", reads=False),
    "type renamed, unsaid": Change(Version(type="order"), waits="bill", reads=False),
    "action renamed, unsaid": Change(Version(pay="settle"), waits="pay", reads=False),
    "parameter renamed, unsaid": Change(Version(parameter="x"), waits="'x'", reads=False),
}  # fmt: skip


def state_problem(world: World) -> Any:
    kind = next(iter(world.model.types))
    goal = ["filed(b1)", f"(forall (?y - {kind}) (paid ?y))"]
    return world.domain.problem(objects={"b1": kind}, goal=goal)
