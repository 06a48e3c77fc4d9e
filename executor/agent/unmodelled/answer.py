"""What a model answers when it is asked for steps: declared actions, with objects and values."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from executor.language.protocol import Answer

Name = Annotated[str, Field(max_length=100)]
Text = Annotated[str, Field(max_length=500)]
ANY: Final = "_"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProposedStep(_Part):
    """A step that would help."""

    action: Name = Field(description="a listed action")
    arguments: dict[Name, Name] = Field(
        default_factory=dict, max_length=20, description="objects by parameter; left out where any object will do"
    )
    values: dict[Name, Any] = Field(
        default_factory=dict, max_length=20, description="values by open parameter, where the user says them"
    )


class Serving(_Part):
    """Steps that serve one of the parts, or what is lacking for it."""

    part: Text = Field(description="the part, word for word")
    steps: list[ProposedStep] = Field(default_factory=list, max_length=20)
    lacking: Text = Field("", description="without steps: what one would have to be able to do for it")


class Proposed(Answer):
    """What would serve each of the parts."""

    parts: list[Serving] = Field(default_factory=list, max_length=20)


INSTRUCTIONS: Final = """\
A user wants something of which no listed fact expresses some parts. For each of these parts, name the steps that serve
it, in their order: listed actions only, with listed objects only. Leave out what the steps need beforehand: a planner
finds that, and reaches the goal. Propose nothing for the sake of it: if no listed action serves a part, give no steps,
and say what is lacking. Somebody looks at what you propose before anything is done.
"""
