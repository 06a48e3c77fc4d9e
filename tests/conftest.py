"""What all tests share: the same examples in every run, no machine code, no clock, no language model of the user's.

- Random tests are a twelfth of what they could be, which the commit draws (`tests/effort.py`): the same in every run of
  it. HYPOTHESIS_PROFILE=explore asks for new examples.
- Tests see an empty cache of machine code, unless TESTED_CACHE names a folder; none starts a process that fills it.
- TESTED_ORDER=SEED shuffles the tests.
- No test calls a language model that is not its own.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import time
from pathlib import Path

import effort
import hypothesis.core
import hypothesis.internal.conjecture.providers as drawing
import pytest
from hypothesis import HealthCheck, settings

from planner.plan import SearchFailure

TICK = 0.001
"""Seconds by which a counted clock advances each time that somebody reads it."""

os.environ["FORETHOUGHT_JIT"] = "off"
os.environ["FORETHOUGHT_NO_MODELS"] = "1"
settings.register_profile(
    "same",
    deadline=None,
    database=None,
    max_examples=effort.examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("same"))
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
settings.load_profile(PROFILE)
if PROFILE == "same":
    hypothesis.core.global_force_seed = effort.PART
    # Hypothesis would draw constants from the modules that are loaded by then, which depend on the tests before.
    drawing._get_local_constants = lambda: drawing._local_constants


@pytest.fixture
def anyio_backend():
    """Asynchronous tests, which are marked `anyio`, run in an event loop of asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def raised_errors(request, monkeypatch):
    """Raise an error inside a search, which no test is to overlook, unless the test is marked `contained_errors`."""
    if request.node.get_closest_marker("contained_errors") is None:

        def raise_error(_by, error):
            raise error

        monkeypatch.setattr(SearchFailure, "of", raise_error)


@pytest.fixture
def small_heap():
    """Collecting garbage again and again, as what measures does, looks at nothing but what the test makes."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_collection_modifyitems(config, items):
    """Leave out what other twelfths test, and shuffle the tests if TESTED_ORDER gives a seed: alike in all processes.

    Raises `UsageError` for a test whose name has an address in it, which differs from process to process.
    """
    nameless = next((item.nodeid for item in items if " at 0x" in item.nodeid), None)
    if nameless is not None:
        raise pytest.UsageError(f"{nameless}: name this case (ids=…), or give its values a __repr__")
    for item in items:
        if effort.is_drawn(item):
            item.add_marker("drawn")
        if effort.is_heavy(item):
            item.add_marker("heavy")
    others = effort.left_out(items, is_whole=[Path(each).absolute() for each in config.args] == [Path(__file__).parent])
    if others:
        config.hook.pytest_deselected(items=others)
        kept = {id(item) for item in items} - {id(item) for item in others}
        items[:] = [item for item in items if id(item) in kept]
    seed = os.environ.get("TESTED_ORDER")
    if seed is not None:
        random.Random(seed).shuffle(items)


@pytest.fixture(scope="session", autouse=True)
def cache_of_machine_code(tmp_path_factory):
    """Hide the user's cache: which tier runs must not depend on what was compiled before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORETHOUGHT_CACHE", os.environ.get("TESTED_CACHE") or str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def counted_clock(monkeypatch):
    """Let time pass by reading the clock: a limit ends a search in the same state on every machine.

    The searches are those of the reference tier, in this process.
    """
    ticks = itertools.count(1)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, lambda: TICK * next(ticks))
    monkeypatch.setattr("planner.jit.library._loaded", {})
    monkeypatch.setattr("planner.jit.library.load", lambda *_: None)
    monkeypatch.setattr("planner.portfolio.symbolic_process.PATIENCE", float("inf"))
