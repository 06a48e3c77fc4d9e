"""The model of a day: its laws, what grows with what, and a small run beside its prediction."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import run_demands
from benchmarks.million_runs import DAY, House, Load, Model, Prices, compare_batch
from benchmarks.run_demands import Bench, Demand, calibrate

PRICES = Prices(0.04, 0.12, 0.0)
MODEL = Model(
    Load(runs=DAY, peak=2.0, steps=10, plan=0.0, wait=0.0),  # one run a second, two at the peak
    Demand(worker=0.1, database=0.02, commits=10, bytes=1000),
    Demand(worker=0.04, database=0.008, commits=4, bytes=100),
    House(concurrency=10, busy=0.5, commits=1000, commit=0.002, cores=2),
)


def test_demands_add_up() -> None:
    assert MODEL.whole == Demand(worker=0.5, database=0.1, commits=50, bytes=2000)
    planned = replace(MODEL, load=replace(MODEL.load, plan=0.5))
    assert planned.whole.worker == 1.0
    assert planned.residence == pytest.approx(1.1)  # 1 s of CPU, 50 commits of 2 ms
    assert Demand(1.0, 2.0).plus(Demand(2.0, 1.0), -1.0).over(2) == Demand(0.0, 0.5)


def test_a_day() -> None:
    found = MODEL.forecast(PRICES, days=10)
    assert found.rate == pytest.approx(2.0)
    assert found.workers_by_time == 3  # 2 runs/s x 0.6 s, half busy
    assert found.commits == pytest.approx(100)
    assert found.database_cores == pytest.approx(0.2)
    assert found.shares == pytest.approx({"commits of the database": 0.2, "processors of the database": 0.2})
    assert found.room == pytest.approx(5.0)
    assert found.day_bytes == pytest.approx(DAY * 2000)
    assert found.kept_bytes == pytest.approx(DAY * 20_000)
    assert found.costs["workers, as many as the mean needs"] == pytest.approx(2 * 730 * 0.04)
    assert found.costs["database, its processors"] == pytest.approx(2 * 730 * 0.04)


def test_handlers_that_wait_need_places_and_no_processors() -> None:
    waiting = replace(MODEL, load=replace(MODEL.load, wait=10.0)).forecast(PRICES, 1)
    assert waiting.workers_by_time == 3
    assert waiting.workers_by_slots == 41  # 2 runs/s x 100.6 s, in 10 places half of which are taken
    assert waiting.workers == 41


def test_twice_the_load_is_twice_the_share() -> None:
    double = replace(MODEL, load=replace(MODEL.load, runs=2 * DAY))
    shares, twice = MODEL.forecast(PRICES, 1).shares, double.forecast(PRICES, 1).shares
    assert twice == pytest.approx({name: 2 * share for name, share in shares.items()})


@pytest.mark.parametrize(
    ("database", "bottleneck"), [(0.008, "commits of the database"), (0.1, "processors of the database")]
)
def test_the_bottleneck_is_what_is_used_most(database: float, bottleneck: str) -> None:
    house = replace(MODEL.house, commits=900)
    model = replace(MODEL, house=house, each_step=replace(MODEL.each_step, database=database))
    assert model.forecast(PRICES, 1).bottleneck == bottleneck


def test_a_batch_takes_as_long_as_its_busiest_station() -> None:
    assert MODEL.predict_batch(100, workers=1, processors=4) == pytest.approx(60.0)  # the worker is busy
    assert MODEL.predict_batch(100, workers=4, processors=2) == pytest.approx(30.0)  # both processors are busy
    waiting = replace(MODEL, load=replace(MODEL.load, wait=1.0))
    assert waiting.predict_batch(100, workers=1, processors=4) == pytest.approx(100 * 10.6 / 10)


def test_the_table_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.million_runs", "--runs", "1000"], capture_output=True, text=True, check=True
    )
    assert "**bottleneck**" in done.stdout
    assert "1,000 a day" in done.stdout
    assert done.stdout.count("|") > 50


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_small_run_takes_what_the_model_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_demands, "CALIBRATION", (2, 10))
    bench = Bench(tmp_path / "runs.db", tmp_path, wait=0.0, concurrency=8)
    each_run, each_step, _ = calibrate(bench, 12)
    model = replace(MODEL, each_run=each_run, each_step=each_step, load=replace(MODEL.load, steps=12))
    rows = {name: (float(said), float(was)) for name, said, was in compare_batch(bench, model, 20, 2)}
    said, was = rows["CPU of the workers, s"]
    assert was < 3 * said + 1
    assert said < 3 * was + 1
