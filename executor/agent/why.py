"""Explain a run or a step from its record: who chose what, and why."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from executor.agent.run_goals import PERSON as SOMEBODY
from executor.agent.run_goals import STATED
from executor.events.answers import FILL, name_approval
from executor.events.events import UNFINISHED, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.parameters import APPROVAL, FILLED, needs_no_approval
from executor.plans.action_plan import Basis
from executor.tools.json_data import dump_json_value
from planner.errors import InputError, PlanError, did_you_mean
from planner.lightweight import dataclass
from planner.partial_order.causal_links import causal_links
from planner.plan import Plan

SHOWN: Final = 200
"""Most characters of a value."""


class By(Enum):
    """Who made a choice; compare with `is`."""

    PERSON = "a person"
    MODEL = "a language model"
    PLANNER = "the planner"
    HOST = "the host"
    HANDLER = "an earlier step"
    DOMAIN = "the domain"


@dataclass(frozen=True, slots=True)
class Choice:
    """`what` was chosen, by whom, and why: `because` follows from the record, `thought` is a model's reason."""

    what: str
    by: By
    because: str = ""
    thought: str = ""

    def __str__(self) -> str:
        why = f": {self.because}" if self.because else ""
        thought = f' ("{self.thought}")' if self.thought else ""
        return f"{self.what}, by {self.by.value}{why}{thought}"

    def to_dict(self) -> dict[str, str]:
        """Return the choice as JSON-ready data."""
        return {"what": self.what, "by": self.by.name.lower(), "because": self.because, "thought": self.thought}


