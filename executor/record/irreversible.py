"""Which irreversible ground actions a run has begun, and must not begin again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from executor.record.facts import Note, Provenance
from executor.record.failures import Key
from executor.record.status import StepStatus
from planner.model import Atom
from planner.plan import Step


@dataclass(frozen=True, slots=True)
class Begun:
    """An irreversible ground action that a handler was called for.

    `step` is the id of the step, `effects` are the facts that it was to change and whether they hold then. `absent` are
    those of them that a conclusive observer has seen to be missing since. `came` are those that an observer has seen to
    come about, or that another step has changed since: missing later, they are no evidence that nothing happened.
    """

    step: str
    effects: Mapping[Atom, bool]
    done: bool = False
    absent: frozenset[Atom] = frozenset()
    came: frozenset[Atom] = frozenset()


class Irreversible:
    """Records what became of the irreversible ground actions of one run.

    An action that may have happened is barred until conclusive observers have seen all its effects to be missing, its
    own step has ended without any effect, or a person has said that it did not happen. One whose effects came about
    stays barred when they are gone.
    """

    def __init__(self) -> None:
        self._begun: dict[Key, Begun] = {}

    def begin(self, step: str, alike: Sequence[Step], effects: Mapping[Atom, bool]) -> None:
        """Note that a handler is called for the ground action, which goes by the names in `alike`."""
        self._begun.update(dict.fromkeys(map(_key, alike), Begun(step, effects)))

    def end(self, step: str, status: StepStatus, *, repeatable: bool) -> None:
        """Note how step `step` ended; where it is `repeatable`, nothing came of it."""
        for key, begun in list(self._begun.items()):
            if begun.step != step:
                continue
            if repeatable and status in {StepStatus.FAILED, StepStatus.PENDING}:
                del self._begun[key]
            else:
                self._begun[key] = replace(begun, done=status.is_done, absent=frozenset())

    def see(self, notes: Iterable[Note], by: str = "") -> None:
        """Take in `notes`: conclusive ones may show that an action has no effect.

        Where a step was done, they are about what it has changed, and `by` is its id.
        """
        if not self._begun:
            return
        seen = {note.fact: note for note in notes if by or note.provenance is Provenance.OBSERVED}
        for key, begun in list(self._begun.items()):
            found = {fact: seen[fact] for fact in begun.effects if fact in seen}
            missing = {
                fact for fact, note in found.items() if note.conclusive and note.holds is not begun.effects[fact]
            }
            absent = (begun.absent - found.keys()) | missing
            is_of_another = by not in {"", begun.step}
            came = {
                fact
                for fact, note in found.items()
                if is_of_another or (note.provenance is Provenance.OBSERVED and note.holds is begun.effects[fact])
            }
            came |= begun.came
            if begun.effects and absent - came >= begun.effects.keys():
                del self._begun[key]
            else:
                self._begun[key] = replace(begun, absent=absent, came=frozenset(came))

    def bars(self, step: Step, id_: str, *, is_new: bool) -> str:
        """Return why `step`, whose id is `id_`, must not be begun; nothing where it may.

        A step that is not new, but stands in the plan that the run began with or in its policy, may repeat what was
        done without doubt. Whether another attempt is made at the same step is for its policy to say.
        """
        begun = self._begun.get(_key(step))
        if begun is None or begun.step == id_ or (begun.done and not is_new):
            return ""
        what = "has done it already" if begun.done else "may have done it already"
        return f"{step} is irreversible, and step {begun.step} {what}"

    def barred(self) -> set[Step]:
        """Return the ground actions that no new step may take."""
        return {Step(*key) for key in self._begun}

    def done(self) -> list[Begun]:
        """Return those that were done, each once."""
        return list({each.step: each for each in self._begun.values() if each.done}.values())


def _key(step: Step) -> Key:
    return step.action, step.arguments
