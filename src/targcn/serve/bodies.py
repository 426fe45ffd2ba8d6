"""What requests hold, and nothing else: checked before anything is asked."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from targcn.inference.explanation import End

MOST_QUESTIONS: Final = 1_000
MOST_CHANGES: Final = 100
MOST_ANSWERS: Final = 1_000

Name = Annotated[str, Field(max_length=10_000)]
# A date in any form, or a whole number where times are plain numbers.
Time = Annotated[str, Field(max_length=100)] | Annotated[int, Field(ge=-(10**18), le=10**18)]
Top = Annotated[int, Field(ge=1, le=MOST_ANSWERS)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class QuestionBody(Body):
    """A fact with one place left open: null, absent, empty or "?"; or a complete fact."""

    subject: Name | None = None
    relation: Name | None = None
    object: Name | None = None
    time: Time | None = None


class FactBody(Body):
    """A complete fact."""

    subject: Name
    relation: Name
    object: Name
    time: Time


class PredictBody(Body):
    run: Name
    questions: Annotated[list[QuestionBody], Field(min_length=1, max_length=MOST_QUESTIONS)]
    top: Top = 10
    hide_known: bool = False
    why: bool = False


class ExplainBody(FactBody):
    run: Name
    asked: End = "object"
    top: Top = 20


class WhatIfBody(Body):
    run: Name
    question: QuestionBody
    without: Annotated[list[FactBody], Field(max_length=MOST_CHANGES)] = []
    given: Annotated[list[FactBody], Field(max_length=MOST_CHANGES)] = []
    top: Top = 10


class MissingBody(Body):
    run: Name
    time: Time | None = None
    relation: Name | None = None
    entity: Name | None = None
    top: Top = 100
