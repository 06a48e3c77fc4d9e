"""Limits and signals that arrive at any millisecond of the start of a command, which ends with its own exit code.

    python tests/alarms.py [NUMBER [LONGEST]]

Runs so many commands (2,000), each with an alarm at another time up to so many milliseconds (400), and prints, as
JSON, how often each exit code came, and what was wrong: another code, a traceback, or an end that came too late.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter

COMMANDS = (
    ["solve", "courier"],
    ["check", "helpdesk"],
    ["explain", "courier"],
    ["run", "courier", "--quiet"],
    ["solve", "travel"],
    ["solve", "courier", "--candidates", "3"],
)
"""Commands that load different parts of the package."""
SIGNALLED = """
import os, signal, sys, time
from planner.cli import main
if not os.fork():
    time.sleep({seconds})
    os.kill(os.getppid(), signal.{name})
    os._exit(0)
sys.argv[1:] = {words!r}
main()
"""
DONE, NO_VERDICT, INTERRUPTED = 0, 11, 130
LATE = 0.5
"""Seconds after its limit at which a command has to have ended."""
START = 2.0
"""Seconds for starting Python, on a machine with other work."""


def alarmed(number, longest):
    """Return the exit codes that a command may end with, and how it was run with the alarm of this `number`."""
    words, kind = COMMANDS[number % len(COMMANDS)], number // len(COMMANDS) % 3
    seconds = (1 + number * 7 % longest) / 1000
    if kind == 0:
        command = [sys.executable, "-c", "from planner.cli import main; main()", *words, "--time-limit", str(seconds)]
        return seconds, {DONE, NO_VERDICT}, command
    code = SIGNALLED.format(seconds=seconds, name=("SIGINT", "SIGTERM")[kind - 1], words=words)
    return seconds, {DONE, NO_VERDICT, INTERRUPTED}, [sys.executable, "-c", code]


def campaign(number, longest):
    """Run `number` commands; return how often each exit code came, and what was wrong."""
    codes, wrong = Counter(), []
    for each in range(number):
        seconds, allowed, command = alarmed(each, longest)
        sys.stderr.write(f"\r{each + 1} of {number}")
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ})
        took = time.monotonic() - began
        codes[done.returncode] += 1
        is_said = done.returncode in allowed and "Traceback" not in done.stderr and "Internal error" not in done.stderr
        if not is_said or took > seconds + LATE + START:
            wrong.append({"command": command, "code": done.returncode, "stderr": done.stderr[-500:], "seconds": took})
    return {"codes": dict(codes), "wrong": wrong}


if __name__ == "__main__":
    number, longest = (int(each) for each in (*sys.argv[1:], *("2000", "400")[len(sys.argv) - 1 :]))
    sys.stdout.write(json.dumps(campaign(number, longest), indent=1) + "\n")
