"""The initial values of a unified-planning problem's fluents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unified_planning.model import Fluent, FNode, Object, Problem


class InitialValues:
    """Looks up initial values by fluent: those given for some arguments, and the default for all others."""

    def __init__(self, source: Problem) -> None:
        self._source = source
        self._given: dict[Fluent, dict[tuple[Object, ...], FNode]] = defaultdict(dict)
        for expression, value in source.explicit_initial_values.items():
            arguments = tuple([argument.object() for argument in expression.args])
            self._given[expression.fluent()][arguments] = value

    def get(self, fluent: Fluent, arguments: tuple[Object, ...]) -> FNode | None:
        """Return the value of one instance; None where it is undefined."""
        return self._given.get(fluent, {}).get(arguments, self._source.fluents_defaults.get(fluent))

    def of(self, fluent: Fluent) -> Iterator[tuple[tuple[Object, ...], FNode]]:
        """Yield arguments and value of every instance of `fluent` that is neither undefined nor false by default."""
        given = self._given.get(fluent, {})
        yield from given.items()
        default = self._source.fluents_defaults.get(fluent)
        if default is None or default.is_false():
            return
        objects = [list(self._source.objects(parameter.type)) for parameter in fluent.signature]
        for arguments in product(*objects):
            if arguments not in given:
                yield arguments, default
