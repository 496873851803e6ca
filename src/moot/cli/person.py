"""The person at a terminal: asked at menus, words of several lines, help, and a key that goes back.

Knows how a menu looks and which keys edit. What a choice means, the flow decides.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from moot.cli import menu_lines, screen
from moot.cli.desk import HELP as HELP_OF_THE_DESK
from moot.cli.failures import refusal
from moot.cli.screen import wrapped
from moot.cli.typed_ahead import A_SCREENFUL, TypedAhead
from moot.core.runner import UserQuit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.flow import AskPerson

HELP, BACK = "?", "back"
_LONGEST_LABEL = 1_000
_CHOOSING = (
    "Type a letter or a number, then Enter. Small letters do as well, and so does the first word of a line. "
    "Words can follow at once: `D question 2 makes no sense`, `1 PostgreSQL`."
)
_EDITING = "Alt-Enter (or Ctrl-J) begins a new line; what you paste keeps its lines."
_GOING_BACK = "The left arrow in an empty line goes back."
_LEAVING = "Ctrl-D leaves; everything that was complete is saved."
_STEPS = {
    "idea": "What you have in mind. The brainstormer assesses it, and you decide how much design it needs.",
    "uncommitted": "These files have changes that are not committed, and that are not of this workflow. To "
    "keep them apart from what is built, have them stashed, or stop and commit them. A new branch takes them "
    "along.",
    "triage": "How much design does the idea need? Agree with the assessment, or choose another level; with "
    "it, the batches and splits that are shown are confirmed. Discuss them first if they look wrong.",
    "questions": "Answer any of them, in any order: `1 your words`, or `1 2` for the second option of the "
    "first; answer again to change an answer. Done leaves what is open to the brainstormer.",
    "answer": "Your own words, or the number of an option.",
    "approaches": "Pick one by its number. Discuss to have them combined or changed.",
    "design": "Approve what is shown, or have it revised. Approving the last part ends the brainstorm: then "
    "it is written down, and the batches are planned, reviewed and built. Write waits before that.",
    "design-document": "The document binds whoever plans, reviews and builds. Edit it in any editor, save, "
    "and go on.",
    "comment": "Your words go where you wanted them, with the conversation so far.",
    "verdict": "The reviewer does not approve the plan. Have it revised once more, with your own wishes if "
    "you like, or stop and look at the change yourself.",
    "plan": "A reviewer has approved the plan, and nothing has been built of it yet. Approve it, have it "
    "revised or discuss it first, or go back: what you then change is planned and reviewed again.",
    "open-tasks": "A task failed, or nobody was there to do it. Retry tells the agent what failed; Comment "
    "adds your words. Skip leaves the task open and goes on. Roll back undoes what it changed, and your "
    "own edits since. Or do it by hand, tick its box in tasks.md, and retry.",
    "reassess": "A batch is done, and the workspace was looked at again. What is said to be left is a "
    "proposal until you go on.",
    "next": "Workflows that were split off wait in the queue, in order. Merge does what `moot archive` "
    "does with each change that was built.",
    "failed": "Nothing is lost: what failed can be tried again as often as you like.",
    "roundtable": "Say something to everyone, or begin with a name. An empty line listens on; `done` ends "
    "the discussion, also while somebody speaks.",
}


class TerminalPerson:
    """Ctrl-D leaves anywhere; Ctrl-C interrupts. An empty line is an answer where one is offered, and leaves
    what may be left."""

    def __init__(self) -> None:
        self._prompt: Any = None
        self._ask: AskPerson | None = None
        self._typed_ahead = TypedAhead()

    @property
    def typing(self) -> str:
        """What stands in the line."""
        return "" if self._prompt is None else str(self._prompt.default_buffer.text)

    def works(self) -> None:
        self._typed_ahead.works()

    async def answer(self, ask: AskPerson, problem: str | None) -> str:
        self._ask = ask
        if self._prompt is None:
            self._prompt = self._editor()
        self._typed_ahead.before_menu()
        screen.say()
        if problem:
            screen.say(refusal(problem))
        self._show(ask)
        may_be_empty = menu_lines.may_be_empty(ask)
        refused = self._typed_ahead.refused(problem)
        # Where the words push the reason off the screen, it stands below them.
        self._prompt.bottom_toolbar = refusal(problem) if problem and len(refused) > A_SCREENFUL else None
        while True:
            typed = self._typed_ahead.typed = await self._typed(ask, refused)
            refused = ""
            if typed.strip() == HELP:
                self._help(ask)
            elif typed.strip() or may_be_empty:
                return typed
            elif ask.optional:
                raise UserQuit

    async def interrupt(self, ask: AskPerson, problem: str | None) -> str:
        if problem:
            screen.say(refusal(problem))
        return await self._typed_ahead.line(ask)

    async def _typed(self, ask: AskPerson, beginning: str) -> str:
        def ahead() -> None:
            self._typed_ahead.hand_over(ask)

        try:
            return str(await self._prompt.prompt_async(default=beginning, pre_run=ahead))
        except EOFError:
            raise UserQuit from None
        except KeyboardInterrupt:
            raise UserQuit(interrupted=True) from None

    # -- what is shown -----------------------------------------------------------------------

    def _show(self, ask: AskPerson) -> None:
        asked = _first_capital(menu_lines.asked(ask))
        if not asked.endswith(("?", ".", "!", ")")):
            asked += "?" if asked.startswith("What") else ":"
        screen.say(wrapped(asked), "bold")
        for key, label in menu_lines.shown(ask):
            self._line(key, label)
        if ask.hint:
            screen.say(f"  {ask.hint}", "dim")
        leave = "Enter" if ask.optional and not menu_lines.may_be_empty(ask) else "Ctrl-D"
        screen.say(f"  {leave} leaves, ? helps", "dim")

    def _line(self, key: str, label: str) -> None:
        mark = f"  [{key or 'Enter'}] "
        label = " ".join(label.split())
        shown = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
        screen.say(f"{mark}{wrapped(shown, len(mark)).lstrip()}")

    def _help(self, ask: AskPerson) -> None:
        if ask.step in _STEPS:
            screen.say(wrapped(_STEPS[ask.step]))
        for line in _keys(ask):
            screen.say(wrapped(line), "dim")
        screen.say()
        self._show(ask)

    # -- editing -----------------------------------------------------------------------------

    def _editor(self) -> Any:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.output import create_output

        keys = KeyBindings()

        @keys.add("enter")
        def submit(event: Any) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        @keys.add("c-j")
        def new_line(event: Any) -> None:
            event.current_buffer.newline(copy_margin=False)

        @keys.add("left", filter=Condition(self._can_go_back))
        def back(event: Any) -> None:
            assert self._ask is not None
            event.current_buffer.text = menu_lines.key_of(self._ask, BACK)
            event.current_buffer.validate_and_handle()

        return PromptSession(
            "> ",
            output=create_output(sys.stderr),
            multiline=True,
            key_bindings=keys,
            prompt_continuation="  ",
        )

    def _can_go_back(self) -> bool:
        if self._ask is None or self.typing:
            return False
        return menu_lines.key_of(self._ask, BACK) is not None


def _keys(ask: AskPerson) -> Iterator[str]:
    """Those that do something here."""
    if ask.choices:
        yield _CHOOSING
    yield _EDITING
    if menu_lines.key_of(ask, BACK) is not None:
        yield _GOING_BACK
    yield HELP_OF_THE_DESK
    yield _LEAVING


def _first_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
