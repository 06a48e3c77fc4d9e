"""`forethought runs`: list and delete the runs in a journal, one by one or by age, and answer their questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from executor.cli.places import history_place, journal_place, open_existing, open_history, read_age
from executor.errors import DrivenError
from planner.cli.output import Exit, give, tell
from planner.errors import InputError

if TYPE_CHECKING:
    from executor.events.open_questions import OpenQuestions
    from executor.journal import AnyJournal
    from executor.journal.posted_answers import PostedAnswer

app = typer.Typer(no_args_is_help=True, help="List and delete the runs in a journal, and answer their questions.")
ID: Final = 8
"""Digits of the identity of a step by which people name it."""
_LONGEST: Final = 1000
"""Most characters of the reason why a run waits."""
_WAITING: Final = frozenset({"WAITING", "IN_DOUBT"})
"""Statuses of runs that say why they wait."""
_LISTED: Final = ("run", "plan", "created", "updated", "events", "move")
Journal = Annotated[
    Any, typer.Argument(parser=journal_place, metavar="JOURNAL", help="The file or the address that --journal named.")
]
History = Annotated[
    Any, typer.Argument(parser=history_place, metavar="JOURNAL", help="That, or temporal://HOST:PORT[/NAMESPACE].")
]
Age = Annotated[str | None, typer.Option(metavar="AGE", help="Such as 30d; units are s, m, h, d and w.")]


@app.command("list")
def list_runs(
    journal: History, *, as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False
) -> None:
    """List the runs, the oldest first: id, status, time of the last event, events, plan; why they wait, if they do."""
    from executor.events.open_questions import read_open_questions
    from executor.events.stored_runs import load_runs
    from executor.journal.moves import explain_move
    from executor.report.progress import line_of

    with open_history(journal) as opened:
        found = load_runs(opened).values()
        reasons = {
            each.run: read_open_questions(opened, each.run).reason for each in found if each.status.name in _WAITING
        }
    if as_json:
        rows = [{name: getattr(each, name) for name in _LISTED} | {"status": each.status.name} for each in found]
        give(dumps([row | {"reason": reasons.get(row["run"], "")} for row in rows]))
        return
    for each in found:
        last = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(each.updated))
        give(f"{each.run}  {each.status.name}  {last} UTC  {each.events} events  {each.plan}")
        if reasons.get(each.run):
            give(f"  {line_of(reasons[each.run], _LONGEST)}")
        if each.move:
            give("  " + "; ".join(explain_move(opened.place, each.run, each.move)))


@app.command()
def answer(
    journal: Journal,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    answers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUESTION=ANSWER]…", help="Without any, what the run asks and waits for is listed."),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="List the questions as JSON, each with its form.")] = False,
) -> None:
    """Answer open questions: the process that drives the run takes the answers, or the next that takes it up.

    An answer is one of the choices, a text, or JSON: '{"values": {"amount": 20}}' approves a step with another value.
    """
    from executor.cli.run import read_answer, split_pairs
    from executor.events.open_questions import post_answer, read_open_questions

    place: AbstractContextManager[Any] = open_history(journal, writes=bool(answers))
    with place as opened:
        if not answers:
            found, posted = read_open_questions(opened, run), opened.posted.read(run)
            lines = [_describe_as_json(found)] if as_json else _list_questions(opened, found, posted)
            for line in lines:
                give(line)
            return
        for question, text in split_pairs("answer", answers, "QUESTION=ANSWER", "approve:s3=yes").items():
            post_answer(opened, run, question, read_answer(text))
            give(f"answered {question}")


def _describe_as_json(found: OpenQuestions) -> str:
    from executor.events.answers import describe_question

    return dumps([describe_question(each) for each in found.asked.values()])


def _list_questions(journal: AnyJournal, found: OpenQuestions, posted: Iterable[PostedAnswer]) -> Iterator[str]:
    """Yield what a run asks and waits for, and the answers that it has not taken yet, or does not take."""
    from executor.events.open_questions import explain_late

    told = {each.question: each.answer for each in posted if not each.objection}
    for asked in found.asked.values():
        choices = f" ({' or '.join(asked.choices)})" if asked.choices else ""
        yield f"{asked.question}  {asked.text}{choices}"
        yield from (f"    {each}" for each in asked.known)
        late = explain_late(asked, journal.clock.time())
        until = "" if asked.until is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(asked.until))
        if until:
            yield f"    {late}" if late else f"    until {until} UTC"
        if asked.question in told:
            yield f"    answered, and not taken yet: {told[asked.question]}"
    for step, wait in found.waits.items():
        yield f"{step}  {wait.get('text') or wait.get('event') or ''}".rstrip()
        if "flight" in wait:
            yield f"    answer it there: forethought runs answer {journal.place} {wait.get('run') or 'RUN'}"
    if found.reason and not (found.asked or found.waits):
        yield found.reason
    for each in posted:
        if each.objection:
            yield f"not taken: {each.question}={each.answer}: {each.objection}"


@app.command()
def ledger(
    journal: History,
    settled: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID=happened|not]…", help="Say of attempts in doubt whether they happened."),
    ] = None,
    *,
    domain: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="List the runs from before the ledger too, by their domain.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the ledger as JSON.")] = False,
) -> None:
    """List what irreversible steps have done and which are under way or in doubt, or settle those in doubt.

    What runs from before the ledger have done is read when an executor next begins or resumes a run: until then, it is
    listed by their DOMAIN, which says what is irreversible.
    """
    from executor.cli.run import split_pairs
    from executor.events.answers import HAPPENED, NOTHING
    from executor.events.open_questions import settle_questions
    from executor.journal import is_journal
    from executor.ledger.records import Outcome
    from executor.loop.books import WORDS, list_doubtful, settle_by_word

    with open_history(journal, writes=bool(settled)) as opened:
        past = _find_past_effects(opened, domain)
        flights = list_doubtful(opened, [*past[0], *opened.ledger.flights()])
        entries = [*past[1], *opened.ledger.entries()]
        for id_, word in split_pairs("ledger", settled or [], "ID=WORD", "3f2a=happened").items():
            flight = settle_by_word(opened, flights, id_, word)
            give(f"settled {id_}")
            answer = HAPPENED if WORDS[word] is Outcome.DONE else NOTHING
            for run in settle_questions(opened, flight.run, flight.step, answer) if is_journal(opened) else ():
                give(f"answered the run {run!r}, which a worker or `resume` takes up")
    if settled:
        return
    if as_json:
        rows = {"flights": list(map(_to_row, flights)), "entries": list(map(_to_row, entries))}
        give(dumps(rows, default=lambda outcome: outcome.name))
        return
    for flight in flights:
        now = "IN_DOUBT" if flight.doubt else "AT WORK"
        give(f"{flight.item[:ID]}  {now}  {flight.text}  {flight.run}  {flight.doubt}".rstrip())
    for entry in entries:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(entry.at))
        seen = "seen" if entry.seen else "as reported"
        how = f"{entry.outcome.name}, {seen}" if entry.outcome.name == "DONE" else entry.outcome.name
        give(f"{entry.item[:ID]}  {how}  {entry.text}  {entry.run}  {at} UTC  {entry.occasion}".rstrip())


def _find_past_effects(journal: Any, domain: str | None) -> tuple[list[Any], list[Any]]:
    """Return flights and entries of runs from before the ledger that no executor has read yet."""
    from executor.cli.execute import load_world
    from executor.journal import is_journal
    from executor.loop.past_effects import find_past_effects, is_unread
    from planner.language.loading.load import open_source

    if domain is not None and is_journal(journal):
        source = open_source(domain)
        world = load_world(domain, source, source.domain())
        return find_past_effects(journal, world.model, world.first_name, (world.label, *world.earlier_names))
    if is_journal(journal) and is_unread(journal):
        tell("runs from before the ledger are not listed: name their domain by --domain")
    return [], []


def _to_row(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in type(record).__match_args__}


@app.command()
def delete(
    journal: Journal,
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Ids of runs that no process drives.")],
) -> None:
    """Delete runs with all their events."""
    driven = False
    with open_existing(journal) as opened:
        for run in runs:
            try:
                opened.delete(run)
            except DrivenError as error:
                driven = True
                tell(str(error))
            else:
                give(f"deleted {run}")
    raise typer.Exit(Exit.NEGATIVE if driven else Exit.OK)


@app.command()
def prune(journal: Journal, *, over: Age = None, unfinished: Age = None) -> None:
    """Delete the runs whose last event is older: those that are over, and those that wait or are in doubt."""
    from executor.events.stored_runs import Retention, delete_expired

    if over is None and unfinished is None:
        raise InputError("nothing says which runs expire", hint="such as --over 30d")
    retention = Retention(read_age("--over", over), read_age("--unfinished", unfinished))
    with open_existing(journal) as opened:
        for run in delete_expired(opened, retention):
            give(f"deleted {run}")


@app.command()
def copy(
    source: Annotated[Any, typer.Argument(parser=journal_place, metavar="FROM", help="The journal of the runs.")],
    target: Annotated[Any, typer.Argument(parser=journal_place, metavar="TO", help="The journal to copy them to.")],
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN…", help="Ids of runs.", show_default="all")] = None,
) -> None:
    """Copy runs to another journal; those that are not over leave the first one, as they must not go on twice.

    The same command finishes what was broken off: until then, nobody drives such a run, in either journal.
    """
    from executor.events.stored_runs import copy_run
    from executor.journal import open_journal

    driven = False
    with open_existing(source) as old, open_journal(target) as new:
        arrived = [each.run for each in new.runs() if each.move == f"from {old.place}"]
        for run in runs or dict.fromkeys([*[each.run for each in old.runs()], *arrived]):
            try:
                give(f"{copy_run(old, new, run)} {run}")
            except DrivenError as error:
                driven = True
                tell(str(error))
    raise typer.Exit(Exit.NEGATIVE if driven else Exit.OK)


@app.command()
def keep(
    journal: Journal, run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run whose copy broke off.")]
) -> None:
    """Keep a run here whose move to or from another journal broke off: for when that journal is lost.

    If the other journal still has the run, delete it there by `runs keep` and `runs delete`, or it goes on twice.
    """
    with open_existing(journal) as opened, opened.drive(run, move=opened.find_move(run)):
        opened.set_move(run, "")
    give(f"kept {run}")
