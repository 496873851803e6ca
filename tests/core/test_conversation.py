from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moot.core.conversation import PERSON, Conversation, Entry

entries = st.builds(
    Entry,
    st.sampled_from([PERSON, "the-strategist"]),
    st.sampled_from(["triage", "questions", "design"]),
    st.lists(st.sampled_from(["yes", "no", "why"]), max_size=12).map(" ".join),
)
conversations = st.lists(entries, max_size=20).map(lambda said: Conversation(tuple(said)))


def test_what_is_said_comes_last_and_changes_nothing_before() -> None:
    before = Conversation().said(PERSON, "question", "Should we?")
    after = before.said("the-strategist", "answer", "Yes.")
    assert [entry.content for entry in after] == ["Should we?", "Yes."]
    assert len(before) == 1
    assert after.without_last() == before


def test_only_the_wanted_steps_remain_in_their_order() -> None:
    said = Conversation().said(PERSON, "a", "1").said(PERSON, "b", "2").said(PERSON, "a", "3")
    assert [entry.content for entry in said.at_steps(["a"])] == ["1", "3"]
    assert [entry.content for entry in said.at_steps(["b", "a"])] == ["1", "2", "3"]


def test_the_oldest_whole_entries_are_dropped_and_counted() -> None:
    said = (
        Conversation()
        .said(PERSON, "a", "one two three")
        .said(PERSON, "a", "four five")
        .said(PERSON, "a", "six")
    )
    capped = said.newest(4)
    assert [entry.content for entry in capped.conversation] == ["four five", "six"]
    assert capped.dropped == 1
    assert said.newest(6).dropped == 0
    assert said.newest(0).dropped == 3


@given(conversations, st.integers(0, 60))
def test_a_cap_always_keeps_the_newest_whole_entries_that_fit(said: Conversation, most: int) -> None:
    capped = said.newest(most)
    kept = capped.conversation.entries
    assert said.entries[capped.dropped :] == kept
    assert sum(entry.words for entry in kept) <= most
    if capped.dropped:
        next_older = said.entries[capped.dropped - 1]
        assert next_older.words + sum(entry.words for entry in kept) > most
