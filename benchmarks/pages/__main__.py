"""`python -m benchmarks.pages`: how long pages of plans with 20, 200 and 2,000 steps take to make, to load and to use.

The command `forethought view` makes each page. A headless Chromium opens it: the page is *interactive* when its script
has run and its first content is painted. A *choice* is the press of an arrow key until the next frame is on the screen;
scrolling is measured by its longest frame. Long tasks are those of more than 50 ms meanwhile. Times are medians of
several loads, in milliseconds. The processor time of the page's main thread, for a load, a choice and a frame of
scrolling, does not depend on what else the machine does.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from benchmarks.pages.chromium import Browser, browser
from planner.cli import output
from planner.errors import ForethoughtError, InputError
from planner.subprocesses import module_command

SIZES: Final = (20, 200, 2000)
LOADS: Final = 5
ROBOTS: Final = 7
"""Robots of the plan: their steps do not wait for each other's."""
DOMAIN: Final = """\
(define (domain walk)
  (:requirements :typing)
  (:types robot room)
  (:predicates (at ?r - robot ?x - room) (door ?x ?y - room) (seen ?r - robot ?x - room))
  (:action move :parameters (?r - robot ?x ?y - room) :precondition (and (at ?r ?x) (door ?x ?y))
    :effect (and (not (at ?r ?x)) (at ?r ?y)))
  (:action look :parameters (?r - robot ?x - room) :precondition (at ?r ?x) :effect (seen ?r ?x)))
"""
_CHOICES: Final = """(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const took = [];
  for (let count = 0; count < 40; count += 1) {
    const before = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    await frame();
    took.push(performance.now() - before);
  }
  return took;
})()"""
_SCROLL: Final = """(async () => {
  const pane = document.querySelector(".stage .scroll");
  const took = [];
  let before = performance.now();
  for (let count = 0; count < 60; count += 1) {
    pane.scrollTop += 300;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    took.push(performance.now() - before);
    before = performance.now();
  }
  return took;
})()"""
_WATCH: Final = """(() => {
  window.longTasks = 0;
  new PerformanceObserver((list) => { window.longTasks += list.getEntries().length; }).observe({ type: "longtask" });
})()"""
_READY: Final = """Math.max(Number(document.documentElement.dataset.ready),
  ...performance.getEntriesByName("first-contentful-paint").map((entry) => entry.startTime))"""


@dataclass(frozen=True, slots=True)
class PageTimes:
    """The measurements of one page: seconds to make it, bytes, and medians and maxima in milliseconds."""

    steps: int
    made: float
    size: int
    ready: float
    choice: float
    slowest_choice: float
    frame: float
    long_tasks: int
    busy: tuple[float, float, float]
    elements: int

    def row(self) -> str:
        """Return a row of the table."""
        numbers = f"{self.ready:.0f} ms | {self.choice:.0f} ms ({self.slowest_choice:.0f}) | {self.frame:.0f} ms"
        counts = f"{self.long_tasks} | {', '.join(f'{each:.0f}' for each in self.busy)} ms | {self.elements:,}"
        return f"| {self.steps:,} | {self.made:.1f} s | {self.size / 1000:,.0f} kB | {numbers} | {counts} |"


HEAD: Final = """\
| steps | command | size | interactive | a choice (slowest) | longest frame | long tasks | processor time | elements |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def measure_page(path: Path, steps: int, made: float, tab: Browser) -> PageTimes:
    """Load the page at `path` some times, and measure it."""
    loads, busy = [], []
    tab.call("Performance.enable", timeDomain="threadTicks")
    for _ in range(LOADS):
        tab.open(path, "#graph")
        loads.append(float(tab.run(_READY)))
        busy.append(_busy_time(tab))
    tab.run(_WATCH)
    began = _busy_time(tab)
    choices = tab.run(_CHOICES)
    chosen = _busy_time(tab)
    frames = tab.run(_SCROLL)
    scrolled = _busy_time(tab)
    spent = statistics.median(busy), (chosen - began) / len(choices), (scrolled - chosen) / len(frames)
    elements = int(tab.run("document.querySelectorAll('*').length"))
    if tab.messages:
        raise InputError(f"the page of {steps} steps reports: {tab.messages[0]}")
    medians = statistics.median(loads), statistics.median(choices)
    long_tasks = int(tab.run("window.longTasks"))
    return PageTimes(steps, made, path.stat().st_size, *medians, max(choices), max(frames), long_tasks, spent, elements)


def _busy_time(tab: Browser) -> float:
    """Return the processor time of the main thread for the page that is open, in milliseconds."""
    found = tab.call("Performance.getMetrics")["metrics"]
    return 1000 * float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


def make_page(steps: int, folder: Path) -> tuple[Path, float]:
    """Make the page of a plan with the command; return it, and the seconds that the command took."""
    import subprocess

    (folder / "domain.pddl").write_text(DOMAIN)
    (folder / "problem.pddl").write_text(write_problem())
    (folder / f"plan-{steps}").write_text("\n".join(write_plan(steps)) + "\n")
    page = folder / f"page-{steps}.html"
    files = [str(folder / name) for name in ("domain.pddl", "problem.pddl", f"plan-{steps}")]
    before = time.monotonic()
    command = [*module_command("planner.cli", "view"), *files, "--out", str(page), "--time-limit", "none", "-q"]
    subprocess.run(command, check=True)
    return page, time.monotonic() - before


def write_problem() -> str:
    """Return a problem in which robots go to and fro between two rooms."""
    robots = [f"r{number}" for number in range(ROBOTS)]
    places = " ".join(f"(at {robot} a)" for robot in robots)
    return (
        f"(define (problem fro) (:domain walk) (:objects {' '.join(robots)} - robot a b - room)"
        f" (:init {places} (door a b) (door b a)) (:goal (seen r0 a)))\n"
    )


def write_plan(steps: int) -> Iterator[str]:
    """Yield the lines of a valid plan of `steps` steps; the last one reaches the goal."""
    at = ["a"] * ROBOTS
    yield "(look r0 a)"
    for number in range(1, steps):
        robot = number % ROBOTS
        there = "b" if at[robot] == "a" else "a"
        yield f"(move r{robot} {at[robot]} {there})"
        at[robot] = there


def main(
    steps: Annotated[list[int] | None, typer.Option(help="Lengths of plans.", show_default="20, 200, 2000")] = None,
) -> None:
    """Measure pages of plans of some lengths in a headless Chromium."""
    output.give(HEAD)
    with tempfile.TemporaryDirectory() as name, browser() as tab:
        tab.resize(1440, 900)
        for size in steps or SIZES:
            page, made = make_page(size, Path(name))
            output.give(measure_page(page, size, made, tab).row())


if __name__ == "__main__":
    try:
        typer.run(main)
    except (ForethoughtError, FileNotFoundError) as error:
        sys.exit(output.tell_error(error))
