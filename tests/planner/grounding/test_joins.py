"""Joins against their slow, obvious twin: try every combination of rows."""

from __future__ import annotations

import itertools
import random

import pytest

from planner.grounding.joins import (
    Filters,
    Relation,
    Source,
    apply_steps,
    compile_join,
    interpret,
    make_join,
    projector,
)
from planner.model import Atom, Equals, is_variable

NAMES = ["a", "b", "c", "d"]
VARIABLES = ["?x", "?y", "?z", "?u"]


def never_tick():
    return True


def naive_join(start, rows, sources, tests, output):
    found = []
    for choice in itertools.product(rows, *[list(source.relation.rows) for source in sources]):
        binding = {}
        atoms = [Atom("start", tuple(start)), *[source.atom for source in sources]]
        if all(matches(atom.args, row, binding) for atom, row in zip(atoms, choice, strict=True)) and passes(
            tests, binding
        ):
            found.append(tuple([binding.get(term, term) for term in output]))
    return found


def matches(args, row, binding):
    return all(
        binding.setdefault(arg, value) == value if is_variable(arg) else arg == value
        for arg, value in zip(args, row, strict=True)
    )


def passes(tests, binding):
    def value(term):
        return binding.get(term, term)

    return (
        all(value(test.left) == value(test.right) for test in tests.equal)
        and all(value(test.left) != value(test.right) for test in tests.unequal)
        and all(source.atom.substitute(binding).args not in source.relation.rows for source in tests.absent)
    )


def random_relation(rng, arity):
    rows = list(itertools.product(NAMES, repeat=arity))
    return Relation(rng.sample(rows, rng.randint(0, min(6, len(rows)))))


def random_terms(rng, arity, variables):
    return tuple(rng.choice([*variables, *variables, *NAMES[:2]]) for _ in range(arity))


@pytest.mark.parametrize("seed", range(300))
def test_a_join_finds_what_trying_everything_finds(seed):
    rng = random.Random(seed)
    start = random_terms(rng, rng.randint(0, 2), VARIABLES)
    rows = list(itertools.product(NAMES, repeat=len(start)))[: rng.randint(1, 16)]
    sources = []
    for _ in range(rng.randint(0, 3)):
        arity = rng.randint(0, 3)
        sources.append(
            Source(Atom("p", random_terms(rng, arity, VARIABLES)), random_relation(rng, arity), rng.random() < 0.5)
        )
    bound = sorted({term for terms in [start, *[s.atom.args for s in sources]] for term in terms if is_variable(term)})
    pool = [*bound, *NAMES[:2]]
    tests = Filters(
        tuple(Equals(rng.choice(pool), rng.choice(pool)) for _ in range(rng.random() < 0.2)),
        tuple(Equals(rng.choice(pool), rng.choice(pool)) for _ in range(rng.randint(0, 2))),
        tuple(
            Source(Atom("q", tuple(rng.choice(pool) for _ in range(arity))), random_relation(rng, arity))
            for arity in rng.sample([0, 1, 2], rng.randint(0, 1))
        ),
    )
    output = [*bound, "a"]
    expected = sorted(naive_join(start, rows, sources, tests, output))
    assert sorted(compile_join(start, sources, tests, output, never_tick)(rows)) == expected
    assert sorted(apply_steps(interpret(start, sources, tests, output, never_tick), rows)) == expected


@pytest.mark.parametrize("calls", [1, 3, 300])
@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_a_join_that_is_compiled_on_the_way_loses_nothing(size, calls):
    rows = [(str(number % 50),) for number in range(size)]
    source = Source(Atom("next", ("?x", "?y")), Relation([(str(n), str(n + 1)) for n in range(50)]))
    join = make_join(["?x"], [source], Filters(), ["?y", "k"], never_tick)
    for _ in range(calls):
        assert list(join(rows)) == [(str(int(x) + 1), "k") for (x,) in rows]


def test_indexes_grow_with_their_relation():
    door = Relation([("hall", "lab")])
    index = door.index((0,), (1,))
    assert door.add([("hall", "attic"), ("hall", "lab"), ("hall", "attic")]) == [("hall", "attic")]
    assert index == {"hall": ["lab", "attic"]}


def test_a_join_may_have_more_levels_than_python_has_blocks():
    chain = Relation([("a", "a")])
    sources = [Source(Atom("next", (f"?v{i}", f"?v{i + 1}")), chain) for i in range(60)]
    join = compile_join(["?v0"], sources, Filters(), ["?v60"], never_tick)
    assert list(join([("a",)])) == [("a",)]
    steps = interpret(["?v0"], sources, Filters(), ["?v60"], never_tick)
    assert list(apply_steps(steps * 200, [("a",)])) == [("a",)]


@pytest.mark.parametrize(
    ("terms", "variables", "row", "expected"),
    [
        ((), ("?x",), ("a",), ()),
        (("?x",), ("?x", "?y"), ("a", "b"), ("a",)),
        (("?y", "?x"), ("?x", "?y"), ("a", "b"), ("b", "a")),
        (("?x", "?y"), ("?x", "?y"), ("a", "b"), ("a", "b")),
        (("k", "?y", "k", "l"), ("?x", "?y"), ("a", "b"), ("k", "b", "k", "l")),
        (("k",), ("?x",), ("a",), ("k",)),
    ],
)
def test_a_projector_picks_variables_and_constants(terms, variables, row, expected):
    assert projector(terms, variables)(row) == expected
