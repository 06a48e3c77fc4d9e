"""Why there is a plan: what was asked for, who took it to mean the goal, and what of it nothing can confirm."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Basis(BaseModel):
    """What a plan rests on.

    `request` is what was asked for, `words` say what that was taken to mean, and `thought` is what the language model
    said to that which read it; `confirmed` says who let it pass. `unverified` has parts of the request, word for word,
    that no fact expresses, each with the ground steps (`mail(note, ada)`) that a model proposed for it: these need
    approval, and a run of the plan is `UNVERIFIED` at best. `proposing` is what the model said to that. `left` are
    parts that nothing serves: without them, a run is `LOWERED` at best. `calls`, `tokens` and `cost`, money, are what
    reading and proposing took of a language model, and `saved` is what was there already: seconds of search, calls and
    tokens. `drawn` says who drew the plan up, where it was not searched for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: str = ""
    words: str = ""
    thought: str = ""
    confirmed: str = ""
    unverified: dict[str, tuple[str, ...]] = {}
    proposing: str = ""
    left: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    saved: dict[str, float] = {}
    drawn: str = ""

    @property
    def is_by_agent(self) -> bool:
        """Whether an agent has made the plan, of a request: it says who let that pass."""
        return bool(self.confirmed)

    @property
    def proposed(self) -> frozenset[str]:
        """The ground steps that a model proposed for what no fact expresses."""
        return frozenset([step for steps in self.unverified.values() for step in steps])
