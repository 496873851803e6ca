"""A brief as it travels, over HTTP and MCP alike: camelCase outside, snake_case inside."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class ConsensusOut(_Part):
    areas: list[str]
    strength: Literal["strong", "moderate", "weak"]


class TensionOut(_Part):
    between: list[str]
    issue: str
    implication: str


class RecommendationOut(_Part):
    summary: str
    confidence: Literal["high", "moderate", "low"]
    conditions: list[str]


class BriefBody(_Part):
    consensus: ConsensusOut
    tensions: list[TensionOut]
    blind_spots: list[str]
    recommendation: RecommendationOut
