"""From plain Python to machine code: when it takes over, when it is made, and what is never loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from search_twins import finished

from planner import Status, load, solve
from planner.cli.output import Exit
from planner.cli.root import dispatch
from planner.errors import ForethoughtError
from planner.grounding.ground import ground
from planner.jit import build_process, library, targets
from planner.limits import Limits
from planner.portfolio import tiers
from planner.portfolio.tiers import run_in_tiers
from planner.portfolio.workplace import Workplace
from planner.search import Run, Space
from planner.search.search_run import Ending

NEEDED = ("astar",)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty folder for machine code; none is loaded, and none is made unless a test says so."""
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path))
    monkeypatch.delenv(library.SWITCH, raising=False)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(build_process, "_warned", [])
    return tmp_path


@pytest.fixture
def silent(monkeypatch):
    """Warn of nothing."""
    monkeypatch.setattr(build_process, "_warn", lambda _: None)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(tiers, "PATIENCE_LOADED", 0.0)
    modules = dict.fromkeys(map(library.short_name, library.module_names()), library.ENTRIES)
    monkeypatch.setattr(library, "_loaded", modules)


def starting(started, pid=None):
    """Return what notes processes instead of starting them, as this one or another."""

    def start(command, **options):
        started.append((command, options))
        return SimpleNamespace(pid=pid or os.getpid())

    return start


def steps(count, ending, log, name):
    def run():
        try:
            log.append(f"{name} begins")
            for _ in range(count):
                time.sleep(0.001)
                yield
            return ending
        finally:
            log.append(f"{name} is left")

    return run


@pytest.mark.usefixtures("impatient")
def test_what_is_solved_at_once_never_asks_for_machine_code():
    log = []
    quick = steps(0, Ending.EXHAUSTED, log, "plain")
    assert finished(run_in_tiers(quick, steps(0, Ending.EXHAUSTED, log, "compiled"), NEEDED)) is Ending.EXHAUSTED
    assert log == ["plain begins", "plain is left"]


@pytest.mark.usefixtures("impatient")
def test_what_lasts_is_taken_over():
    log = []
    slow = steps(10**6, Ending.EXHAUSTED, log, "plain")
    assert finished(run_in_tiers(slow, steps(2, Ending.FIRST_PLAN, log, "compiled"), NEEDED)) is Ending.FIRST_PLAN
    assert log == ["plain begins", "plain is left", "compiled begins", "compiled is left"]


@pytest.mark.usefixtures("impatient")
def test_what_machine_code_cannot_finish_begins_again_in_plain_python():
    log = []
    plain = steps(3, Ending.EXHAUSTED, log, "plain")
    assert finished(run_in_tiers(plain, steps(2, Ending.INCOMPLETE, log, "compiled"), NEEDED)) is Ending.EXHAUSTED
    assert log == [f"{name} {what}" for name in ("plain", "compiled", "plain") for what in ("begins", "is left")]


@pytest.mark.usefixtures("impatient")
def test_what_gives_up_by_itself_does_not_begin_again():
    log = []
    plain = steps(10**6, Ending.EXHAUSTED, log, "plain")
    ended = finished(run_in_tiers(plain, steps(2, Ending.INCOMPLETE, log, "compiled"), NEEDED, again=False))
    assert ended is Ending.INCOMPLETE
    assert log == [f"{name} {what}" for name in ("plain", "compiled") for what in ("begins", "is left")]


@pytest.mark.usefixtures("impatient")
def test_large_tasks_begin_with_machine_code():
    log = []
    plain, compiled = steps(10**6, Ending.EXHAUSTED, log, "plain"), steps(2, Ending.EXHAUSTED, log, "compiled")
    assert finished(run_in_tiers(plain, compiled, NEEDED, large=True)) is Ending.EXHAUSTED
    assert log == ["compiled begins", "compiled is left"]


@pytest.mark.usefixtures("cache")
def test_large_tasks_do_not_wait_for_machine_code():
    log = []
    plain, compiled = steps(5, Ending.EXHAUSTED, log, "plain"), steps(0, Ending.EXHAUSTED, log, "compiled")
    assert finished(run_in_tiers(plain, compiled, NEEDED, large=True)) is Ending.EXHAUSTED
    assert log == ["plain begins", "plain is left"]


@pytest.mark.usefixtures("cache")
def test_without_machine_code_plain_python_goes_on_and_it_is_made_once(monkeypatch):
    started = []
    monkeypatch.setattr(tiers, "PATIENCE_MISSING", 0.05)
    monkeypatch.setattr(tiers, "LOOK_AGAIN", 0.01)
    monkeypatch.setattr(build_process.subprocess, "Popen", starting(started))
    log = []
    slow = steps(300, Ending.EXHAUSTED, log, "plain")
    with pytest.warns(
        build_process.CodeWarning, match=r"is being made in the background, and 0 of its \d+ parts"
    ) as told:
        assert finished(run_in_tiers(slow, steps(0, Ending.EXHAUSTED, log, "compiled"), NEEDED)) is Ending.EXHAUSTED
    assert len({str(each.message) for each in told}) == 1
    assert log == ["plain begins", "plain is left"]
    ((command, options),) = started
    assert command[-3:] == ["--mark", str(library.find_folder().parent / "making"), *NEEDED]
    assert options["start_new_session"]
    assert command[1] == "-P"
    assert (Path(options["env"]["PYTHONPATH"].split(os.pathsep)[0]) / "planner/jit/build.py").is_file()


