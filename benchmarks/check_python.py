"""Domains in YAML, mistakes and all, as Python that declares the same: what lint finds in one it finds in the other.

The Python text has a line for each field, and for each item of it, so that the line of a mistake can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.errors import UnsupportedError
from planner.language.documents.text_formats import parse_yaml, yaml_positions

Path = tuple[Any, ...]


@dataclass(slots=True)
class Translation:
    """The lines of Python, and for the path of each value in a document, the lines on which it is written."""

    lines: list[str] = field(default_factory=list)
    places: dict[Path, list[int]] = field(default_factory=dict)

    def write(self, text: str, *paths: Path) -> None:
        """Add a line, on which the values at `paths` stand."""
        self.lines.append(text)
        for path in paths:
            self.places.setdefault(path, []).append(len(self.lines))


def translate(text: str, source: str = "<string>") -> tuple[str, dict[int, set[int]]]:
    """Return the Python, and for each line of the YAML the lines of Python on which its values stand.

    Raises `DocumentError` where the text is no YAML, and `UnsupportedError` where it has tasks.
    """
    made = Translation()
    made.write("from planner import Domain, always, at_most, before, never, never_after, sometime")
    made.write("")
    for number, data in enumerate(parse_yaml(text, source)):
        if isinstance(data, Mapping):
            if {"tasks", "methods"} & {*data}:
                raise UnsupportedError("tasks and methods in a translation to Python")
            (_write_domain if "domain" in data and "problem" not in data else _write_problem)(made, data, number)
    lines: dict[int, set[int]] = {}
    for path, (line, _) in yaml_positions(text, source).items():
        whole = len(path) == 3 and path[1] == "actions"  # what is wrong in it may be told at its part
        for other, places in made.places.items():
            if other == path or (whole and other[:3] == path):
                lines.setdefault(line, set()).update(places)
    return "\n".join([*made.lines, ""]), lines


_PLAIN = ("description", "types", "constants", "resolution")
_DECLARED = ("predicates", "functions", "derived", "actions")


def _write_domain(made: Translation, data: Mapping[str, Any], number: int) -> None:
    made.write("domain = Domain(", (number, "domain"))
    made.write(f"    {data['domain']!r},", (number, "domain"))
    for key in [each for each in data if each not in ("domain", *_DECLARED)]:
        _write_field(made, key, data[key], (number, key))
    made.write(")", (number, "domain"))
    for key, kind in (("predicates", "predicate"), ("functions", "function")):
        for name, value in (data.get(key) or {}).items():
            path = (number, key, name)
            if isinstance(value, Mapping):
                own = {**value}
                types = own.pop("parameters", [])
                words = "".join([f", {each}={value!r}" for each, value in own.items()])
            else:
                types, words = value, ""
            listed = "".join([f", {each!r}" for each in (types if isinstance(types, list) else [types])])
            made.write(f"domain.{kind}({name!r}{listed}{words})", path)
    for place, each in enumerate(data.get("derived") or ()):
        path = (number, "derived", place)
        made.write("domain.derive(", path, (*path, "head"))
        for key in ("head", "parameters", "condition"):
            made.write(f"    {each.get(key)!r},", (*path, key))
        made.write(")")
    for name, fields in (data.get("actions") or {}).items():
        _write_action(made, name, fields or {}, (number, "actions", name))


def _write_action(made: Translation, name: str, fields: Any, path: Path) -> None:
    made.write("domain.action(", path)
    made.write(f"    {name!r},", path)
    if not isinstance(fields, Mapping):
        made.write(f"    {fields!r},", path)
        fields = {}
    if "parameters" in fields:
        inner = [(*path, "parameters", each) for each in fields["parameters"]]
        made.write(f"    {fields['parameters']!r},", (*path, "parameters"), *inner)
    for key, value in fields.items():
        if key != "parameters":
            _write_field(made, key, value, (*path, key))
    made.write(")")


def _write_problem(made: Translation, data: Mapping[str, Any], number: int) -> None:
    made.write("problem = domain.problem(", (number, "problem"))
    made.write(f"    {data.get('problem')!r},", (number, "problem"))
    for key, value in data.items():
        if key == "constraints" and isinstance(value, list):
            made.write("    constraints=[", (number, key))
            for place, each in enumerate(value):
                (kind, what), *_ = each.items() if isinstance(each, Mapping) else (("always", each),)
                path = (number, key, place)
                made.write(f"        {kind}({what!r}),", path, (*path, kind))
            made.write("    ],")
        elif key not in ("problem", "domain"):
            _write_field(made, key, value, (number, key))
    made.write(")", (number, "problem"))


def _write_field(made: Translation, key: str, value: Any, path: Path) -> None:
    """Write a keyword: lists and mappings with a line for each item."""
    if not isinstance(value, list | Mapping):
        made.write(f"    {key}={value!r},", path)
        return
    opening, closing = "[]" if isinstance(value, list) else "{}"
    made.write(f"    {key}={opening}", path)
    for at, text in _items(value):
        made.write(f"        {text},", (*path, at), *[(*path, at, *deeper) for deeper in _deeper(value, at)])
    made.write(f"    {closing},", path)


def _items(value: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(value, list):
        yield from ((place, repr(each)) for place, each in enumerate(value))
    else:
        yield from ((key, f"{key!r}: {each!r}") for key, each in value.items())


def _deeper(value: Any, at: Any) -> Iterator[Path]:
    """Yield the paths to the items below one item."""
    inner = value[at]
    if isinstance(inner, list | Mapping):
        for deeper, _ in _items(inner):
            yield (deeper,)
            yield from ((deeper, *rest) for rest in _deeper(inner, deeper))
