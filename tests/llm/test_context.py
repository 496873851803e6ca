"""What a request carries: whole sources or none, the newest and what is depended on first, and it says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.errors import WindowTooSmall
from moot.llm.context import Fitted, fit, needed_tokens, shared_texts
from moot.llm.messages import Message, ModelSaid, Request, Source, UserSaid, Weight

NEEDED, DEPENDED_ON, HELPFUL = Weight.NEEDED, Weight.DEPENDED_ON, Weight.HELPFUL


def source(name: str, weight: Weight = HELPFUL, size: int = 300) -> Source:
    return Source(name, f"<{name}>{'x' * size}</{name}>", weight)


def request(*sources: Source, shared: tuple[tuple[Source, ...], ...] = ()) -> Request:
    return Request("You advise.", (UserSaid("Say it.", sources),), 100, shared=shared)


def said(fitted: Fitted) -> str:
    return "\n".join((*shared_texts(fitted.request), *(each.text for each in fitted.request.messages)))


def test_everything_is_there_where_it_fits() -> None:
    whole = request(source("old"), source("new"), shared=((source("evidence"),), (source("answers"),)))
    fitted = fit(whole, needed_tokens(whole), "a model")
    assert fitted.left_out == ()
    assert all(f"<{name}>" in said(fitted) for name in ("old", "new", "evidence", "answers"))
    assert shared_texts(fitted.request)[0].startswith("<evidence>")


def test_one_token_less_and_the_oldest_goes() -> None:
    whole = request(*(source(f"s{n}") for n in range(9)))
    fitted = fit(whole, needed_tokens(whole) - 1, "a model")
    assert fitted.left_out[0] == "s0"
    assert "<s0>" not in said(fitted)
    assert "- s0" in said(fitted)
    assert "<s8>" in said(fitted)
    assert needed_tokens(fitted.request) <= needed_tokens(whole) - 1


def test_one_token_more_changes_nothing() -> None:
    whole = request(source("old"), source("new"))
    exact = fit(whole, needed_tokens(whole), "a model")
    assert fit(whole, needed_tokens(whole) + 1, "a model") == exact


def test_what_is_depended_on_outlives_what_is_newer() -> None:
    whole = request(source("base", DEPENDED_ON), source("talk"), source("chat"))
    fitted = fit(whole, needed_tokens(whole) - 150, "a model")
    assert fitted.left_out == ("talk", "chat")
    assert "<base>" in said(fitted)


def test_what_is_too_large_by_itself_takes_nothing_else_along() -> None:
    whole = request(source("small"), source("huge", size=90_000), source("last"))
    fitted = fit(whole, 2_000, "a model")
    assert fitted.left_out == ("huge",)
    assert "<small>" in said(fitted)
    assert "<last>" in said(fitted)


def test_old_messages_go_before_what_was_asked_just_now() -> None:
    talk: tuple[Message, ...] = tuple(
        UserSaid(f"question {n} " + "q" * 300) if n % 2 == 0 else ModelSaid(f"answer {n} " + "a" * 300)
        for n in range(7)
    )
    whole = Request("You answer.", talk, 100, history=6)
    fitted = fit(whole, needed_tokens(whole) - 1, "a model")
    assert fitted.left_out == ("2 earlier messages",)
    first = fitted.request.messages[0]
    assert isinstance(first, UserSaid)
    assert "2 earlier messages" in first.text
    assert "question 2" in first.text
    assert fitted.request.messages[-1].text == talk[-1].text


def test_what_is_needed_is_never_left_out() -> None:
    whole = request(source("decision", NEEDED, 3_000), source("talk"))
    with pytest.raises(WindowTooSmall) as refused:
        fit(whole, 900, "a model")
    assert refused.value.window == 900
    assert refused.value.needed > 1_000


@given(
    st.lists(st.tuples(st.sampled_from(list(Weight)), st.integers(0, 2_000)), max_size=12),
    st.integers(0, 9_000),
)
def test_never_too_much_and_never_silently_too_little(parts: list[tuple[Weight, int]], window: int) -> None:
    sources = [source(f"s{n}", weight, size) for n, (weight, size) in enumerate(parts)]
    whole = request(*sources[::2], shared=(tuple(sources[1::2]),))
    try:
        fitted = fit(whole, window, "a model")
    except WindowTooSmall:
        return
    assert needed_tokens(fitted.request) <= window
    text = said(fitted)
    for one in sources:
        assert (one.text in text) != (one.name in fitted.left_out)
        if one.name in fitted.left_out:
            assert one.weight is not NEEDED
            assert f"- {one.name}\n" in text
    if needed_tokens(whole) <= window:
        assert not fitted.left_out
