from __future__ import annotations

import tomllib

import pytest

from moot.text import toml

BOMBS = {
    "a name of many parts": (".".join("a" * 20_000) + " = 1\n", "more than 200 dots in one line (at line 1)"),
    "a table of many parts": (f"x = 1\n[{'.'.join('a' * 20_000)}]\n", "in one line (at line 2)"),
    "behind a text": ('x = ["""\n\' """, {' + ".".join(['"a"'] * 20_000) + " = 1}]\n", "(at line 2)"),
    "nested arrays": (f"x = {'[' * 5000}{']' * 5000}\n", "it is nested too deeply"),
    "nested tables": (f"x = {'{a = ' * 5000}1{'}' * 5000}\n", "it is nested too deeply"),
    "a number": (f"x = {'9' * 5000}\n", "a number in it has too many digits"),
    "much": ("x = 1\n" + "#\n" * 2**17, "it is larger than 256 KB"),
}
"""Each takes the parser minutes, or ends it with another error than its own."""


@pytest.mark.parametrize(("text", "said"), BOMBS.values(), ids=BOMBS)
def test_what_would_take_minutes_or_a_stack_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        toml.parse(text)
    assert said in str(refused.value)


def test_everything_else_is_read_as_ever() -> None:
    text = 'a.b."c.d" = [1.5, "x. y. z."]\n[t]\nn = 0xff\n'
    assert toml.parse(text) == tomllib.loads(text)
    with pytest.raises(tomllib.TOMLDecodeError, match="at line 1"):
        toml.parse("a b")
