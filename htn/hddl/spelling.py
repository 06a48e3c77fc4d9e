"""Names as a file spells them: the model has them in lower case, and the competition's verifier tells case apart."""

from __future__ import annotations

from collections.abc import Iterator

from htn.model import Spelling
from planner.annotations import Final
from planner.pddl.trees import Source, Tree
from planner.pddl.typed import typed_list

_KINDS: Final = {
    ":action": "heads",
    ":task": "heads",
    ":method": "methods",
    ":constants": "objects",
    ":objects": "objects",
}
"""What each section declares."""


def read_spelling(source: Source) -> Spelling:
    """Return the names with upper-case letters that `source`, a definition without mistakes, declares."""
    if source.text == source.text.lower():
        return Spelling()
    written = Source(source.text, source.name, keep_case=True)
    found: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS.values()}
    for section in written.expressions[0][2:]:
        kind = _KINDS.get(section[0].lower(), "")
        for name in _declared(written, section, kind):
            if name != name.lower():
                found[kind].setdefault(name.lower(), name)
    return Spelling(**found)


def _declared(source: Source, section: Tree, kind: str) -> Iterator[str]:
    """Yield the names of this kind that `section` declares; none where `kind` is empty."""
    if kind == "objects":
        yield from (name for name, _, _ in typed_list(source, section, 1, "an object"))
    elif kind:
        yield section[1]
