"""The model that comes with moot is warned of wherever its words are read, in the same words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moot.app import Options, opened
from moot.board.flow import BOARD
from moot.board.service import is_tiny
from moot.mcp.deliberating import board_out
from moot.text.small_model import SMALL_MODEL
from tests.stub.server import running_stub
from tests.support.board_session import events, keep
from tests.support.command import environment, moot
from tests.support.server import serving


@pytest.mark.parametrize(("model", "times"), [("local", 1), ("openai:gpt-x", 0)])
def test_every_export_and_the_brief_alone_warn_of_it_over_http(
    tmp_path: Path, model: str, times: int
) -> None:
    session_id = keep(tmp_path, events(model=model))
    with running_stub() as stub, serving(tmp_path, stub, "--no-open") as server:
        for query in ("format=md", "format=html", "format=json", "format=md&part=brief"):
            answer = server.get(f"/api/board/sessions/{session_id}/export?{query}")
            assert answer.status_code == 200, answer.text
            assert answer.text.count(SMALL_MODEL) == times, query


def test_the_terminal_s_brief_warns_of_it(tmp_path: Path) -> None:
    session_id = keep(tmp_path, events(model="local"))
    (tmp_path / "answers.yaml").write_text("- b\n", encoding="utf-8")
    ended = moot(
        "board", "--resume", session_id, "--answers", "answers.yaml", env=environment(tmp_path), cwd=tmp_path
    )
    assert ended.out.index(SMALL_MODEL) < ended.out.index("Wait for spring.")


def test_a_board_over_mcp_warns_of_it(tmp_path: Path) -> None:
    state = BOARD.fold(events(model="local"))

    async def known() -> bool:
        async with opened(Options(workspace=tmp_path), environment(tmp_path)) as found:
            return is_tiny(found, state.model)

    assert asyncio.run(known())
    assert board_out("s-1", state, tmp_path, views=False, tiny=True).warning == SMALL_MODEL
    assert board_out("s-1", state, tmp_path, views=False, tiny=False).warning is None


def test_no_other_place_has_words_of_its_own_for_it() -> None:
    root = Path(__file__).parents[2]
    files = [*(root / "src" / "moot").rglob("*.py"), *(root / "web" / "src").rglob("*.ts*")]
    having = [file.name for file in files if "acting on" in file.read_text(encoding="utf-8")]
    assert sorted(having) == ["small_model.py", "wire.generated.ts"]
