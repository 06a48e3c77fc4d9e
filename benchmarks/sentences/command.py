"""`forethought bench sentences`: recorded sentences and answers, replayed."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.output import give, tell

WRONG = 10


def sentences(
    *,
    only: Annotated[str, typer.Option("--only", help="Only sentences that have this text in them.")] = "",
) -> None:
    """Replay what language models may say to sentences about the shipped domains, and to text that tools return.

    The exit code is 10 where an answer came to anything but what is recorded, or to what must not be.
    """
    from benchmarks.sentences.injections import injected  # noqa: PLC0415 - the command line starts without the executor
    from benchmarks.sentences.recorded import recorded  # noqa: PLC0415 - as above
    from benchmarks.sentences.table import (  # noqa: PLC0415 - as above
        endings_table,
        injections_table,
        sentences_table,
    )
    from benchmarks.sentences.verdict import judged  # noqa: PLC0415 - as above

    chosen = [each for each in recorded() if only in each.say]
    if not chosen:
        raise typer.BadParameter(f"no sentence has {only!r} in it", param_hint="--only")
    found = [each for sentence in chosen for each in judged(sentence)]
    for each in found:
        if each.violation:
            tell(f"{each.sentence.where}: {each.sentence.say}\n  {each.why or 'the right answer'}: {each.violation}")
    give(sentences_table(found))
    give(endings_table(found))
    texts = [] if only else list(injected())
    for one in texts:
        if one.violation:
            tell(f"{one.text!r}, {one.way}: {one.violation}")
    if texts:
        give(injections_table(texts).rstrip())
    if any(each.violation for each in found) or any(each.violation for each in texts):
        raise typer.Exit(WRONG)
