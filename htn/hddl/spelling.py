"""Names as a file spells them: the model has them in lower case, and the competition's verifier tells case apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def read_spelling(source: Source, methods: Sequence[str] = ()) -> Spelling:
    """Return the names that `source`, a definition without mistakes, spells otherwise than the model.

    `methods` has for each method of `source` its name in the model, or "" where plans do not use the name in `source`.
    """
    is_lower = source.text == source.text.lower()
    if is_lower and not methods:
        return Spelling()
    written = source if is_lower else Source(source.text, source.name, keep_case=True)
    names = iter(methods)
    found: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS.values()}
    for section in written.expressions[0][2:]:
        kind = _KINDS.get(section[0].lower(), "")
        for name in _declared(written, section, kind):
            known = next(names) if kind == "methods" else name.lower()
            found[kind][known] = name
    return Spelling(**{kind: _others(spelled) for kind, spelled in found.items()})


def _declared(source: Source, section: Tree, kind: str) -> Iterator[str]:
    """Yield the names of this kind that `section` declares; none where `kind` is empty."""
    if kind == "objects":
        yield from (name for name, _, _ in typed_list(source, section, 1, "an object"))
    elif kind:
        yield section[1]


def _others(spelled: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the model that the file spells otherwise."""
    return {known: name for known, name in spelled.items() if known not in ("", name)}
