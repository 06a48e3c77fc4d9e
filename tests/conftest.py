"""Hypothesis draws the same examples in every run, unless HYPOTHESIS_PROFILE=explore asks for new ones.

No test starts a process that makes machine code and outlives it, and none calls a language model that is not its own.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

os.environ["FORETHOUGHT_JIT"] = "off"
os.environ["FORETHOUGHT_NO_MODELS"] = "1"
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("same"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture
def small_heap():
    """Collecting garbage again and again, as what measures does, looks at nothing but what the test makes."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
