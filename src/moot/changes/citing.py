"""What a change's files cite of its evidence, and what of that is not there: for whoever checks, drafts and
reviews it.

Refuses to know whether what is cited bears out what is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from moot.changes import binding, history
from moot.changes.folder import ChangeFolder
from moot.changes.proposal import Finding
from moot.evidence import citations
from moot.llm.messages import Source, Weight


def not_found(folder: ChangeFolder, texts: Mapping[str, str]) -> Iterator[Finding]:
    evidence = binding.read(folder.design() or "").evidence
    if not evidence:
        # Brackets of the person's own are no citations where there is nothing to cite.
        return
    for name, text in texts.items():
        for one in citations.unverified(text, evidence):
            line = text.count("\n", 0, one.start) + 1
            yield Finding(name, line, "warning", f"cites what is not there: {citations.in_words(one)}")


def tell_not_found(folder: ChangeFolder, tell: Callable[[str], None]) -> None:
    for one in not_found(folder, history.plain(folder)):
        tell(f"{one.file}:{one.line}: {one.message}")


def sources(folder: ChangeFolder) -> tuple[Source, ...]:
    """For whoever reads the files."""
    found = [f"- {one.file}:{one.line}: {one.message}" for one in not_found(folder, history.plain(folder))]
    if not found:
        return ()
    told = "The program has looked up what the files cite of the evidence. Nothing can rest on this:"
    text = "\n".join(("<not-found>", told, *found, "</not-found>"))
    return (Source("what is cited and not there", text, Weight.DEPENDED_ON),)
