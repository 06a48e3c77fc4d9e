"""Build objects of the author's classes from the names in plans, for handlers, checks and observers."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final, Union, get_args, get_origin

from executor.plans.created_objects import Bindings, name_of
from executor.tools.containment import call_contained, describe_error, quote_value
from planner.errors import InputError
from planner.language.declare.marks import Entity
from planner.model.object_names import object_name

_ANYTHING: Final = (object, Any)
_NAMES: Final = frozenset({str, types.NoneType})

Load = Callable[[str], Any]
"""Function that loads the object of a name; asynchronous, or plain and run in a thread."""


@dataclass(slots=True)
class Entities:
    """Builds objects from their names in plans; `classes` maps names of types to the author's classes."""

    parents: Mapping[str, tuple[str, ...]]
    """The types of the domain, each with its direct supertypes."""
    classes: Mapping[str, type[Entity]] = field(default_factory=dict)
    loads: dict[str, Load] = field(default_factory=dict)
    """Loading functions by name of type."""
    _signatures: dict[int, tuple[Callable[..., Any], Mapping[str, Any]]] = field(default_factory=dict)

    async def make_arguments(
        self, function: Callable[..., Any], names: Mapping[str, str], objects: Bindings
    ) -> dict[str, Any]:
        """Make the arguments of `function`: for each of `names`, an object of the class in the annotation.

        A value in `objects` is used if it is of that class. Any other object is loaded, or made from its name, once a
        run. Raises `InputError` for an object that cannot be loaded or made.
        """
        annotations = self._find_annotations(function)
        return {
            parameter: await self._find_or_make_object(
                objects, name, self._find_wanted_classes(annotations.get(parameter))
            )
            for parameter, name in names.items()
        }

    async def _find_or_make_object(self, objects: Bindings, name: str, wanted: tuple[type, ...]) -> Any:
        known, own_name = objects.get(name), object_name(objects.real_name(name))
        if str in wanted and _NAMES.issuperset(wanted):
            return own_name
        if known is not None and not issubclass(type(known), str) and _is_fit(known, wanted):
            return known
        kinds = objects.types_of(name)
        cls = self._choose_class(kinds, wanted)
        load = self._choose_load(
            kinds if cls is None else [each.type_name for each in cls.__mro__ if issubclass(each, Entity)]
        )
        if cls is None and load is None:
            return own_name if known is None else known
        key = own_name, load or cls
        if key not in objects.made:
            objects.made[key] = await _make_object(own_name, cls, load, is_wanted=bool(wanted))
        return objects.made[key]

    def _find_annotations(self, function: Callable[..., Any]) -> Mapping[str, Any]:
        """Return the evaluated annotations of the parameters of `function`; none if Python cannot inspect it."""
        found = self._signatures.get(id(function))
        if found is None:
            try:
                parameters = inspect.signature(function).parameters.values()
                names = getattr(_unwrap_function(function), "__globals__", {})
            except (TypeError, ValueError):
                parameters, names = {}.values(), {}
            annotations = {each.name: self._evaluate_annotation(each.annotation, names) for each in parameters}
            found = self._signatures[id(function)] = function, annotations
        return found[1]

    def _evaluate_annotation(self, annotation: Any, names: Mapping[str, Any]) -> Any:
        """Evaluate an annotation; text may name a class by its own name or by the name of its type."""
        if not isinstance(annotation, str):
            return annotation
        known = {each.__name__: each for each in self.classes.values()} | dict(self.classes)
        try:
            return eval(annotation, dict(names), known)  # noqa: S307 - the author's own annotation, as Python would
        except Exception:  # noqa: BLE001 - such an annotation says nothing here, whatever is wrong with it
            return None

    @staticmethod
    def _find_wanted_classes(annotation: Any) -> tuple[type, ...]:
        """Return the classes that an annotation names; none if it allows any value."""
        annotation = _strip_annotated(annotation)
        is_union = get_origin(annotation) in (Union, types.UnionType)
        members = [_strip_annotated(each) for each in get_args(annotation)] if is_union else [annotation]
        classes = tuple([each for each in members if isinstance(each, type) and each is not inspect.Parameter.empty])
        return () if len(classes) < len(members) or any(each in _ANYTHING for each in classes) else classes

    def _choose_class(self, kinds: Iterable[str], wanted: tuple[type, ...]) -> type[Entity] | None:
        """Choose the class for an object of the types `kinds`: its own class if that is `wanted`, else a wanted one."""
        own = [self.classes[each] for each in kinds if each in self.classes]
        if not wanted:
            return own[0] if own else None
        fitting = [each for each in (*own, *wanted) if issubclass(each, wanted) and issubclass(each, Entity)]
        return fitting[0] if fitting else None

    def _choose_load(self, kinds: Iterable[str]) -> Load | None:
        """Choose the loading function of the first of `kinds`, or else of the nearest supertype."""
        names = list(dict.fromkeys(kinds))
        for name in names:
            if name in self.loads:
                return self.loads[name]
            names += [each for each in self.parents.get(name, ()) if each not in names]
        return None


def _strip_annotated(annotation: Any) -> Any:
    """Return `annotation` without the metadata of `Annotated`."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _unwrap_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside decorators and partials whose signature `inspect.signature` reports."""
    inner: Callable[..., Any] = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inspect.unwrap(inner.func)
    return inner


def _is_fit(known: object, wanted: tuple[type, ...]) -> bool:
    """Return whether a known object is of a `wanted` class; values that are no `Entity` always fit."""
    kind = type(known)
    return not wanted or issubclass(kind, wanted) or not issubclass(kind, Entity)


async def _make_object(name: str, cls: type[Entity] | None, load: Load | None, *, is_wanted: bool) -> Any:
    """Load or make the object called `name`; return the name if the class cannot be made and none `is_wanted`."""
    what = f"the object {name!r}" if cls is None else f"{cls.__name__} {name!r}"
    if load is None and cls is not None:
        try:
            return cls(name)
        except Exception as error:
            if not is_wanted:
                return name
            hint = f"say how it is loaded: world.entity({cls.__name__}, load=…)"
            raise InputError(f"{what} cannot be made of its name: {describe_error(error)}", hint=hint) from error
    assert load is not None
    try:
        found = await call_contained(partial(load, name), {})
    except Exception as error:
        raise InputError(f"{what} cannot be loaded: {describe_error(error)}") from error
    if cls is not None and not isinstance(found, cls):
        raise InputError(
            f"{what} cannot be loaded: got {quote_value(found)}", hint=f"return an object of {cls.__name__}"
        )
    if found is None or (isinstance(found, Entity) and name_of(found) != name):
        raise InputError(f"{what} cannot be loaded: got {quote_value(found)}")
    return found
