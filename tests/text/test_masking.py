"""No key and no password is in what an error says."""

from __future__ import annotations

import logging
import string
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot import errors
from moot.telemetry.logs import set_up
from moot.text import masking
from moot.text.masking import mask, protect

KEY_CHARACTERS = string.ascii_letters + string.digits + "-_"
keys = st.text(KEY_CHARACTERS, min_size=8, max_size=60)


@pytest.fixture(autouse=True, scope="module")
def what_other_tests_protect() -> Iterator[None]:
    before = set(masking._protected)
    yield
    masking._protected.clear()
    masking._protected.update(before)


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        ("Incorrect API key provided: sk-proj-Ab12_cd34-ef56. Find", "Incorrect API key provided: ***. Find"),
        ("bad key sk-ant-api03-AAAA1111bbbb2222", "bad key ***"),
        ("authorization: Bearer abc.def.123456 was refused", "authorization: Bearer *** was refused"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic ***"),
        ('{"x-api-key": "k1234567890"}', '{"x-api-key": "***"}'),
        ("x-api-key: k1234567890, content-type", "x-api-key: ***, content-type"),
        ("GET /v1/models?key=AbC&alt=sse failed", "GET /v1/models?key=***&alt=sse failed"),
        ("/v1?alt=sse&api_key=hush&x=1", "/v1?alt=sse&api_key=***&x=1"),
        ("postgresql://moot:s3cr3t@db:5432/moot refused", "postgresql://moot:***@db:5432/moot refused"),
        ("postgresql://:hush@db/moot", "postgresql://:***@db/moot"),
        ("postgresql://moot:p@ss@db/moot", "postgresql://moot:***@db/moot"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "***"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789 and AKIAIOSFODNN7EXAMPLE", "*** and ***"),
        ("password=correct-horse-1 host=db", "password=*** host=db"),
    ],
)
def test_what_looks_like_a_key_is_masked(said: str, masked: str) -> None:
    assert mask(said) == masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "said",
    [
        "401: invalid x-api-key",
        "no API key was found",
        "OPENAI_API_KEY is not set",
        "Bearer authentication is required",
        "http://127.0.0.1:8642/api?after=12 went silent",
        "the key risk-averse people miss",
        "max_tokens: must be at least 1",
        "task-sk-1 is not an id",
    ],
)
def test_what_is_no_key_stays(said: str) -> None:
    assert mask(said) == said


@given(keys, st.text(), st.text())
def test_a_protected_key_is_never_quoted(key: str, before: str, after: str) -> None:
    protect(key)
    assert key not in mask(f"{before}{key}{after}")


@given(keys)
def test_no_error_repeats_a_key(key: str) -> None:
    protect(key)
    said = f"you sent {key}, which is wrong"
    made: list[errors.MootError] = [
        errors.ProviderDown("m", said),
        errors.KeyRefused(key, said),
        errors.ReviewerCrashed("codex", said),
        errors.ReplyRefused("m", said),
        errors.DraftInvalid("Brief", said, said),
        errors.StoreFailed(f"postgresql://{key}@db", said),
        errors.InvalidInput("x", said),
        errors.GitRefused(said),
        errors.UncommittedWork(said),
    ]
    for error in made:
        kept = [value for value in vars(error).values() if isinstance(value, str)]
        assert not [text for text in (str(error), *map(str, error.args), *kept) if key in text], error


def test_what_is_too_short_to_be_a_key_is_not_protected() -> None:
    protect("x")
    protect("")
    protect("none")
    assert mask("none of x is a key") == "none of x is a key"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_log_masks_the_cause_of_a_failure_too(
    log_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("hush-hush-hush")
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        set_up("json" if log_format == "json" else "text")
        try:
            raise ValueError("an SDK repeats hush-hush-hush and sk-proj-1234567890ab")
        except ValueError:
            logging.getLogger("moot").exception("It failed with %s.", "hush-hush-hush")
        written = capsys.readouterr().err
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
    assert "ValueError: an SDK repeats *** and ***" in written
    assert "It failed with ***." in written
    assert "hush-hush" not in written