@dataclass(frozen=True, slots=True)
class Why:
    """The choices that led to a run or to a step, in order."""

    about: str
    choices: tuple[Choice, ...]

    def __str__(self) -> str:
        return "\n".join([self.about, *[f"- {each}" for each in self.choices]])

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as JSON-ready data."""
        return {"about": self.about, "choices": [each.to_dict() for each in self.choices]}


def why(state: RunState, step: str | None = None) -> Why:
    """Explain a run or, with the id of a `step`, that step.

    Raises `InputError` for an unknown step.
    """
    if step is None:
        about = f"run {state.run}: {state.status.name}{f', {state.reason}' if state.reason else ''}"
        return Why(about, tuple(_explain_run(state)))
    record = state.steps.get(step)
    if record is None:
        hint = did_you_mean(step, list(state.steps)) or f"its steps are {', '.join(state.steps)}"
        raise InputError(f"the run {state.run!r} has no step {step!r}", hint=hint)
    about = f"step {step}, {record.step}: {record.status.name}{f', {record.reason}' if record.reason else ''}"
    return Why(about, tuple(_explain_step(state, record)))


def _explain_run(state: RunState) -> Iterator[Choice]:
    basis = state.plan.basis
    yield from _explain_goal(basis)
    found = [record for record in state.steps.values() if not record.because]
    listed = "; ".join(str(each.step) for each in found)
    drawn, by = (f"{basis.drawn}: ", By.HOST) if basis.drawn else ("", By.PLANNER)
    yield Choice(f"a plan of {len(found)} steps", by, f"{drawn}{listed}")
    for part, steps in basis.unverified.items():
        because = f"nothing in the domain expresses {part!r}, and somebody has to approve"
        yield Choice(", ".join(steps), By.MODEL, because, basis.proposing)
    for change in state.redirected:
        yield Choice("another goal on the way", By.PERSON, change.reason)
    for rung in state.rungs:
        if rung.found:
            yield Choice(rung.rung.value, By.PLANNER, rung.reason)
    for wish in state.dropped:
        yield Choice(f"to do without {wish}", By.PLANNER, "no plan was found with it")
    for question, answer in state.answers.items():
        yield Choice(f"the answer to {question}", By.PERSON, dump_json_value(answer)[:SHOWN])


def _explain_goal(basis: Basis) -> Iterator[Choice]:
    if not (basis.words or basis.request):
        return
    words = " ".join(basis.words.split())
    if not basis.request or basis.confirmed == STATED:
        yield Choice(f"the goal ({words})", By.PERSON, STATED)
        return
    yield Choice(f"the goal ({words})", By.MODEL, f"that is how it read {basis.request!r}", basis.thought)
    who = By.PERSON if basis.confirmed == SOMEBODY else By.HOST
    yield Choice("that this is meant", who, "confirmed" if who is By.PERSON else basis.confirmed)


def _explain_step(state: RunState, record: StepRecord) -> Iterator[Choice]:
    basis, purposes = state.plan.basis, _find_purposes(state, record)
    if record.is_proposed:
        parts = [repr(part) for part, steps in basis.unverified.items() if _step_text(record) in steps]
        yield Choice("that it is done", By.MODEL, f"it is to serve {', '.join(parts)}", basis.proposing)
    elif record.plan.undoes:
        yield Choice("that it is done", By.PLANNER, f"it undoes {', '.join(record.plan.undoes)}")
    else:
        yield Choice("that it is done", By.PLANNER, "; ".join(filter(None, [record.because, *purposes])))
    for name, value in record.parameters.items():
        yield _explain_value(state, record, name, value)
    action = state.domain.actions[record.step.action]
    if record.attempts and not needs_no_approval(state, record, action, record.parameters, record.sources):
        answer = state.answers.get(name_approval(record.id))
        told = "by whoever approves" if answer is None else f"answered {answer!r}"
        yield Choice("that it may be done", By.PERSON, told)
    if record.attempts > 1 or record.failed:
        tried = ", ".join([*record.failed, record.skill])
        yield Choice(f"{record.attempts} attempts", By.DOMAIN, f"its policy, with the handlers {tried}")


def _explain_value(state: RunState, record: StepRecord, name: str, value: Any) -> Choice:
    """Return who chose the value of a data parameter."""
    text, source = dump_json_value(value), record.sources.get(name, "")
    what = f"{name} = {text if len(text) <= SHOWN else text[:SHOWN] + '…'}"
    if source == APPROVAL:
        source = FILLED if name in record.filled else "plan" if name in record.plan.parameters else source
    seen = "; it had seen what tools returned" if record.marked else ""
    told: dict[str, tuple[By, str, str]] = {
        "plan": (By.HOST, "the plan has it", ""),
        "step": (By.HANDLER, f"the result of {source}", ""),
        "earlier": (By.HANDLER, "what a step of an earlier run returned", ""),
        "memory": (By.HOST, "working memory has it", ""),
        "default": (By.DOMAIN, "its default", ""),
        FILLED: (By.MODEL, f"from what was said{seen}", record.thought),
    }
    if f"{FILL}{record.id}" in state.answers:
        told[FILLED] = (By.PERSON, "the answer to a question", "")
    if record.is_proposed:
        told["plan"] = (By.MODEL, "it came with the step", state.plan.basis.proposing)
    return Choice(what, *told.get(source.partition(" ")[0], (By.PERSON, "approved as it stands", "")))


def _find_purposes(state: RunState, record: StepRecord) -> list[str]:
    """Return the conditions that a step provides for others, if the rest of the plan works as declared."""
    done = [id_ for id_ in dict.fromkeys(state.finished) if state.steps[id_].status.is_done]
    ids = [*[id_ for id_ in done if state.steps[id_].status is not StepStatus.SKIPPED], *_remaining_steps(state, done)]
    if record.id not in ids:
        return []
    number = ids.index(record.id) + 1
    try:
        links = causal_links(state.source, Plan(tuple([state.steps[id_].step for id_ in ids]), state.source))
    except PlanError:  # the world is not as it is declared
        return []
    served = [(link, ids[link.consumer - 1] if link.consumer <= len(ids) else "") for link in links]
    return [
        f"{link.condition} is needed by {f'{id_}, {state.steps[id_].step}' if id_ else 'the goal'}"
        for link, id_ in served
        if link.provider == number
    ]


def _remaining_steps(state: RunState, done: list[str]) -> list[str]:
    return [each.id for each in state.with_status(*UNFINISHED) if each.id not in done]


def _step_text(record: StepRecord) -> str:
    """Write the ground step in the form of `Basis`."""
    text = str(record.step)
    return text.removesuffix("()")
