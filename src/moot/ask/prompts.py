"""What a persona is told when it is asked a question."""

from __future__ import annotations

from moot.ask.flow import AskState
from moot.core.conversation import PERSON, Capped
from moot.llm.messages import Message, ModelSaid, Request, UserSaid
from moot.personas.library import Persona
from moot.prompts.template import fill, system_prompt, when_challenged

ANSWER_TOKENS = 1024
ANSWER_TEMPERATURE = 0.7
ANSWER_HISTORY_WORDS = 6_000


def answer(state: AskState, persona: Persona, *, small: bool) -> Request:
    """What a persona is told before it answers a question or a follow-up."""
    facts = {"name": persona.name, "role": persona.role, "purpose": persona.purpose}
    said = state.conversation.newest(ANSWER_HISTORY_WORDS)
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
    return Request(
        system=f"{system_prompt(persona, whole_answer=True)}\n\n{instructions}",
        messages=dialogue(said),
        max_tokens=ANSWER_TOKENS,
        temperature=ANSWER_TEMPERATURE,
    )


def dialogue(said: Capped) -> tuple[Message, ...]:
    """A conversation between the person and one persona as alternating messages, beginning with the person.
    What was dropped for length is said at its place."""
    entries = list(said.conversation)
    dropped = said.dropped
    while entries and entries[0].speaker != PERSON:
        entries.pop(0)
        dropped += 1
    messages: list[Message] = [
        UserSaid(entry.content) if entry.speaker == PERSON else ModelSaid(entry.content) for entry in entries
    ]
    if dropped and messages:
        first = entries[0].content
        messages[0] = UserSaid(f"[{dropped} earlier messages are left out here.]\n\n{first}")
    return tuple(messages)
