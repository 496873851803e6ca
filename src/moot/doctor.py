"""What `moot doctor` finds: each thing that moot needs or could use, its state, and how to better it.

Looks, and changes nothing: it calls no model and creates no file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moot.agents.login import LOG_IN, is_logged_in
from moot.errors import MootError, NotInstalled
from moot.extras import EXTRAS
from moot.processes import find_program
from moot.text.small_model import BETTER_MODEL, CONNECTED_MODEL

if TYPE_CHECKING:
    from moot.app import Moot

ANOTHER_MODEL = "Fix that, or choose another model with --model or MOOT_MODEL."
ELSEWHERE = "Choose another place with --database or MOOT_DATABASE."


@dataclass(frozen=True, slots=True)
class Finding:
    """`good` is false only where something has to be fixed before moot works as asked; `there` where
    something is missing that may be."""

    what: str
    good: bool
    found: str
    advice: str = ""
    there: bool = True


async def examine(moot: Moot) -> list[Finding]:
    return [
        await _model(moot),
        *await _other_models(moot),
        _workspace(moot),
        _personas(moot),
        await _sessions(moot),
        await _reviewer(moot, "codex", "npm install -g @openai/codex"),
        await _reviewer(moot, "claude", "npm install -g @anthropic-ai/claude-code"),
        *_missing_extras(),
    ]


async def _model(moot: Moot) -> Finding:
    try:
        used = await moot.model_in_use()
    except NotInstalled as error:
        return Finding("model", False, str(error), CONNECTED_MODEL)
    except MootError as error:
        return Finding("model", False, str(error), ANOTHER_MODEL)
    if used.weights is None:
        return Finding("model", True, f"{used.name} (chosen by: {used.reason})")
    kind = "built in and tiny" if used.tiny else "local"
    return Finding(
        "model", True, f"{used.name}, {kind}: {Path(used.weights).name} ({used.reason})", BETTER_MODEL
    )


async def _other_models(moot: Moot) -> list[Finding]:
    """Roles and personas that speak through another model than the rest."""
    try:
        usual = (await moot.model_in_use()).name
        speakers = moot.other_speakers()
    except MootError:
        return []  # Said by the findings on the model, the workspace or the personas.
    findings = []
    for speaker in speakers:
        who = speaker.persona or speaker.role
        try:
            used = await moot.model_in_use(speaker)
        except MootError as error:
            findings.append(Finding(who, False, str(error), "Fix that wish, or take it back."))
        else:
            if used.name != usual:
                findings.append(Finding(who, True, f"{used.name} (chosen by: {used.reason})"))
    return findings


def _workspace(moot: Moot) -> Finding:
    try:
        moot.config  # noqa: B018
    except MootError as error:
        return Finding("workspace", False, str(error), "Fix the file; nothing else was read from it.")
    there = [str(f) for f in (moot.workspace.config_file, moot.user_config_file) if f.is_file()]
    settings = f"settings: {', '.join(there)}" if there else f"yours would be {moot.user_config_file}"
    return Finding("workspace", True, f"{moot.workspace.root} ({settings})")


def _personas(moot: Moot) -> Finding:
    try:
        library = moot.library
    except MootError as error:
        return Finding("personas", False, str(error), "Fix the file, or move it away.")
    if library.faults:
        faults = "; ".join(str(fault) for fault in library.faults.values())
        return Finding("personas", False, faults, "Fix the file, or move it away.")
    own = [p for p in library.personas if p.source.is_relative_to(moot.workspace.personas)]
    yours = f", {len(own)} of them from this workspace" if own else ""
    return Finding("personas", True, f"{len(library.personas)}{yours}; {len(library.panels)} panels")


async def _sessions(moot: Moot) -> Finding:
    file = moot.database_file
    if file is not None and not file.exists():
        return _new_database(file)
    try:
        count = await (await moot.store()).count()
    except MootError as error:
        return Finding("sessions", False, str(error), ELSEWHERE)
    return Finding("sessions", True, f"{count} in {file or 'the configured database'}")


def _new_database(file: Path) -> Finding:
    """Whether the file could be made, without making it."""
    folder = next(parent for parent in file.parents if parent.exists())
    if os.access(folder, os.W_OK):
        return Finding("sessions", True, f"none yet; they will be kept in {file}")
    return Finding(
        "sessions",
        False,
        f"{folder} cannot be written",
        ELSEWHERE,
    )


def _missing_extras() -> list[Finding]:
    """Parts that were left out when moot was installed. One that is needed now is said to be by what needs
    it."""
    return [
        Finding(
            extra.name,
            True,
            f"not installed (only needed {extra.purpose})",
            f"To have it: {extra.install}",
            there=False,
        )
        for extra in EXTRAS
        if not extra.is_installed
    ]


async def _reviewer(moot: Moot, command: str, install: str) -> Finding:
    """Reviewers are welcome guests, not a need."""
    path = find_program(command, moot.env)
    if path:
        logged_in = await is_logged_in(command, moot.env)
        if logged_in is False:
            return Finding(command, True, f"{path}, not logged in", f"To use it: {LOG_IN[command]}")
        return Finding(command, True, f"{path}, logged in" if logged_in else path)
    why = "not installed (only needed as a reviewer)"
    return Finding(command, True, why, f"To have it: {install}", there=False)
