from __future__ import annotations

import pytest
from hypothesis import given, settings

from moot.changes import prompts
from moot.changes.tasks import Task, tasks, tick
from moot.errors import InvalidInput
from tests.support.hostile_markdown import Nasty, documents, soup

TEXT = """\
# Tasks

- [ ] first
  on two lines
  * [x] nested
    1. [X] deeper
+ [ ] `plus`
12) [ ] numbered
- - [ ] list in a list
- [ ] outer - [ ] same line
- [ ] [ ] twice

```
- [ ] in a fence
```

    - [ ] in indented code

> - [ ] quoted

- [y] no box
- [ ]no space
-[ ] no item
[ ] no list
"""


def test_tasks_are_found_in_every_kind_of_list_and_nowhere_else() -> None:
    assert tasks(TEXT) == (
        Task(3, False, "first on two lines"),
        Task(5, True, "nested"),
        Task(6, True, "deeper"),
        Task(7, False, "`plus`"),
        Task(8, False, "numbered"),
        Task(9, False, "list in a list"),
        Task(10, False, "outer - [ ] same line"),
        Task(11, False, "[ ] twice"),
    )


def test_a_task_that_is_no_paragraph_has_the_rest_of_its_line_as_text() -> None:
    assert tasks("- [ ] # loud\n- [ ] - [x] inner\n") == (
        Task(1, False, "# loud"),
        Task(2, False, "- [x] inner"),
    )


def test_front_matter_and_line_endings_shift_no_line() -> None:
    assert tasks("\ufeff---\r\na:\r\n- [ ] no\r\n---\r\n- [ ] yes\r\n") == (Task(5, False, "yes"),)


def test_ticking_changes_one_character() -> None:
    assert tick("a\r\n\r\n1. - [ ]  x [ ]\r\n", 3) == "a\r\n\r\n1. - [x]  x [ ]\r\n"


@pytest.mark.parametrize("line", [0, 1, 5, 15, 17, 19, 21, 99])
def test_only_an_open_task_can_be_ticked(line: int) -> None:
    with pytest.raises(InvalidInput, match=f"line {line} is not an open task"):
        tick(TEXT, line)


@settings(max_examples=100, deadline=None)
@given(documents())
def test_boxes_in_code_comments_and_quotes_are_never_tasks(document: Nasty) -> None:
    assert sum(not task.done for task in tasks(document.text)) == document.open_tasks


@settings(max_examples=200, deadline=None)
@given(soup)
def test_every_open_task_of_any_text_can_be_ticked_and_then_is_done(text: str) -> None:
    before = tasks(text)
    for task in before:
        if task.done:
            continue
        ticked = tick(text, task.line)
        assert len(ticked) == len(text)
        assert sum(old != new for old, new in zip(text, ticked, strict=True)) == 1
        assert [other.done or other.line == task.line for other in before] == [
            other.done for other in tasks(ticked)
        ]


def test_a_coding_agent_is_told_what_others_do_before_and_after() -> None:
    listed = tasks("- [x] first\n- [ ] second\n- [ ] third\n- [x] fourth\n")
    told = prompts.task("x", "moot/changes/x", listed, 2, "")
    assert "\n\nAlready done, by others or by you:\n- first\n\n" in told
    assert "\n\nNot yours, because it is done after this:\n- third\n\n" in told
    alone = prompts.task("x", "moot/changes/x", listed[1:2], 1, "")
    assert "Already done" not in alone
    assert "Not yours" not in alone
