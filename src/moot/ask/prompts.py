"""What a persona is told when it is asked a question."""

from __future__ import annotations

from moot.ask.flow import AskState, ledger
from moot.core.conversation import PERSON
from moot.core.ledger import source
from moot.core.looked import looked_before, not_found
from moot.evidence import items as evidence
from moot.llm.messages import Message, ModelSaid, Request, Source, UserSaid, Weight
from moot.personas.library import Persona
from moot.prompts.template import fill, system_prompt, when_challenged

ANSWER_TOKENS = 1024
ANSWER_TEMPERATURE = 0.7
LOOKS, LOOKS_TOKENS = 6, 24_000
"""How often whoever is asked may look something up, where the person wants them to, and how much that may
take."""


def answer(state: AskState, persona: Persona, *, small: bool) -> Request:
    """What a persona is told before it answers a question or a follow-up."""
    facts = {"name": persona.name, "role": persona.role, "purpose": persona.purpose}
    if small:
        # Few parameters follow few words: the latest question only, and beginnings to go on from.
        latest = state.conversation.entries[-1].content
        return Request(
            system=fill("ask/answer.small", facts),
            messages=(UserSaid(latest),),
            max_tokens=ANSWER_TOKENS,
            temperature=0.4,
            openers=persona.openers,
        )
    instructions = fill("ask/answer", {"name": persona.name, "challenged": when_challenged()})
    messages = _dialogue(state)
    given = evidence.sources(state.background.evidence)
    return Request(
        system=f"{system_prompt(persona, whole_answer=True)}\n\n{instructions}",
        messages=messages,
        max_tokens=ANSWER_TOKENS,
        temperature=ANSWER_TEMPERATURE,
        shared=(given,) if given else (),
        history=len(messages) - 1,
        looks=LOOKS if state.looks else 0,
        tools_tokens=LOOKS_TOKENS if state.looks else 0,
    )


def _dialogue(state: AskState) -> tuple[Message, ...]:
    """The conversation as alternating messages, which begin and end with the person's."""
    said = [
        UserSaid(entry.content) if entry.speaker == PERSON else ModelSaid(entry.content)
        for entry in state.conversation
    ]
    latest = state.conversation.entries[-1].content
    known = (
        *_given_since(state),
        *source(ledger(state)),
        *not_found(state.answers, state.background.evidence),
        *looked_before(state.bills),
    )
    return (*said[:-1], UserSaid(latest, known))


def _given_since(state: AskState) -> tuple[Source, ...]:
    """Which evidence is newer than the latest answer: it stands with the rest, before the conversation."""
    last = len(state.background.evidence)
    first = state.known[-1] if state.known else last
    if first == last:
        return ()
    numbers = f"E{last}" if last == first + 1 else f"E{first + 1} to E{last}"
    text = f"<given-since>\nThe person has given {numbers} since your last answer.\n</given-since>"
    return (Source("which evidence is new", text, Weight.DEPENDED_ON),)
