"""Keep whether the trajectory constraints of a run were seen to be kept, or only said or assumed to be.

What a constraint demands counts as seen where the facts that decide it were observed, stated, or are trusted, and where
a demanded step was seen to be done. A fact that was assumed counts as seen, too, if an observer sees it before anything
changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from executor.events.events import StepStatus
from executor.events.steps import StepRecord
from executor.observe.beliefs import Beliefs
from planner.model import Atom, Constraint, ConstraintKind, Done, Formula, Not
from planner.semantics.constraint_monitors import covers

_DEMANDS: Final = frozenset({ConstraintKind.SOMETIME, ConstraintKind.BEFORE})
_UNSEEN: Final = frozenset({StepStatus.UNVERIFIED, StepStatus.PARTIAL})


class ConstraintEvidence:
    """The evidence for all hard constraints of a run."""

    def __init__(
        self, constraints: Iterable[Constraint], beliefs: Beliefs, before: ConstraintEvidence | None = None
    ) -> None:
        known: Mapping[Constraint, _Evidence] = {} if before is None else before._all  # noqa: SLF001 - of its class
        hard = [each for each in constraints if each.utility is None]
        self._all: dict[Constraint, _Evidence] = {each: known.get(each) or _Evidence(each) for each in hard}
        self.look(beliefs)

    def look(self, beliefs: Beliefs, record: StepRecord | None = None) -> None:
        """Take note of a step that was done, if one was, and of the believed state."""
        for each in self._all.values():
            if record is not None:
                each.look(beliefs, record)
            each.look(beliefs, None)

    def list_open_facts(self, beliefs: Beliefs) -> list[Atom]:
        """Return the facts that nobody has seen yet, and that decide whether the constraints are kept, each once."""
        return list(dict.fromkeys([fact for each in self._all.values() for fact in each.list_open_facts(beliefs)]))

    def describe_unseen(self) -> Iterator[str]:
        """Describe the constraints of which nobody has seen that they are kept."""
        for each in self._all.values():
            if each.is_hearsay:
                yield f"nobody has seen that this is kept: {each.constraint}"


class _Evidence:
    """The evidence for one constraint."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._is_what_seen = False
        self._has_other_come = False
        self._is_broken_off = False
        """Whether something changed that nobody had seen, or came before anybody had seen what was to come first."""
        self._open = dict[Atom, bool | None]()
        """Facts that nobody has seen yet and that decide what must always, or never, be so, with their values."""

    @property
    def is_hearsay(self) -> bool:
        """Whether nobody has seen that the constraint is kept."""
        is_missing = self.constraint.kind is ConstraintKind.SOMETIME and not self._is_what_seen
        return is_missing or self._is_broken_off or bool(self._open)

    def list_open_facts(self, beliefs: Beliefs) -> list[Atom]:
        """Return the facts that nobody has seen yet, and that decide whether the constraint is kept."""
        what, kind = self.constraint.what, self.constraint.kind
        if isinstance(what, Done) or self._is_what_seen or kind not in _DEMANDS or not beliefs.is_true(what):
            return [*self._open]
        return [*self._open, *_find_unseen(what, beliefs)]

    def look(self, beliefs: Beliefs, record: StepRecord | None) -> None:
        """Take note of the step of `record`, or else of the believed state."""
        what, other, kind = self.constraint.what, self.constraint.other, self.constraint.kind
        has_other_come = other is not None and _happens(other, beliefs, record)
        if kind is ConstraintKind.BEFORE:
            self._is_broken_off |= has_other_come and not self._is_what_seen
        if record is None and not isinstance(what, Done):
            is_barred = kind is ConstraintKind.NEVER_AFTER and self._has_other_come
            is_barred |= kind is ConstraintKind.AT_MOST and not self.constraint.times
            if is_barred or kind is ConstraintKind.ALWAYS:
                self._note_state(Not(what) if is_barred else what, beliefs)
        self._has_other_come |= has_other_come
        if kind in _DEMANDS and not self._is_what_seen:
            self._is_what_seen = _is_seen(what, beliefs, record)

    def _note_state(self, condition: Formula, beliefs: Beliefs) -> None:
        """Note the unseen facts on which `condition` rests now, and which of the earlier ones were seen since."""
        changed = [fact for fact, holds in self._open.items() if beliefs.holds(fact) is not holds]
        self._is_broken_off |= bool(changed)
        left = [fact for fact in self._open if fact not in changed and not beliefs.is_seen(fact)]
        unsure = _find_unseen(condition, beliefs)
        self._open = {fact: beliefs.holds(fact) for fact in (*left, *unsure)}


def _find_unseen(condition: Formula, beliefs: Beliefs) -> list[Atom]:
    return beliefs.find_decisive(condition, lambda fact: not (beliefs.is_internal(fact) or beliefs.is_seen(fact)))


def _happens(what: Done | Formula, beliefs: Beliefs, record: StepRecord | None) -> bool:
    """Return whether `what` happens with the step of `record` or, without one, in the believed state."""
    if isinstance(what, Done):
        return record is not None and covers(what, record.step)
    return record is None and beliefs.is_true(what)


def _is_seen(what: Done | Formula, beliefs: Beliefs, record: StepRecord | None) -> bool:
    """Return whether `what` happens, and somebody has seen it."""
    if not _happens(what, beliefs, record):
        return False
    if isinstance(what, Done):
        return record is not None and not (record.by_word or record.status in _UNSEEN)
    return not _find_unseen(what, beliefs)
