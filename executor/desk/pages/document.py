"""The data of a page: what Python collects, what the front end in `static/` shows, and what the exports draw.

A `Page` is one JSON document; `to_json` leaves out fields that have their default. Steps count from 1; 0 is the initial
state as a provider, and the number after the last step is the goal. Texts of conditions stand once in `Page.texts`, and
all else refers to them by place. Times are seconds from the beginning of a plan or run. The front end shows every
text as text: nothing in a document is markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from planner.errors import InputError, Location

VERSION: Final = 1
"""Version of the schema; it grows when a reader of older documents would misread a newer one."""
Number = int | float
Tone = Literal["good", "warn", "bad", "plain"]
Kind = Literal["plan", "run", "domain", "candidates", "policy"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or a word at the head of a page."""

    label: str
    value: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Break:
    """What fails first without a step: step `step` (0: the goal itself) lacks the condition at `text`."""

    step: int
    text: int


@dataclass(frozen=True, slots=True)
class StepItem:
    """One step of a plan or run.

    `parameters` are the names of the arguments, where no domain tells them. `breaks` is known for plans that are short
    enough to be replayed without each step.
    """

    action: str
    arguments: tuple[str, ...] = ()
    cost: Number | None = None
    parameters: tuple[str, ...] = ()
    redundant: bool = False
    keeps: str = ""
    breaks: Break | None = None
    id: str = ""
    status: str = ""
    because: str = ""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a step in a run, by the places of its first and last event; `end` -1: it has not ended."""

    begin: int
    end: int
    status: str
    skill: str = ""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of a layered drawing: `layer` from 0, and `y` in heights of a node around 0.

    `ref` is the number of a step, or the name of an action or predicate.
    """

    label: str
    layer: int
    y: float
    kind: str = "step"
    detail: str = ""
    ref: int | str = 0


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge between places in the list of nodes; `bends` are points (layer, y) in between."""

    source: int
    target: int
    kind: str = "link"
    label: str = ""
    bends: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A layered drawing; the front end breaks it into lines that are as wide as the screen."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


@dataclass(frozen=True, slots=True)
class Marker:
    """A moment in a chart: a deadline, or a change at a known time."""

    time: Number
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """When steps start and end: in seconds, or, where no step has a duration, in rounds of steps that may run at once.

    `origin` is the absolute time of the beginning in ISO 8601. `chain` says what decides the end.
    """

    unit: Literal["seconds", "rounds"]
    starts: tuple[Number, ...]
    ends: tuple[Number, ...]
    slack: tuple[Number, ...] = ()
    critical: tuple[int, ...] = ()
    markers: tuple[Marker, ...] = ()
    origin: str = ""
    chain: tuple[tuple[Number, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """What changes at one moment: places of facts in `Page.texts`; numbers as (fluent, before, after).

    `step` 0 is a change at a known time. `phase` is "starts" or "ends" where steps last.
    """

    step: int
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    numbers: tuple[tuple[int, str, str], ...] = ()
    phase: str = ""
    time: Number | None = None


@dataclass(frozen=True, slots=True)
class States:
    """The initial state, without facts and numbers that never change (`constant`), and what changes from there on."""

    initial: tuple[int, ...]
    deltas: tuple[Delta, ...]
    numbers: tuple[tuple[int, str], ...] = ()
    constant: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another method for a task; `works` says whether its precondition held then, None where that was not looked at."""

    method: str
    works: bool | None = None
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A task of a decomposition: `step` for a primitive one, else its method and its children, by place."""

    label: str
    step: int = 0
    method: str = ""
    children: tuple[int, ...] = ()
    binding: tuple[tuple[str, str], ...] = ()
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """The decomposition of a plan, as a forest."""

    roots: tuple[int, ...]
    nodes: tuple[TreeNode, ...]


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of a run: who said what, about which step (its place from 1; 0: the run)."""

    time: float
    kind: str
    text: str
    step: int = 0
    who: str = ""
    tone: Tone = "plain"
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionItem:
    """An open question of a run, about a step (its place from 1; 0: the run).

    `choices` are the answers, of which an approval has two. A question of the kind "doubt" asks for the names of the
    objects that the step `creates`. `values` are the names of the values that are missing or that an approval shows,
    and `texts` those of them that are texts. An answer after `until`, in seconds since 1970, comes too late (0: none
    does). `shown` identifies what is asked.
    `answer` was posted and not taken yet, and `objection` says why the driver of the run did not take it.
    """

    name: str
    text: str
    kind: Literal["approval", "parameters", "doubt", "choice", "wait"]
    shown: str
    step: int = 0
    choices: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    answer: str = ""
    objection: str = ""
    values: tuple[str, ...] = ()
    until: float = 0.0
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The events of a run; `began` is in seconds since 1970, and times of events are seconds since then.

    `driven` says whether a process drives the run: None where that was not looked at, as in a page in a file.
    """

    began: float
    events: tuple[EventItem, ...]
    id: str = ""
    is_over: bool = False
    driven: bool | None = None
    questions: tuple[QuestionItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A titled list of lines in the description of an action."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ActionItem:
    """An action, task or predicate of a domain."""

    name: str
    signature: str
    kind: Literal["action", "method", "task", "predicate"] = "action"
    parameters: tuple[tuple[str, str], ...] = ()
    description: str = ""
    tags: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeItem:
    """A type, its parents, and the objects right of this type."""

    name: str
    parents: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingItem:
    """A finding of `forethought check`."""

    level: str
    rule: str
    place: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DomainItem:
    """A domain: its types, what it declares, who provides what for whom, and what `check` finds."""

    name: str
    items: tuple[ActionItem, ...]
    description: str = ""
    types: tuple[TypeItem, ...] = ()
    findings: tuple[FindingItem, ...] = ()
    graph: Graph | None = None


@dataclass(frozen=True, slots=True)
class CandidateStep:
    """A step of a candidate; `shared` is the number of candidates that have it."""

    text: str
    shared: int
    cost: Number | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several plans, with the figures to compare."""

    title: str
    figures: tuple[Figure, ...]
    steps: tuple[CandidateStep, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """A step of the plan in an answer; `added` says that the plan asked about does not have it."""

    text: str
    added: bool = False


@dataclass(frozen=True, slots=True)
class AnswerItem:
    """The answer to a contrastive question: sentences, figures, and the plan that does what is asked for, if any.

    `left_out` are the numbers of the steps of the plan asked about that this one does not have.
    """

    question: str
    tone: Tone
    lines: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    steps: tuple[AnswerStep, ...] = ()
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyState:
    """A state in which a policy takes the step of the same number: what holds there, by place in `Page.texts`.

    `success` and `cost` are expected from here on; `visits` is how often the state is visited in the mean.
    """

    facts: tuple[int, ...]
    unknown: tuple[int, ...] = ()
    supposed: tuple[str, ...] = ()
    success: float = 0.0
    cost: float = 0.0
    visits: float = 0.0


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What may come of step `source`: the `change` at its place in `Page.texts`, and the state `target`.

    The number after the last step is the goal, the one after that an end without the goal.
    """

    source: int
    target: int
    probability: float
    change: int


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: its states in the order of the steps, and all outcomes of the steps."""

    states: tuple[PolicyState, ...]
    outcomes: tuple[PolicyOutcome, ...]


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """What was known after `time` seconds: the best plan's charge and the lower bound, and which search found it."""

    time: float
    cost: Number | None = None
    bound: Number | None = None
    search: str = ""


@dataclass(frozen=True, slots=True)
class SearchLane:
    """A search of the portfolio: `about` says what it does; it was at work from `begins[i]` to `ends[i]` seconds."""

    search: str
    heuristics: tuple[str, ...]
    begins: tuple[float, ...]
    ends: tuple[float, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """How a search went: points in time, which searches were at work when, and statistics by name.

    `measure` is what the costs of plans are: "charge" where wishes that are forgone are added, "makespan" where the end
    in seconds is all that counts.
    """

    points: tuple[SearchPoint, ...]
    lanes: tuple[SearchLane, ...] = ()
    statistics: tuple[tuple[str, str], ...] = ()
    measure: str = "cost"


@dataclass(frozen=True, slots=True)
class Page:
    """All that one page shows; parts that are absent have no tab.

    `links` are causal links (provider, consumer, text), `order` further orderings (earlier, later, reason, text).
    """

    kind: Kind
    title: str
    subtitle: str = ""
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    steps: tuple[StepItem, ...] = ()
    links: tuple[tuple[int, int, int], ...] = ()
    order: tuple[tuple[int, int, str, int], ...] = ()
    graph: Graph | None = None
    chart: Chart | None = None
    states: States | None = None
    tree: Tree | None = None
    policy: Policy | None = None
    run: Run | None = None
    domain: DomainItem | None = None
    search: Search | None = None
    candidates: tuple[Candidate, ...] = ()
    answers: tuple[AnswerItem, ...] = ()
    version: int = VERSION


@cache
def _adapter() -> TypeAdapter[Page]:
    return TypeAdapter(Page)


def to_json(page: Page) -> str:
    """Return the document as JSON, without the fields that have their default."""
    return _adapter().dump_json(page, exclude_defaults=True).decode()


def from_data(data: Any) -> Page:
    """Return the document in JSON-ready `data`; raises `pydantic.ValidationError` for anything else."""
    return _adapter().validate_python(data)


def refuse_data(error: ValidationError, what: str, command: str, source: str) -> InputError:
    """Return the error that says why data from `source` is no `what`, such as `command` prints."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    hint = f"`{command}` prints what is read here"
    return InputError(f"no {what}: {where}: {first['msg']}", Location(source), hint)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of documents."""
    return _adapter().json_schema(mode="serialization")


class Texts:
    """Keeps each text once, and gives its place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Return the place of `text`."""
        return self._places.setdefault(text, len(self._places))

    def find(self, text: str) -> int:
        """Return the place of `text`, -1 where it has none."""
        return self._places.get(text, -1)

    def all(self) -> tuple[str, ...]:
        """Return all texts in their places."""
        return tuple(self._places)
