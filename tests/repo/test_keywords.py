"""Which words are looked for, and what counts as one of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.repo.keywords import MOST_KEYWORDS, commanded_in, importing, keyword, keywords_of, risky_words


def test_quoted_names_come_first_then_the_title_then_what_the_description_repeats() -> None:
    description = "Queue the edits. The queue is replayed by `sync_worker`, and conflicts go to a queue."
    assert keywords_of("Offline editing", description) == (
        "sync_worker",
        "offline",
        "editing",
        "queue",
        "replayed",
        "conflicts",
    )


def test_a_word_that_says_nothing_tells_something_as_a_name_of_code() -> None:
    assert keywords_of("When `fettle done 3` is called, text them") == (
        "fettle done 3",
        "fettle",
        "done",
        "called",
        "text",
    )
    assert keywords_of("When it is done, text them", "", ["done"]) == ("done", "text")


def test_what_a_command_is_told_to_do_is_a_name() -> None:
    entry_points = ("fettle = fettle.cli:main", "src/main.rs")
    said = "After fettle done and fettle mark-late, and not before it was done"
    assert tuple(commanded_in(said, entry_points)) == ("done", "mark-late")


def test_words_that_say_nothing_are_left_out() -> None:
    assert keywords_of("We should add a new way to do it for the users") == ()


def test_what_matters_is_not_crowded_out_by_words_that_say_nothing() -> None:
    description = (
        "People don't want to go back and forth, and it isn't enough if they're able to come across it "
        "sometimes; instead of that, anyone who came along, although perhaps not often, went away again "
        "because they'd got lost. The exporter writes a manifest with checksums."
    )
    found = keywords_of("Safer archives", description)
    assert found[:2] == ("safer", "archives")
    assert {"exporter", "writes", "manifest", "checksums"} <= set(found)
    assert not {"don", "isn", "they", "able", "instead", "anyone", "back", "come"} & set(found)


def test_a_word_that_an_apostrophe_belongs_to_stays() -> None:
    assert keywords_of("The customer’s invoice isn’t O'Brien's") == ("customer", "invoice", "brien")


def test_of_words_with_the_same_stem_the_first_is_kept() -> None:
    assert keywords_of("Cache uploads", "Caching an upload; caches; uploaded; uploading") == (
        "cache",
        "uploads",
    )


@settings(max_examples=100)
@given(st.text(), st.text())
def test_keywords_are_few_and_distinct_whatever_is_written(title: str, description: str) -> None:
    words = keywords_of(title, description)
    assert len(words) <= MOST_KEYWORDS
    assert len(set(words)) == len(words)
    assert all(keyword(word).core for word in words)


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("port", "port = 1"),
        ("port", "open_port(9)"),
        ("port", "openPorts()"),
        ("port", "TCPPort"),
        ("port", "PORT_RANGE"),
        ("port", "porting it"),
        ("uploads", "def upload():"),
        ("uploads", "the uploader uploaded"),
        ("caching", "self.cache = {}"),
        ("policy", "retention policies"),
        ("policies", "policy.py"),
        ("sign-in", "sign_in()"),
        ("sign-in", "signIn()"),
        ("sign-in", "a sign in page"),
        ("class", "classes"),
        ("c++", "in c++ only"),
        ("größe", "die Größe"),
    ],
)
def test_a_word_is_found_in_its_forms(word: str, line: str) -> None:
    wanted = keyword(word)
    assert wanted.core in line.lower()
    assert wanted.pattern.search(line)


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("port", "import os"),
        ("port", "portable"),
        ("port", "report"),
        ("form", "platform"),
        ("text", "context"),
        ("store", "story"),
        ("policy", "police"),
        ("class", "classic"),
    ],
)
def test_a_word_is_not_found_inside_another(word: str, line: str) -> None:
    assert not keyword(word).pattern.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "from moot.workspace import survey",
        "import moot.survey as s",
        'import { look } from "./survey";',
        '} from "../survey.js"',
        "const s = require('./survey')",
        '#include "survey.h"',
        "use crate::survey::look;",
    ],
)
def test_a_line_that_imports_is_recognised(line: str) -> None:
    assert importing("survey").pattern.search(line)


@pytest.mark.parametrize(
    "line",
    ["survey.look(root)", "# the survey", "import survey_text", "import my-survey", "important: survey"],
)
def test_a_line_that_only_mentions_a_name_does_not_import_it(line: str) -> None:
    assert not importing("survey").pattern.search(line)


def test_dear_mistakes_are_known_by_their_words() -> None:
    assert risky_words("A Migration of passwords, and the migration of logs") == ("migration", "passwords")
    assert risky_words("Nicer colours") == ()


def test_a_megabyte_on_one_line_takes_no_time() -> None:
    line = "const a = " + "require('x') " * 80_000
    assert not importing("survey").pattern.search(line)
    assert not keyword("survey").pattern.search(line)
    assert keywords_of("a" * 1_000_000, "ab " * 300_000) == ()