@pytest.mark.usefixtures("cache")
@pytest.mark.usefixtures("silent")
def test_making_is_started_again_only_when_the_mark_is_old(monkeypatch):
    started = []
    monkeypatch.setattr(build_process.subprocess, "Popen", starting(started))
    build_process.start_build()
    build_process.start_build()
    assert len(started) == 1
    mark = library.find_folder().parent / "making"
    os.utime(mark, (0, time.time() - 2 * build_process.ABANDONED_SECONDS))
    build_process.start_build()
    assert len(started) == 2


@pytest.mark.usefixtures("cache")
@pytest.mark.usefixtures("silent")
def test_making_is_started_again_when_its_process_is_gone(monkeypatch):
    started = []
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    monkeypatch.setattr(build_process.subprocess, "Popen", starting(started, ended.pid))
    build_process.start_build()
    build_process.start_build()
    assert len(started) == 2


def test_making_takes_nothing_from_the_working_folder(tmp_path):
    code = "import sys; import planner.jit.library; print('' in sys.path)"
    command = [*build_process.COMMAND[:2], "-c", code]
    found = subprocess.run(
        command, cwd=tmp_path, env=build_process.build_environment(), capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"


@pytest.mark.usefixtures("cache")
@pytest.mark.usefixtures("silent")
def test_damaged_code_is_made_anew(monkeypatch):
    started, place = [], library.find_folder()
    build_process.make_private_folder(place)
    for name in map(library.short_name, library.module_names()):
        (place / f"{name}.so").write_text("damaged", encoding="utf-8")
        (place / f"{name}.sum").write_text(f"{name}.so 15 00000000\n", encoding="utf-8")
    monkeypatch.setattr(build_process.subprocess, "Popen", starting(started))
    build_process.start_build()
    assert len(started) == 1


@pytest.mark.parametrize("why", ["switched off", "numba is not installed", "nothing can be written"])
def test_making_is_not_started(cache, monkeypatch, why):
    monkeypatch.setattr(build_process.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    match why:
        case "switched off":
            monkeypatch.setenv(library.SWITCH, "off")
        case "numba is not installed":
            monkeypatch.setattr(build_process, "find_spec", lambda _: None)
            with pytest.warns(
                build_process.CodeWarning, match=r"no machine code for this computer .*forethought\[jit\]"
            ):
                build_process.start_build()
            return
        case _:
            (cache / "kernels").write_text("in the way", encoding="utf-8")
            with pytest.warns(build_process.CodeWarning, match=r"no machine code was made.*kernels"):
                build_process.start_build()
            return
    build_process.start_build()


@pytest.mark.parametrize("harm", ["no folder of one's own", "below a folder of everybody"])
def test_a_cache_that_cannot_be_used_is_told_and_left_as_it_is(tmp_path, monkeypatch, harm):
    monkeypatch.setattr(build_process.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    monkeypatch.setattr(build_process, "_warned", [])
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path / "cache"))
    if harm == "no folder of one's own":
        monkeypatch.delenv("FORETHOUGHT_CACHE")
        monkeypatch.setenv("HOME", str(tmp_path / "none" / "such"))
    else:
        tmp_path.chmod(0o777)
    with pytest.warns(build_process.CodeWarning, match="no machine code was made"):
        build_process.start_build()
    assert not [*tmp_path.iterdir()]


@pytest.fixture
def group_may_write():
    """Let new files and folders be open to the group, as the default is on many systems."""
    before = os.umask(0o002)
    yield
    os.umask(before)


@pytest.mark.usefixtures("group_may_write")
@pytest.mark.usefixtures("silent")
def test_the_folders_for_machine_code_are_the_users_own_whatever_the_umask(cache, monkeypatch):
    started = []
    monkeypatch.delenv("FORETHOUGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "new" / "cache"))
    (cache / "new").mkdir(mode=0o755)
    monkeypatch.setattr(build_process.subprocess, "Popen", starting(started))
    build_process.start_build()
    assert len(started) == 1
    made = [path for path in (cache / "new").rglob("*") if path.is_dir()]
    assert [path.name for path in made] == ["cache", "forethought", "kernels"]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}


def test_a_folder_that_others_can_write_to_is_named_in_a_warning_and_stays_as_it_is(cache, monkeypatch):
    monkeypatch.setattr(build_process.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    (cache / "kernels").mkdir()
    (cache / "kernels").chmod(0o777)
    with pytest.warns(
        build_process.CodeWarning, match=r"no machine code was made.*others may write to .*; chmod go-w "
    ):
        build_process.start_build()
    with pytest.raises(ForethoughtError, match=r"stays in plain Python: others may write to .*; chmod go-w "):
        build_process.build_and_wait(lambda _: None)
    assert (cache / "kernels").stat().st_mode & 0o777 == 0o777
    assert [*(cache / "kernels").iterdir()] == []


@pytest.mark.usefixtures("cache")
def test_code_in_a_folder_that_others_can_write_to_is_not_loaded():
    pytest.importorskip("llvmlite")
    place = library.find_folder()
    place.mkdir(parents=True)
    for name in library.load_or_plain():
        (place / f"{name}.o").write_bytes(b"")
    (place / "complete").write_text("", encoding="utf-8")
    place.chmod(0o777)
    assert library.load() is None


@pytest.mark.usefixtures("cache")
def test_warm_makes_code_once(monkeypatch, capsys):
    made = []
    monkeypatch.setattr(build_process, "build_and_wait", lambda _, again: made.append(again))
    assert dispatch(["warm"], 0.0) is Exit.OK
    assert (capsys.readouterr().out.strip(), made) == (str(library.find_folder()), [False])
    modules = [*library.module_names(), *library.module_names("htn")]
    monkeypatch.setattr(library, "_loaded", dict.fromkeys(map(library.short_name, modules), library.ENTRIES))
    dispatch(["warm"], 0.0)
    assert made == [False]
    dispatch(["warm", "--again"], 0.0)
    assert made == [False, True]


@pytest.mark.usefixtures("cache")
def test_warm_counts_the_parts_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(build_process, "build_and_wait", lambda told, **_: told("astar"))
    monkeypatch.setattr("planner.cli.warm.is_terminal", lambda _: True)
    dispatch(["warm"], 0.0)
    assert re.search(r"\r\x1b\[K1 of \d+: astar\r\x1b\[Kmade in", capsys.readouterr().err)


@pytest.mark.usefixtures("cache")
def test_warm_makes_nothing_where_machine_code_is_switched_off(monkeypatch, capsys):
    monkeypatch.setenv(library.SWITCH, "off")
    monkeypatch.setattr(build_process, "build_and_wait", lambda *_, **__: pytest.fail("made"))
    assert dispatch(["warm"], 0.0) is Exit.UNSUPPORTED
    assert "FORETHOUGHT_JIT=off" in capsys.readouterr().err


@pytest.mark.usefixtures("cache")
def test_warm_without_numba_says_so(monkeypatch, capsys):
    monkeypatch.setattr(build_process, "find_spec", lambda _: None)
    assert dispatch(["warm"], 0.0) is Exit.UNSUPPORTED
    assert "numba is not installed" in capsys.readouterr().err


@pytest.mark.usefixtures("cache")
def test_a_failure_to_make_code_is_told(monkeypatch):
    monkeypatch.setattr(build_process, "COMMAND", (sys.executable, "-c", "raise OSError('no room left')"))
    with pytest.raises(ForethoughtError, match=r"no machine code .* in plain Python: no room left$"):
        build_process.build_and_wait(lambda _: None)


@pytest.mark.parametrize("mode", ["anytime", "first", "optimal"])
@pytest.mark.parametrize("name", ["courier", "elevator", "stacking", "assistant"])
@pytest.mark.usefixtures("impatient")
def test_problems_have_the_same_answers_in_both_tiers(monkeypatch, name, mode):
    problem = load(name)
    compiled = solve(problem, mode=mode, time_limit=None)
    monkeypatch.setattr(tiers, "PATIENCE_LOADED", 1e9)
    plain = solve(problem, mode=mode, time_limit=None)
    assert compiled.has_plan
    assert plain.has_plan
    if mode != "first":
        assert compiled.status is plain.status is Status.OPTIMAL
        assert (compiled.cost, compiled.lower_bound) == (plain.cost, plain.lower_bound)


@pytest.mark.usefixtures("cache")
def test_nothing_of_numba_is_imported_to_search():
    code = "import planner, sys; planner.solve(planner.load('courier')); print({'numba', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.usefixtures("cache")
def test_a_refusal_of_machine_code_is_told_with_its_reason(monkeypatch):
    monkeypatch.setattr(build_process.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    place = library.SHIPPED / library.folder_name("planner", targets.find_targets()[0].name)
    place.mkdir(parents=True, mode=0o755)
    (place / "astar.so").write_bytes(b"")
    (place / "astar.so").chmod(0o666)
    with pytest.warns(build_process.CodeWarning, match=r"was not loaded.*others may write to astar\.so"):
        build_process.start_build()
    build_process.start_build()  # once is enough


@pytest.mark.usefixtures("cache")
def test_h2_without_machine_code_asks_for_it(monkeypatch):
    started = []
    monkeypatch.setattr("planner.portfolio.tiers.PATIENCE_MISSING", 0.0)
    monkeypatch.setattr(build_process, "start_build", started.append)
    problem = load("elevator")
    task = ground(problem, Limits())
    assert finished(Workplace(task, Space(task), Run(), lambda: None).prune_by_h2(None)).solvable
    assert "h2" in started[0]
