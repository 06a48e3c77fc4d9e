"""Our dataclasses against those of the standard module, class by class and method by method."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import pytest

from planner import lightweight


def point(module):
    @module.dataclass(frozen=True, slots=True)
    class Point:
        """Two numbers and what is said of them."""

        x: int
        y: int = 2
        notes: list[str] = module.field(default_factory=list, compare=False, repr=False)

        def __str__(self):
            return f"{self.x}/{self.y}"

    return Point


def counter(module):
    @module.dataclass(slots=True)
    class Counter:
        """A mutable one, with a field that is no parameter."""

        count: int
        twice: int = module.field(init=False)

        def __post_init__(self):
            self.twice = 2 * self.count

    return Counter


def marker(module):
    @module.dataclass(slots=True, eq=False)
    class Marker:
        """One that is equal to itself alone."""

        name: str

    return Marker


def empty(module):
    @module.dataclass(frozen=True, slots=True)
    class Empty:
        """No fields."""

    return Empty


CASES = [
    (point, (1,), {}),
    (point, (1, 5), {"notes": ["a"]}),
    (point, (), {"x": 3, "y": 4}),
    (counter, (7,), {}),
    (marker, ("here",), {}),
    (empty, (), {}),
]


@pytest.mark.parametrize(("make", "args", "options"), CASES)
def test_instances_are_as_those_of_the_standard_module(make, args, options):
    ours, theirs = make(lightweight), make(dataclasses)
    mine, other = ours(*args, **options), theirs(*args, **options)
    assert repr(mine).rpartition(".")[2] == repr(other).rpartition(".")[2]
    assert [getattr(mine, name) for name in ours.__slots__] == [getattr(other, name) for name in theirs.__slots__]
    assert ours.__match_args__ == theirs.__match_args__
    assert (mine == ours(*args, **options)) is (other == theirs(*args, **options))
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    assert (mine == other) is False
    assert not hasattr(mine, "__dict__")
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    for name in ours.__slots__:
        assert refusal(mine, name) is refusal(other, name)


def refusal(instance, name):
    """Return the error that setting an attribute raises, or None."""
    try:
        setattr(instance, name, 1)
    except AttributeError as error:
        return type(error)
    return None


@pytest.mark.parametrize("make", [point, counter, marker, empty])
def test_wrong_arguments_are_refused(make):
    for args, options in [((1, 2, 3, 4), {}), ((), {"unknown": 1})]:
        with pytest.raises(TypeError):
            make(lightweight)(*args, **options)


def test_equal_ones_are_found_again():
    Point = point(lightweight)  # noqa: N806 - a class
    assert Point(1) == Point(1, notes=["b"])
    assert len({Point(1), Point(1, 2, ["b"]), Point(1, 3)}) == 2
    assert Point(1).notes is not Point(1).notes


def test_copies_with_changes():
    Point = point(lightweight)  # noqa: N806 - a class
    mine = Point(1, 5, ["a"])
    for replace in (lightweight.replace, dataclasses.replace):
        assert replace(mine, y=6) == Point(1, 6)
        assert replace(mine, y=6).notes is mine.notes
        with pytest.raises(TypeError):
            replace(mine, z=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del mine.x


def test_the_functions_of_the_standard_module_take_ours():
    ours, theirs = point(lightweight), point(dataclasses)
    assert dataclasses.is_dataclass(ours)
    assert [each.name for each in dataclasses.fields(ours)] == [each.name for each in dataclasses.fields(theirs)]
    assert [each.type for each in dataclasses.fields(ours)] == [each.type for each in dataclasses.fields(theirs)]
    assert dataclasses.asdict(ours(1)) == dataclasses.asdict(theirs(1))


def test_instances_are_copied_and_pickled():
    from planner.model import Atom

    atom = Atom("at", ("a", "b"))
    assert pickle.loads(pickle.dumps(atom)) == atom
    assert copy.deepcopy(atom) == atom == copy.copy(atom)


@pytest.mark.parametrize("module", ["dataclasses", "pathlib", "re", "typing"])
def test_reading_and_grounding_do_without_what_is_slow_to_import(module):
    code = (
        "import sys; before = set(sys.modules); import planner.language.pddl, planner.grounding.ground;"
        f"print({module!r} in set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
