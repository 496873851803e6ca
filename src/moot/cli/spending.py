"""`moot spending`: what models have cost, by day, session and model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moot.cli.running import DatabaseOption, JsonOption, run

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.store.ledger import Line


def spending(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Show what models have cost: by day, and of today by session and model."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        report = await moot.spending()
        if as_json:
            screen.show_json({name: [_as_json(line) for line in lines] for name, lines in report.items()})
            return 0
        titles = {"days": "By day (UTC)", "sessions": "Today, by session", "models": "Today, by model"}
        for name, lines in report.items():
            if lines:
                screen.show(f"{titles[name]}:")
            for line in lines:
                screen.show(f"  {_shown(line)}")
        if not report["days"]:
            screen.say("Nothing was spent so far.")
        return 0

    run(command, database=database, as_json=as_json)


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
