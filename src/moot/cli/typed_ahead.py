"""What is typed while no prompt reads from the terminal, or was refused: nothing of it is lost, and a line
can interrupt.

Knows the terminal and the editor's keys. Refuses to know what a line means, and whether it was taken: what
was not is typed once more at the next prompt of the same step.
"""

from __future__ import annotations

import asyncio
import os
import select
from typing import TYPE_CHECKING, Any

from moot.core.runner import UserQuit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_toolkit.key_binding import KeyPress

    from moot.core.flow import AskPerson

_CTRL_D = "\x04"
_WORTH_EDITING = 60
"""Characters; fewer are sooner typed again."""
A_SCREENFUL = 1_000


class TypedAhead:
    def __init__(self) -> None:
        self._kept: list[KeyPress] = []
        self._kept_for = ""
        self._worked = False
        self.typed = ""
        """What was answered last."""

    def works(self) -> None:
        """Something is being said or done that the person has to see before they decide what comes next."""
        self._worked = True

    def refused(self, problem: str | None) -> str:
        """What stands in the line already where the last answer was not taken: many words, to be edited. A
        few are sooner typed again."""
        return self.typed if problem and len(self.typed) >= _WORTH_EDITING else ""

    async def line(self, ask: AskPerson) -> str:
        """The next that says something. Raises Left at Ctrl-D."""
        from prompt_toolkit.application.current import get_app_session
        from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
        from prompt_toolkit.keys import Keys

        terminal = get_app_session().input
        while True:
            keys = get_typeahead(terminal)
            ends = [at for at, key in enumerate(keys) if key.key in (Keys.ControlM, Keys.ControlD)]
            if not ends:
                store_typeahead(terminal, keys)
                await _readable(terminal.fileno())
                _read(terminal)
                continue
            line, rest = keys[: ends[0] + 1], keys[ends[0] + 1 :]
            store_typeahead(terminal, rest)
            text = "".join(key.data for key in line[:-1])
            if line[-1].key == Keys.ControlD:
                raise UserQuit
            if text.strip():
                self._kept, self._kept_for = [*self._kept, *line], ask.step
                return text

    def before_menu(self) -> None:
        """Just before a menu is shown. Where something was waited for, what was typed until now stands in the
        line and is not sent: who typed it had not seen what is asked, where a letter may mean anything."""
        from prompt_toolkit.application.current import get_app_session
        from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead

        worked, self._worked = self._worked, False
        terminal = get_app_session().input
        if worked and os.isatty(terminal.fileno()):
            _read(terminal)
            store_typeahead(terminal, _unsent(get_typeahead(terminal)))

    def hand_over(self, ask: AskPerson) -> None:
        """Just before a prompt reads: what came in the meantime is what is typed first."""
        from prompt_toolkit.application import get_app
        from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead

        terminal = get_app().input
        kept, self._kept = self._kept, []
        if kept and ask.step == self._kept_for:
            store_typeahead(terminal, [*kept, *get_typeahead(terminal)])
        if os.isatty(terminal.fileno()):
            _read(terminal)


def _unsent(keys: Sequence[KeyPress]) -> list[KeyPress]:
    """What only writes, with its lines; Ctrl-D, which leaves, is heard whenever it was typed."""
    from prompt_toolkit.key_binding import KeyPress
    from prompt_toolkit.keys import Keys

    written: list[KeyPress] = []
    for key in keys:
        if key.key == Keys.ControlM:
            written.append(KeyPress(Keys.ControlJ, "\n"))
        elif len(key.key) == 1 or key.key in (Keys.ControlD, Keys.BracketedPaste):
            written.append(key)
    while written and written[-1].key == Keys.ControlJ:
        del written[-1]
    return written


def _read(terminal: Any) -> None:
    """All lines that wait. A terminal turns Enter into a line feed for as long as no prompt reads from it:
    here it is an Enter again, not Ctrl-J."""
    from prompt_toolkit.input.typeahead import store_typeahead
    from prompt_toolkit.input.vt100_parser import Vt100Parser

    keys: list[KeyPress] = []
    parser = Vt100Parser(keys.append)
    typed = True
    while typed and select.select([terminal.fileno()], [], [], 0)[0]:
        # A line at a time; nothing at all is Ctrl-D.
        line = os.read(terminal.fileno(), 2**16).decode("utf-8", "replace")
        parser.feed(line.replace("\n", "\r") or _CTRL_D)
        parser.flush()
        typed = bool(line)
    store_typeahead(terminal, keys)


async def _readable(terminal: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal)
