"""`forethought schema`: the JSON Schema of documents, for editors."""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from planner.cli.output import give
from planner.errors import InputError, did_you_mean

app = typer.Typer()
KINDS: Final = ("domain", "problem", "cases")


@app.command()
def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="|".join(KINDS), help="The kind of document; by default any of them.")
    ] = None,
) -> None:
    """Print the JSON Schema of domains, problems and test cases, for editors."""
    from executor.desk.loop.case_documents import CasesDocument
    from planner.language.documents.schema import DomainDocument, ProblemDocument, schema_of

    models = {"domain": DomainDocument, "problem": ProblemDocument, "cases": CasesDocument}
    if kind is not None and kind not in models:
        raise InputError(f"there is no schema of {kind!r}", hint=did_you_mean(kind, KINDS) or ", ".join(KINDS))
    one = DomainDocument | ProblemDocument | CasesDocument
    found = schema_of(one | list[one] if kind is None else models[kind], f"A {kind or 'document'} of Forethought")
    give(json.dumps(found, indent=2))
