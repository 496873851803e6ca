"""How hard a reviewer thinks, by the complexity of the change, unless the person's own settings say."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from moot.agents import find
from moot.config import parse
from moot.errors import ProviderFailed
from tests.support.change import Change
from tests.support.fake_agents import Fake, Run, a_job


def started(fake: Fake, name: str, home: Path) -> dict[str, object]:
    reviewer = find(name, {**fake.env, "HOME": str(home)})
    assert reviewer is not None
    number = fake.times_started
    with pytest.raises(ProviderFailed):
        asyncio.run(reviewer.review(replace(a_job(home), effort="high"), lambda _: None))
    return fake.started(number)


def test_codex_thinks_as_hard_as_it_is_told(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", Run())
    assert 'model_reasoning_effort="high"' in str(started(fake, "codex", tmp_path)["arguments"])
    (tmp_path / ".codex").mkdir()
    own = 'model_reasoning_effort = "low"\n'
    (tmp_path / ".codex" / "config.toml").write_text(own, encoding="utf-8")
    assert "model_reasoning_effort" not in str(started(fake, "codex", tmp_path)["arguments"])


def test_claude_thinks_as_hard_as_it_is_told(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", Run())
    assert '"CLAUDE_CODE_EFFORT_LEVEL": "high"' in json.dumps(started(fake, "claude", tmp_path)["env"])
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"effortLevel": "low"}', encoding="utf-8")
    assert "CLAUDE_CODE_EFFORT_LEVEL" not in json.dumps(started(fake, "claude", tmp_path)["env"])


def test_every_complexity_has_an_effort_that_a_person_can_change() -> None:
    levels = ("low", "medium", "high", "critical")
    for engine in (parse("", "x").codex, parse("", "x").claude):
        assert [engine.efforts.select(level) for level in levels] == ["low", "medium", "high", "high"]
    changed = parse('[codex.efforts]\nlow = ""\ncritical = "xhigh"\n', "x").codex.efforts
    assert [changed.select(level) for level in levels] == ["", "medium", "high", "xhigh"]


@pytest.mark.parametrize("name", ["codex", "claude"])
@pytest.mark.parametrize(("tasks", "effort"), [(3, "low"), (4, "medium"), (10, "high"), (20, "high")])
def test_a_challenge_says_how_hard_to_think_without_any_setting(
    name: str, tasks: int, effort: str, tmp_path: Path
) -> None:
    """One specification and so many boxes."""
    change = Change("moot", tmp_path)
    change.repository_says("[workflow]\nscript_retries = 0\n")
    change.write("tasks.md", "".join(f"- [ ] Task {number}\n" for number in range(tasks)))
    fake = Fake(tmp_path, name, Run())
    change.env["PATH"] = f"{fake.program.parent}:{change.env['PATH']}"
    assert change.run("challenge", "feat-auth", "--engine", name).code == 1
    seen = fake.started()
    if name == "codex":
        assert f'model_reasoning_effort="{effort}"' in seen["arguments"]
    else:
        assert seen["env"]["CLAUDE_CODE_EFFORT_LEVEL"] == effort
