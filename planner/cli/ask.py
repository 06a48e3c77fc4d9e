"""`forethought ask`: answer a question about a domain and a problem, with its proof."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from json import dumps
from pathlib import Path

from planner.cli import options
from planner.cli.interrupt import finite_limit, interruptible, limit_memory
from planner.cli.output import Exit, exit_of_verdict, give, tell
from planner.cli.parser import Parser, option
from planner.errors import InputError, UnsupportedError, did_you_mean, kind_of
from planner.language.loading.load import is_file, load_from, open_source
from planner.language.loading.texts import open_text, read_problem_text
from planner.lightweight import TYPE_CHECKING, Any, Final, replace
from planner.limits import Limits
from planner.model import Atom, Formula, Not, Problem
from planner.plan import Status, StoppedBy
from planner.problem_kinds import AnyProblem, classical_of

if TYPE_CHECKING:
    from planner.questions import Reachability
    from planner.validation.verdict import Verdict

ABOUT: Final = "Answer a question about a domain: what can be done, reached, left out, and done first."
STDIN: Final = "-"
PATH: Final = re.compile(r"[/\\]|\.\w+$")
"""What only names of files have, and facts have not."""
ATOM: Final = re.compile(r"\s*[^\s,:;()\[\]{}]+\([^()\n]*\)")
"""The first step of a plan that is written as atoms, such as `move(r2, hall, lab)`."""


WITH_TASKS: Final = frozenset({"applicable", "progress", "first-steps"})
"""The kinds of questions that problems with tasks have answers to."""


def _words_help() -> str:
    """Write the help on the words of a question, with its kinds."""
    kinds = ", ".join([f"{name} {what}".strip() for name, (what, _) in KINDS.items()])
    return f"[PROBLEM] KIND [ABOUT]: the problem, given as DOMAIN is, unless DOMAIN has one; then one of {kinds}."


QUESTION: Final = (
    option(
        "domain",
        "A file, a folder, the name of a shipped domain, the text of a file, or - for a text on stdin.",
        metavar="DOMAIN",
    ),
    option(
        "words",
        _words_help,
        metavar="WORD",
        nargs="+",
    ),
    option(
        "--state",
        "The facts that hold, in place of the initial state: '(at r2 hall) (idle r2)', or a file; - for stdin.",
        metavar="FACTS",
    ),
    option(
        "--all", "List also what is reachable, and landmarks that hold initially or in the goal.", action="store_true"
    ),
    option("--static", "With reachable-facts: ask also about facts that no action changes.", action="store_true"),
    option("--json", "Print the answer as JSON.", action="store_true"),
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    parser.add_all(QUESTION)
    options.add_limits(parser, default=10.0)
    options.add_quiet(parser)


def run(started: float, given: Namespace) -> Exit:
    """Print the answer."""
    problem, kind, about = _split_words(given.words)
    limits = Limits(finite_limit(given.time_limit), limit_memory(given.memory_limit), started=started)
    with interruptible(limits.remaining) as watchman:
        stdin = _Stdin()
        loaded = _load(given.domain, problem, stdin)
        if not isinstance(loaded, Problem) and kind not in WITH_TASKS:
            construct = f"{kind_of(loaded)} in a question"
            raise UnsupportedError(construct, "ask about its part without tasks: problem.classical in Python")
        state = None if given.state is None else _read_state(given.state, stdin)
        with watchman.searching() as limits.cancel:
            answer = _Question(loaded, about, state, given=given, limits=limits, stdin=stdin)
            return KINDS[kind][1](answer)


def _split_words(words: list[str]) -> tuple[str | None, str, list[str]]:
    """Return the problem, if one is named, the kind of question and what it is about."""
    for place, word in enumerate(words[:2]):
        if word in KINDS:
            return words[0] if place else None, word, words[place + 1 :]
    wanted = words[1] if len(words) > 1 else words[0]
    hint = did_you_mean(wanted, KINDS) or f"the kinds are {', '.join(KINDS)}"
    raise InputError(f"{wanted[:60]!r} is no kind of question", hint=hint)


class _Stdin:
    """Texts that are given as words, in files, or on stdin, which is read once."""

    def __init__(self) -> None:
        self._text: str | None = None

    def read(self) -> str:
        """Return the text on stdin."""
        if self._text is None:
            try:
                self._text = sys.stdin.read()
            except UnicodeDecodeError as error:
                raise InputError(f"what is on stdin is no text: {error}") from None
        return self._text

    def read_text(self, given: str) -> str:
        """Return the text on stdin or in the file that `given` leads to, or `given` itself."""
        if given == STDIN:
            return self.read()
        return options.read_plan_text(Path(given)) if is_file(given) else given


def _load(domain: str, problem: str | None, stdin: _Stdin) -> AnyProblem:
    """Load the problem; where both are on stdin, the text there has the domain and the problem."""
    source = open_text(stdin.read()) if domain == STDIN else open_source(domain)
    if problem == STDIN and domain != STDIN:
        return read_problem_text(stdin.read(), source)
    return load_from(source, None if problem == STDIN else problem)


def _read_state(given: str, stdin: _Stdin) -> str:
    """Return the facts that are given as text, in a file or on stdin."""
    if given != STDIN and not {"(", "="} & {*given} and PATH.search(given) and not is_file(given):
        raise InputError(f"there is no file {given[:60]!r}, and a state has facts such as at(r2, hall)")
    return stdin.read_text(given)


class _Question:
    """A question about `problem`; the methods print the answers to the kinds of questions, and return exit codes."""

    def __init__(
        self,
        problem: AnyProblem,
        about: list[str],
        state: str | None,
        *,
        given: Namespace,
        limits: Limits,
        stdin: _Stdin,
    ) -> None:
        self._whole, self._problem = problem, classical_of(problem)
        self._about, self._state, self._given = about, state, given
        self._limits, self._stdin = limits, stdin

    def _options(self) -> dict[str, Any]:
        limits = self._limits
        return {"time_limit": limits.remaining, "memory_limit": limits.memory_limit, "cancel": limits.cancel}

    def _expect_nothing(self) -> None:
        if self._about:
            raise InputError(f"found {self._about[0]!r} after the kind of question, expected nothing")

    def _expect_one(self, what: str) -> str:
        if len(self._about) != 1:
            hint = "put it in quotes" if self._about else None
            raise InputError(f"found {len(self._about)} words after the kind, expected {what}", hint=hint)
        return self._about[0]

    def _show(self, data: Any, lines: Iterable[str], message: str) -> None:
        """Print the answer as JSON, or as lines with a message for people."""
        if self._given.json:
            give(dumps(data))
            return
        text = "\n".join(lines)
        if text:
            give(text)
        if message and not self._given.quiet:
            tell(message)

    def applicable(self) -> Exit:
        """List the applicable steps."""
        from planner.questions import applicable, spell

        self._expect_nothing()
        found = [spell(self._problem, step) for step in applicable(self._problem, self._state)]
        self._show({"steps": found}, found, f"{_count(len(found), 'step')} can be taken")
        return Exit.OK

    def progress(self) -> Exit:
        """Say what a step changes."""
        from planner.questions import progress

        found = progress(self._problem, self._expect_one("a step"), self._state)
        _, *lines = str(found).splitlines()
        self._show(found.to_dict(), lines, "" if lines else "it changes nothing")
        return Exit.OK

    def reachable_facts(self) -> Exit:
        """Say which facts are reachable."""
        from planner.questions import reachable_facts

        static = self._given.static
        found = reachable_facts(self._problem, self._state, facts=self._about or None, static=static, **self._options())
        return self._show_reachability(found, "fact")

    def reachable_steps(self) -> Exit:
        """Say which steps are reachable."""
        from planner.questions import reachable_steps

        found = reachable_steps(self._problem, self._state, steps=self._about or None, **self._options())
        return self._show_reachability(found, "step")

    def _show_reachability(self, found: Reachability[Any], what: str) -> Exit:
        listed = [each for each in found.answers if self._about or self._given.all or not each.reachable]
        counts = f"{len(found.unreachable)} unreachable, {len(found.unknown)} unknown"
        message = f"of {_count(len(found.answers), what)}, {counts}"
        self._show(found.to_dict(), map(str, listed), message)
        if found.unknown:
            return _exit_of_limit(found.stopped_by)
        return Exit.NEGATIVE if self._about and found.unreachable else Exit.OK

    def landmarks(self) -> Exit:
        """List the fact landmarks."""
        from planner.questions import fact_landmarks, spell

        self._expect_nothing()
        found = fact_landmarks(self._problem, self._state, **self._options())
        listed = found.landmarks if self._given.all else found.nontrivial
        lines = [*map(str, listed), *[f"{spell(self._problem, fact)}: unknown" for fact in found.unknown]]
        trivial = len(found.landmarks) - len(found.nontrivial)
        message = f"{_count(len(found.nontrivial), 'landmark')}, and {trivial} that hold initially or in the goal"
        if found.status is not Status.SOLVED:
            message = _describe_end(found.status, found.stopped_by)
        self._show(found.to_dict(), lines, message)
        if found.status is Status.UNSOLVABLE:
            return Exit.NEGATIVE
        return _exit_of_limit(found.stopped_by) if found.unknown or found.status is Status.UNKNOWN else Exit.OK

    def simplify(self) -> Exit:
        """Print the plan without the steps that it does not need."""
        from planner.questions import simplify, spell

        plan = self._read_plan(self._expect_one("a plan"))
        found = simplify(self._problem, plan, self._state, **self._options())
        given = [spell(self._problem, step) for step in found.given]
        alone = [f"can be left out: {' '.join([given[place] for place in each])}" for each in found.removals]
        least = "no part of it costs less" if found.is_least else "not proved to be the least"
        steps = f"{len(found.kept)} of {_count(len(given), 'step')} are kept ({least})"
        kept = [given[place] for place in found.kept]
        self._show(found.to_dict(), kept, "\n".join([*alone, steps]))
        return Exit.OK

    def validate(self) -> Exit:
        """Print the first step that cannot be taken, or whether the plan reaches the goal."""
        from planner.compilations.object_creation import for_steps
        from planner.questions import first_inapplicable
        from planner.questions.notation import put_state, read_steps
        from planner.validation.validate import check_steps

        plan = self._read_plan(self._expect_one("a plan"))
        found = first_inapplicable(self._problem, plan, self._state)
        if found is not None:
            self._show({"first_inapplicable": found.to_dict(), "valid": False}, [str(found)], "")
            return Exit.NEGATIVE
        start = for_steps(put_state(self._problem, self._state), (), spare=1)
        verdict = check_steps(start, read_steps(start, plan))
        verdict = self._spell_verdict(verdict)
        unmet = [self._spell_part(part) for part in verdict.unmet]
        data = {"first_inapplicable": None, **verdict.to_dict(), "unmet": unmet}
        self._show(data, [str(verdict)], "all steps can be taken")
        return exit_of_verdict(verdict)

    def _spell_verdict(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the unmet goals in its reason as the file of the problem writes them."""
        reason = verdict.reason
        for part in verdict.unmet:
            reason = reason.replace(f"{part}, ", f"{self._spell_part(part)}, ", 1)
        return replace(verdict, reason=reason)

    def _spell_part(self, part: Formula) -> str:
        from planner.questions import spell

        if isinstance(part, Atom) or (isinstance(part, Not) and isinstance(part.part, Atom)):
            return spell(self._problem, part)
        return str(part)

    def first_steps(self) -> Exit:
        """List the steps with which optimal plans begin."""
        from planner.questions import optimal_first_steps, spell

        self._expect_nothing()
        found = optimal_first_steps(self._whole, self._state, **self._options())
        lines = [spell(self._problem, step) for step in found.steps]
        message = str(found).partition("\n")[0]
        if found.status is not Status.OPTIMAL:
            message = _describe_end(found.status, found.stopped_by)
        self._show(found.to_dict(), lines, message)
        if found.status is Status.OPTIMAL:
            return Exit.OK
        return Exit.NEGATIVE if found.status is Status.UNSOLVABLE else _exit_of_limit(found.stopped_by)

    def _read_plan(self, given: str) -> Any:
        """Return the steps of a plan that is given as text or in a file: as atoms, in IPC format or in JSON."""
        from planner.language.pddl.plan_files import read_plan
        from planner.plan_json import is_json, read_json_plan

        if given != STDIN and "(" not in given and not is_file(given):
            raise InputError(f"there is no file {given[:60]!r}, and a plan has steps such as (move r2 hall lab)")
        text = self._stdin.read_text(given)
        source = given if is_file(given) else "<plan>"
        if is_json(text):
            return read_json_plan(text, self._problem, source)[0]
        if text.lstrip()[:1] in ("(", ";") or ATOM.match(text):
            return text
        return read_plan(text, self._problem, source)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _describe_end(status: Status, stopped_by: StoppedBy) -> str:
    """Return why there is no answer: there is no plan, or what stopped the search for one."""
    return status.value if status is Status.UNSOLVABLE else f"no verdict: stopped by {stopped_by.value}"


def _exit_of_limit(stopped_by: StoppedBy) -> Exit:
    return Exit.INTERRUPTED if stopped_by is StoppedBy.CANCELLED else Exit.NO_VERDICT


KINDS: Final[dict[str, tuple[str, Callable[[_Question], Exit]]]] = {
    "applicable": ("", _Question.applicable),
    "progress": ("STEP", _Question.progress),
    "reachable-facts": ("[FACT …]", _Question.reachable_facts),
    "reachable-steps": ("[STEP …]", _Question.reachable_steps),
    "simplify": ("PLAN", _Question.simplify),
    "landmarks": ("", _Question.landmarks),
    "validate": ("PLAN", _Question.validate),
    "first-steps": ("", _Question.first_steps),
}
"""The kinds of questions: what each is about, and what answers it."""
