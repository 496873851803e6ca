"""The diff that is to be reviewed: of uncommitted work, of what is staged, of a branch or a range, or a patch
that somebody hands over.

Knows git's words for them. What is private, or has a secret in it, is left out aloud: it would go to a
provider. Refuses to know how much a reviewer takes: see llm/context.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from moot.changes import review_block
from moot.changes.folder import DESIGN, PROPOSAL, SPECS, TASKS
from moot.diffs import patch as patches
from moot.diffs.patch import FileDiff, Patch
from moot.errors import GitRefused, InvalidInput, NotFound
from moot.repo import git
from moot.repo.secrets import is_private
from moot.text.characters import strip_controls
from moot.text.secrets import find_secrets

CONTEXT = 8
"""Lines around each change: enough to see what it is in, and little enough to keep the change in sight."""

MOST_COMMITS = 50
"""Whose messages a reviewer is told."""

MOST_PLANS = 50
"""Files of one plan."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """`what` says which diff it is, in words; `left_out` what nobody is to see of it, and why; `intent` what
    its commits say it is for."""

    what: str
    patch: Patch
    left_out: tuple[str, ...] = ()
    intent: str = ""


def of_text(text: str, what: str = "the patch that was handed over") -> Gathered:
    """Raises PatchInvalid where it is none, and InvalidInput where all of it has to be left out."""
    patch = patches.parse(text)
    left_out: dict[str, str] = {}
    for file in patch.files:
        if why := _why_left_out(patch, file):
            left_out[file.path] = why
    kept = patches.without(
        patch, {name for file in patch.files if file.path in left_out for name in _names(file)}
    )
    if left_out and not kept.files:
        raise InvalidInput("diff", f"nothing of {what} can be shown to a reviewer: {', '.join(left_out)}")
    twice = Counter(file.path for file in kept.files)
    series = [
        f"{path}: changed {count} times in this patch, and lines are counted after each change by itself"
        for path, count in twice.items()
        if count > 1
    ]
    binary = [f"{file.path}: binary, only its name is shown" for file in kept.files if file.binary]
    return Gathered(what, kept, (*(f"{name}: {why}" for name, why in left_out.items()), *binary, *series))


def of_plan(text: str, name: str) -> Gathered:
    """A plan, as a diff that adds it: what is found in it has its line, too."""
    called = PurePath(name).name or "plan.md"
    return _added({called: text}, f"the plan in {name}" if name else "the plan that was handed over")


def _added(plans: Mapping[str, str], what: str) -> Gathered:
    added = []
    for name, text in plans.items():
        rows = check_plan(text).removesuffix("\n").split("\n")
        added.append(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(rows)} @@\n")
        added += (f"+{row}\n" for row in rows)
    return Gathered(what, patches.parse("".join(added)))


def of_plan_at(place: Path) -> Gathered:
    """A file, or a folder of them, such as that of a change."""
    if not place.is_dir():
        return of_plan(_read(place), str(place))
    return _added(_files_of_plan(place), f"the plan in {place}")


def read_plan(place: Path) -> str:
    """The same, for what is held against it."""
    if not place.is_dir():
        return check_plan(_read(place))
    files = _files_of_plan(place).items()
    return "\n\n".join(f'<file name="{name}">\n{check_plan(text).strip()}\n</file>' for name, text in files)


def _files_of_plan(folder: Path) -> dict[str, str]:
    """Of a change, what a review of it is of; of any other folder, its Markdown."""
    if (folder / PROPOSAL).is_file():
        names = [*filter(lambda name: (folder / name).is_file(), (DESIGN, PROPOSAL))]
        names += sorted(f"{SPECS}/{path.name}" for path in (folder / SPECS).glob("*.md"))
        names += [TASKS] if (folder / TASKS).is_file() else []
    else:
        found = (path.relative_to(folder) for path in sorted(folder.rglob("*.md")) if path.is_file())
        names = [path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)]
    if not names:
        raise InvalidInput("--plan", f"there is no Markdown file in {folder}")
    if len(names) > MOST_PLANS:
        raise InvalidInput(
            "--plan", f"{folder} has {len(names)} Markdown files: name one, or a smaller folder"
        )
    texts = {name: _read(folder / name) for name in names}
    return {name: text for name, text in texts.items() if text.strip()}


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        raise NotFound("file", str(path)) from None


def check_plan(text: str) -> str:
    """The plan, where it may go to a provider, without reviews of it: whoever reviews it now is not to hear
    what others said. What is in it nobody would leave out: it is read whole."""
    if not text.strip():
        raise InvalidInput("--plan", "is empty")
    if secrets := find_secrets(text):
        raise InvalidInput(
            "--plan", f"line {secrets[0].line} looks like {secrets[0].kind}: take it out first"
        )
    return f"{review_block.outside(text).rstrip()}\n" if review_block.blocks(text) else text


def _names(file: FileDiff) -> set[str]:
    return {name for name in (file.old, file.new) if name}


def _why_left_out(patch: Patch, file: FileDiff) -> str:
    if any(is_private(name) for name in _names(file)):
        return "private"
    secrets = find_secrets(patch.text_of(file))
    if not secrets:
        return ""
    first = secrets[0]
    starts = [line.at for line in file.lines]
    at = bisect_right(starts, file.at + first.line - 1) - 1
    line = file.lines[at] if at >= 0 else None
    where = f"line {line.new or line.old}" if line else "its header"
    return f"{where} looks like {first.kind}"


def of_workspace(root: Path, base: str = "", *, staged: bool = False) -> Gathered:
    """Without a base, what is not committed; with one, what was done since HEAD left it, committed or not.
    `A..B` is from one to the other, `A...B` from where B left A. New files count unless git ignores them."""
    if not git.line(root, "rev-parse", "--git-dir"):
        raise InvalidInput(
            "diff", "git has nothing to say here: give a patch, as in `git diff | moot challenge --diff -`"
        )
    first, dots, last = base.partition("...") if "..." in base else base.partition("..")
    if dots and staged:
        raise InvalidInput("--staged", f"is no part of {base}")
    if dots:
        one, other = _commit(root, first), _commit(root, last)
        start = _fork(root, one, other, base) if dots == "..." else one
        gathered = _between(root, f"the changes in {base}", start, other)
        return replace(gathered, intent=_intent(root, start, other))
    what = "what is staged" if staged else "the work that is not committed"
    start = git.commit_of(root, "HEAD") or git.empty_tree(root)
    if base:
        what = f"{what if staged else 'all changes'} since {base}"
        start = _fork(root, _commit(root, base), _commit(root, ""), base)
    intent = _intent(root, start, _commit(root, "")) if base else ""
    if staged:
        return replace(_between(root, what, "--cached", start), intent=intent)
    tree = git.snapshot(root)
    if tree is None:
        raise GitRefused("it cannot say what the folder is now; `git status` may say why")
    return replace(_between(root, what, start, tree), intent=intent)


def _intent(root: Path, after: str, until: str) -> str:
    """Nothing, where it has a secret in it."""
    said = strip_controls(git.messages(root, after, until, MOST_COMMITS))
    return "" if find_secrets(said) else said


def _commit(root: Path, name: str) -> str:
    found = git.commit_of(root, name or "HEAD")
    if not found:
        raise NotFound("branch, tag or commit", name or "HEAD")
    return found


def _fork(root: Path, one: str, other: str, base: str) -> str:
    found = git.merge_base(root, one, other)
    if not found:
        problem = "has no commit in common with HEAD here: in a shallow clone, fetch more of the history"
        raise InvalidInput("diff", f"{base} {problem}")
    return found


def _between(root: Path, what: str, *ends: str) -> Gathered:
    found = git.difference(root, *ends, context=CONTEXT)
    if found is None:
        raise GitRefused(f"it cannot show {what}, or not in full")
    return of_text(found.decode("utf-8", "replace"), what)
