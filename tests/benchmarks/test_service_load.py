"""The load on a service: what a short run prints, and that nobody who behaves fails."""

from __future__ import annotations

import random
import re

from benchmarks.service_load import Sample, draw_task, main
from planner import Status, load, solve


def test_tasks_are_solvable():
    for seed in range(3):
        task = draw_task(random.Random(seed))
        assert solve(load(task["domain"], task["problem"])).status is Status.OPTIMAL


def test_percentiles():
    sample = Sample([0.001 * number for number in range(1, 101)])
    assert [round(sample.percentile(share)) for share in (0.5, 0.9, 0.99, 1.0)] == [51, 91, 100, 100]


def test_a_short_run(capsys):
    assert main(["--seconds", "1.5", "--clients", "1", "3", "--workers", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == 4
    assert all(float(row.split("|")[2]) > 0 for row in rows)
    assert all(row.endswith("| 0 |") for row in rows)
