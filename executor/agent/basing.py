"""The plan of a proposal as what is carried out: with why there is it, and the values that come with it."""

from __future__ import annotations

from typing import Final

from executor.agent.planning import TEMPLATE
from executor.agent.proposals import Proposal, Standing
from executor.planning import Planned
from executor.plans.action_plan import ActionPlan
from executor.plans.basis import Basis
from planner.errors import InputError

PERSON: Final = "somebody"
"""Who has confirmed what a sentence was taken to mean."""
STATED: Final = "stated as a goal"
READS: Final = "waived, or its plan only reads"
CONFIRMS: Final = frozenset({Standing.UNCONFIRMED, Standing.UNVERIFIED, Standing.UNMODELLED})
"""How proposals stand that are carried out only because somebody says so."""


def based(proposal: Proposal) -> Planned:
    """Return the plan of `proposal`; raises `InputError` where it has none."""
    if proposal.plan is None or proposal.problem is None:
        raise InputError(f"there is no plan to carry out: {proposal.standing.value}", hint=proposal.reason or None)
    made = ActionPlan.of(proposal.plan, basis=basis_of(proposal))
    improvised = proposal.improvised.values if proposal.improvised is not None else {}
    values = {**proposal.values, **improvised}
    steps = [
        each.model_copy(update={"parameters": dict(values[place])}) if place in values else each
        for place, each in enumerate(made.steps)
    ]
    return Planned(made.model_copy(update={"steps": tuple(steps)}), proposal.problem)


def basis_of(proposal: Proposal) -> Basis:
    """Return why there is the plan of `proposal`."""
    found = proposal.improvised
    unconfirmed = READS if proposal.request else STATED
    return Basis(
        request=proposal.request,
        words=proposal.words,
        thought=proposal.thought,
        confirmed=PERSON if proposal.standing in CONFIRMS else unconfirmed,
        unverified={} if found is None else found.unverified,
        proposing="" if found is None else found.thought,
        left=() if found is None else found.left,
        calls=proposal.usage.calls,
        tokens=proposal.usage.tokens,
        cost=proposal.usage.money,
        saved={name: amount for name, amount in proposal.saved.to_dict().items() if amount},
        drawn=_drawn(proposal),
    )


def _drawn(proposal: Proposal) -> str:
    """Return who drew the plan up, where it was not searched for."""
    if proposal.repaired is not None:
        return f"somebody else drew it up; {proposal.repaired.status.value}"
    if proposal.result is not None and proposal.result.statistics.search == TEMPLATE:
        return proposal.result.reason
    return "it was found before, for such a problem" if proposal.saved.seconds else ""
