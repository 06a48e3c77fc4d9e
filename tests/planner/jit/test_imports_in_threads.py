"""Kernels are looked up in one thread while another one imports modules of kernels."""

from __future__ import annotations

import sys
import threading
import time

from planner.jit import library
from planner.jit.common_kernel import ENTRIES


def test_entries_are_listed_while_others_are_imported() -> None:
    stop, errors = threading.Event(), list[BaseException]()
    before, interval = {*ENTRIES}, sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def list_names() -> None:
        while not stop.is_set():
            try:
                library.entry_names()
                library.all_modules()
            except RuntimeError as error:
                errors.append(error)

    threads = [threading.Thread(target=list_names) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        for number in range(2_000):
            ENTRIES[f"made_{number}"] = library.plain
            time.sleep(0)  # lets others go on
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for each in threads:
            each.join()
        for name in {*ENTRIES} - before:
            del ENTRIES[name]
    assert not errors
