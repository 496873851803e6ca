"""`moot spending`: what models have cost, by day, session and model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moot.cli import screen
from moot.cli.command import JsonOption, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.store.ledger import Line


@command("database")
async def spending(moot: Moot, as_json: JsonOption = False) -> None:
    """Show what models have cost: by day, and of today by session and model."""
    report = await moot.spending()
    if as_json:
        screen.show_json({name: [_as_json(line) for line in lines] for name, lines in report.items()})
        return
    titles = {"days": "By day (UTC)", "sessions": "Today, by session", "models": "Today, by model"}
    for name, lines in report.items():
        if lines:
            screen.show(f"{titles[name]}:")
        for line in lines:
            screen.show(f"  {_shown(line)}")
    if not report["days"]:
        screen.say("Nothing spent so far.")


def _shown(line: Line) -> str:
    notes = []
    if line.estimated:
        notes.append(f"${line.estimated_nano_usd / 1e9:.4f} estimated, of replies that did not end")
    if line.unpriced:
        notes.append(f"{line.unpriced} of unknown price")
    told = f" ({'; '.join(notes)})" if notes else ""
    counted = f"{line.requests} requests, {line.tokens_in} + {line.tokens_out} tokens"
    return f"${line.nano_usd / 1e9:.4f}  {line.name or '(no session)'}: {counted}{told}"


def _as_json(line: Line) -> dict[str, Any]:
    return {
        "name": line.name,
        "requests": line.requests,
        "inputTokens": line.tokens_in,
        "outputTokens": line.tokens_out,
        "costUsd": line.nano_usd / 1e9,
        "estimatedRequests": line.estimated,
        "estimatedCostUsd": line.estimated_nano_usd / 1e9,
        "unpricedRequests": line.unpriced,
    }
