"""Ask people to confirm the goals of sentences, and approve the steps that they have seen in a proposal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from executor.agent.proposals import Proposal
from executor.events.answers import describe_refusal
from executor.plans.action_plan import PlanStep
from executor.recovery.ask_people import Callback, Request, read_decision
from executor.tools.containment import call_contained, log_failure
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import dataclass, field
from planner.model import Action
from planner.model.formulas import atoms_in
from planner.model.object_names import written_name
from planner.plan import Plan

Confirm = Callable[[Proposal], Any] | None
_LOG: Final = logging.getLogger(__name__)


def only_reads(plan: Plan) -> bool:
    """Return whether all steps of `plan` are instances of actions that are `read_only`.

    What a listing finds may need further steps, unless the goal is the listing alone.
    """
    problem = plan.problem.classical if hasattr(plan.problem, "classical") else plan.problem
    actions = problem.domain.actions
    if not all("read_only" in actions[step.action].tags for step in plan.steps):
        return False
    listed = {each.fact for each in listings_of(problem.domain)}
    finds = any(actions[step.action].lists for step in plan.steps)
    return not finds or all(atom.predicate in listed for atom in atoms_in(problem.goal.hard))


async def ask_to_confirm(confirm: Confirm, proposal: Proposal) -> bool | None:
    """Ask `confirm` about `proposal`; return None where nobody decides, or where it raises."""
    if confirm is None:
        return None
    try:
        given = read_decision(await call_contained(partial(confirm, proposal), {}))
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, nobody has decided
        log_failure(_LOG, "nobody has said whether this is meant: %s", proposal.words, error=error)
        return None
    return None if given is None else not describe_refusal(given, "it")


@dataclass(slots=True)
class ApproveShown:
    """Approves steps exactly as a proposal showed them; `other` decides about all others.

    `other` also decides about actions that are declared to need approval. Two that decide alike are equal.
    """

    actions: Mapping[str, Action] = field(compare=False)
    other: Callback = None
    shown: list[PlanStep] = field(default_factory=list)

    async def __call__(self, request: Request) -> Any:
        """Return True for a step that was shown, else the answer of `other`; None where there is none."""
        is_free = "needs_approval" not in self.actions[request.action].tags
        is_free = is_free and request.arguments.keys().isdisjoint(request.returned)  # nobody was shown a name as a text
        if is_free and any(map(partial(_shows, request), self.shown)):
            return True
        return None if self.other is None else await call_contained(partial(self.other, request), {})


def _shows(request: Request, step: PlanStep) -> bool:
    """Return whether `request` is for `step` with exactly the shown values."""
    try:
        values = to_jsonable_python(dict(request.parameters))
    except PydanticSerializationError:
        return False
    arguments = {name: written_name(term) for name, term in step.created.items()}
    return (step.action, arguments, step.parameters) == (request.action, request.arguments, values)
