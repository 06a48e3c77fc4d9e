"""`forethought bench sentences`: recorded sentences and answers, replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.sentences.recorded import Sentence

WRONG = 10


def sentences(
    *,
    only: Annotated[str, typer.Option("--only", help="Only sentences that have this text in them.")] = "",
    language_model: Annotated[
        str | None, typer.Option("--language-model", help="Say them to this model, in place of the recorded answers.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="Where it is, if it speaks OpenAI's protocol.")
    ] = None,
) -> None:
    """Replay what language models may say to sentences about the shipped domains, and to text that tools return.

    The exit code is 10 where an answer came to anything but what is recorded, or to what must not be.
    """
    from benchmarks.sentences.recorded import recorded  # noqa: PLC0415 - the command line starts without the executor

    chosen = [each for each in recorded() if only in each.say]
    if not chosen:
        raise typer.BadParameter(f"no sentence has {only!r} in it", param_hint="--only")
    if language_model is not None or endpoint is not None:
        given = {"model": language_model, "url": endpoint}
        violated = say(chosen, {name: each for name, each in given.items() if each is not None})
    else:
        violated = replay(chosen, with_texts=not only)
    if violated:
        raise typer.Exit(WRONG)


def replay(chosen: Sequence[Sentence], *, with_texts: bool) -> bool:
    """Replay the recorded answers, and texts that tools return; return whether anything was violated."""
    from benchmarks.sentences.injections import injected  # noqa: PLC0415 - as above
    from benchmarks.sentences.table import endings_table, injections_table, sentences_table  # noqa: PLC0415 - as above
    from benchmarks.sentences.verdict import judged  # noqa: PLC0415 - as above

    found = [each for sentence in chosen for each in judged(sentence)]
    for each in found:
        if each.violation:
            tell(f"{each.sentence.where}: {each.sentence.say}\n  {each.why or 'the right answer'}: {each.violation}")
    give(sentences_table(found))
    give(endings_table(found))
    texts = list(injected()) if with_texts else []
    for one in texts:
        if one.violation:
            tell(f"{one.text!r}, {one.way}: {one.violation}")
    if texts:
        give(injections_table(texts).rstrip())
    return any(each.violation for each in found) or any(each.violation for each in texts)


def say(chosen: Sequence[Sentence], settings: Mapping[str, str]) -> bool:
    """Say the sentences to a language model, and tell how it understands them; return whether anything was violated."""
    from benchmarks.sentences.table import heard_table  # noqa: PLC0415 - as above
    from benchmarks.sentences.verdict import heard  # noqa: PLC0415 - as above
    from executor.language.apart import Apart  # noqa: PLC0415 - as above
    from executor.language.settings import model_of  # noqa: PLC0415 - as above

    model = model_of(settings)
    if model is None:
        raise typer.BadParameter("an endpoint, and no model", param_hint="--language-model")
    found = []
    with Apart(model) as listening:
        for sentence in chosen:
            found.append(heard(sentence, listening))
            what = "understood" if found[-1].is_understood else f"not understood: {found[-1].ending}"
            tell(f"{sentence.say}\n  {what}{f', {found[-1].violation}' if found[-1].violation else ''}")
    give(heard_table(found).rstrip())
    return any(each.violation for each in found)
