"""A reviewer sees what it may, writes one thing in one place, and is told what it can correct."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from moot.agents.protocol import TOOLS
from moot.changes import review_block, state_file
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.review_shapes import Appended, DispositionGiven, IssueGiven
from moot.changes.review_tools import ReviewInput, ReviewTools
from moot.errors import AlreadyThere, FileDamaged, LockTimeout, NotFound, StoreFailed, UnsafePath
from moot.files import atomic
from moot.files.layout import Workspace
from moot.llm.messages import ToolFault
from moot.repo.reading import MAX_CHARACTERS, MAX_LINES, FileContent, Listed, in_words, without_paths
from tests.files.test_paths import LINKS, hostile_paths

PROPOSAL = "# Add login\n\n## Summary\nUsers can log in.\n"
NOW = "2026-11-15T12:00:00Z"


def issue(severity: Any = "High", description: str = "No rate limit.") -> IssueGiven:
    return IssueGiven(
        severity=severity,
        description=description,
        location="proposal.md",
        recommendation="Add one.",
        quote="## Summary",
    )


class Bench:
    """A change in a workspace, the tools on it, and what they logged."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.change = root / "moot" / "changes" / "add-login"
        (self.change / "specs").mkdir(parents=True)
        (self.change / "proposal.md").write_text(PROPOSAL, encoding="utf-8")
        (self.change / "specs" / "login.md").write_text("# Login\n", encoding="utf-8")
        (root / "src").mkdir()
        (root / "src" / "app.py").write_text("print('hello')\n", encoding="utf-8")
        self.log: list[str] = []
        self.tools = self.another_run()

    @property
    def folder(self) -> ChangeFolder:
        return ChangeFolders(Workspace.at(self.root)).open("add-login")

    def another_run(self, run: str = "") -> ReviewTools:
        return ReviewTools(self.folder, self.root, lambda: NOW, self.log.append, run)

    def begin(self) -> ReviewTools:
        """Moot begins a run, and the reviewer has read everything."""
        self.tools = self.another_run(self.folder.begin_run("model", "gpt"))
        self.tools.give()
        return self.tools

    @property
    def proposal(self) -> str:
        return (self.change / "proposal.md").read_text(encoding="utf-8")


def numbered(text: str) -> str:
    return "\n".join(f"{at}| {line}" for at, line in enumerate(text.rstrip("\n").split("\n"), start=1))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# -- reading -------------------------------------------------------------------------------------


def test_a_file_of_the_change_is_read_whole(bench: Bench) -> None:
    assert bench.tools.read_file("proposal.md") == FileContent(
        path="proposal.md", text=numbered(PROPOSAL), offset=1, lines=4, next_offset=None, truncated=False
    )
    assert bench.tools.read_file("specs/login.md").text == "1| # Login"
    assert bench.log == ["read proposal.md, lines 1–4 of 4", "read specs/login.md, lines 1–1 of 1"]


def test_the_workspace_is_read_by_its_sign(bench: Bench) -> None:
    assert bench.tools.read_file("@/src/app.py").text == "1| print('hello')"
    assert bench.tools.read_file("@/moot/changes/add-login/proposal.md").lines == 4


def test_a_long_file_is_read_in_parts_that_join_to_the_whole(bench: Bench) -> None:
    lines = [f"line {number}" for number in range(1, 4501)]
    (bench.change / "long.md").write_text("\n".join(lines), encoding="utf-8")
    read: list[str] = []
    offset: int | None = 1
    sizes = []
    while offset is not None:
        part = bench.tools.read_file("long.md", offset)
        assert part.truncated == (part.next_offset is not None)
        sizes.append(part.text.count("\n") + 1)
        read.append(part.text)
        offset = part.next_offset
    assert sizes == [2000, 2000, 500]
    assert "\n".join(read) == "\n".join(f"{at:>4}| {line}" for at, line in enumerate(lines, start=1))


def test_a_part_can_be_asked_for(bench: Bench) -> None:
    part = bench.tools.read_file("proposal.md", offset=3, limit=1)
    assert (part.text, part.offset, part.next_offset, part.truncated) == ("3| ## Summary", 3, 4, True)


def test_a_part_holds_only_so_many_characters(bench: Bench) -> None:
    (bench.change / "wide.md").write_text("\n".join(["x" * 15_000] * 4), encoding="utf-8")
    part = bench.tools.read_file("wide.md")
    assert (part.text, part.next_offset) == (numbered("\n".join(["x" * 15_000] * 2)), 3)


def test_a_line_that_is_too_long_is_cut_and_said_to_be(bench: Bench) -> None:
    (bench.change / "one.md").write_text("x" * 100_000, encoding="utf-8")
    part = bench.tools.read_file("one.md")
    assert (len(part.text), part.next_offset, part.truncated) == (len("1| ") + MAX_CHARACTERS, None, True)


@pytest.mark.parametrize("ends", ["a\r\nb\r\n", "a\rb", "a\nb\n"])
def test_all_line_ends_are_line_ends(bench: Bench, ends: str) -> None:
    (bench.change / "ends.md").write_bytes(ends.encode())
    part = bench.tools.read_file("ends.md")
    assert (part.text, part.lines) == ("1| a\n2| b", 2)


def test_an_empty_file_has_no_lines(bench: Bench) -> None:
    (bench.change / "empty.md").touch()
    assert bench.tools.read_file("empty.md") == FileContent(
        path="empty.md", text="", offset=1, lines=0, next_offset=None, truncated=False
    )


def test_beyond_the_end_there_is_nothing_to_read(bench: Bench) -> None:
    with pytest.raises(ToolFault, match=r"'proposal.md' has 4 lines: offset=5 is behind its end"):
        bench.tools.read_file("proposal.md", offset=5)


def test_a_file_that_is_not_there_is_answered_with_those_that_are(bench: Bench) -> None:
    with pytest.raises(ToolFault) as caught:
        bench.tools.read_file("spec.md")
    assert str(caught.value) == (
        "There is no file 'spec.md'. The change has: proposal.md, specs/login.md. "
        "'@/…' reads the workspace's files."
    )
    assert bench.log == [f"was refused: {caught.value}"]


def test_five_million_bytes_are_read_and_one_more_is_refused(bench: Bench) -> None:
    big = bench.change / "big.md"
    big.write_bytes(b"x\n" * 2_500_000)
    assert bench.tools.read_file("big.md").lines == 2_500_000
    big.write_bytes(b"x\n" * 2_500_000 + b"x")
    with pytest.raises(ToolFault, match=r"'big\.md' is larger than 5 MB and cannot be read"):
        bench.tools.read_file("big.md")


def test_what_is_no_text_is_refused(bench: Bench) -> None:
    (bench.change / "image.png").write_bytes(b"\n\xff\xd8")
    with pytest.raises(ToolFault) as caught:
        bench.tools.read_file("image.png")
    assert str(caught.value) == "'image.png' is no UTF-8 text and cannot be read."


@pytest.mark.parametrize(
    "path",
    [
        "@/.env",
        "@/.env.local",
        "@/config/Secrets.yaml",
        "@/.git/config",
        "@/.GIT/config",
        "@/certs/server.pem",
        "@/deploy/id_rsa",
        "@/innocent.txt",
    ],
)
def test_what_is_private_is_not_sent_to_a_model(bench: Bench, path: str) -> None:
    for private in (
        ".env",
        ".env.local",
        "config/Secrets.yaml",
        ".git/config",
        "certs/server.pem",
        "deploy/id_rsa",
    ):
        file = bench.root / private
        file.parent.mkdir(exist_ok=True)
        file.write_text("secret", encoding="utf-8")
    (bench.root / "innocent.txt").symlink_to(".env")
    with pytest.raises(ToolFault, match=r"is private and cannot be read"):
        bench.tools.read_file(path)
    assert ".env" not in [entry.name for entry in bench.tools.list_directory("@").entries]


# -- listing -------------------------------------------------------------------------------------


def test_folders_of_the_change_and_of_the_workspace_are_listed(bench: Bench) -> None:
    own = (Listed(name="proposal.md", kind="file"), Listed(name="specs", kind="folder"))
    assert bench.tools.list_directory().entries == own
    assert bench.tools.list_directory("").entries == own
    assert bench.tools.list_directory("specs").entries == (Listed(name="login.md", kind="file"),)
    assert bench.tools.list_directory("@").entries == (
        Listed(name="moot", kind="folder"),
        Listed(name="src", kind="folder"),
    )
    assert bench.tools.list_directory("@/src").entries == (Listed(name="app.py", kind="file"),)


def test_what_moot_itself_keeps_in_a_change_is_not_shown(bench: Bench) -> None:
    (bench.change / ".proposal.md.moot-lock").touch()
    assert [entry.name for entry in bench.tools.list_directory().entries] == ["proposal.md", "specs"]


def test_a_crowded_folder_is_listed_in_part(bench: Bench) -> None:
    crowd = bench.root / "crowd"
    crowd.mkdir()
    for number in range(1001):
        (crowd / f"{number:04}").touch()
    listing = bench.tools.list_directory("@/crowd")
    assert (len(listing.entries), listing.truncated) == (1000, True)


def test_a_file_is_no_folder(bench: Bench) -> None:
    with pytest.raises(ToolFault, match="it is not a folder"):
        bench.tools.list_directory("proposal.md")
    with pytest.raises(ToolFault, match="There is no folder 'spec'"):
        bench.tools.list_directory("spec")


# -- confinement ---------------------------------------------------------------------------------

CHANGE_MARK, WORKSPACE_MARK = "outside-of-the-change", "outside-of-the-workspace"
"""What is written outside, and a name that is listed there."""


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Every kind of link, in the change and in the workspace, beside a folder that must not be reached."""
    base = tmp_path_factory.mktemp("trapped")
    root = base / "workspace"
    root.mkdir()
    bench = Bench(root)
    for place in (bench.change, root):
        outside = place.parent / "outside"
        outside.mkdir()
        mark = CHANGE_MARK if place is bench.change else WORKSPACE_MARK
        (outside / "secret.txt").write_text(mark, encoding="utf-8")
        (outside / mark).touch()
        for folder in ("sub/deep", "a/b"):
            (place / folder).mkdir(parents=True)
        for name in ("plain.txt", "sub/plain.txt"):
            (place / name).write_text("plain", encoding="utf-8")
        for name, leads_to in LINKS.items():
            (place / name).symlink_to(leads_to.replace("ROOT", str(place)))
    return bench


@settings(max_examples=1000, deadline=None)
@given(relative=hostile_paths)
def test_no_hostile_path_shows_what_is_outside_or_where_the_machine_keeps_things(
    trapped: Bench, relative: str
) -> None:
    for path in (relative, f"@/{relative}"):
        for tool in (trapped.tools.read_file, trapped.tools.list_directory):
            try:
                seen = str(tool(path))
            except ToolFault as fault:
                seen = str(fault)
            assert WORKSPACE_MARK not in seen
            assert "root:" not in seen
            assert str(trapped.root) not in seen
            # What is outside the change is inside the workspace, and may be seen from there.
            assert CHANGE_MARK not in seen or path.startswith("@")


def test_a_change_swapped_for_a_link_shows_nothing(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "proposal.md").write_text("secret", encoding="utf-8")
    bench.change.rename(tmp_path / "away")
    bench.change.symlink_to(outside)
    with pytest.raises(ToolFault, match="outside the folder"):
        bench.tools.read_file("proposal.md")


# -- appending -----------------------------------------------------------------------------------


def test_a_review_is_appended_and_nothing_else_is_touched(bench: Bench) -> None:
    bench.begin()
    before = set(bench.root.rglob("*"))
    done = bench.tools.append_review("NEEDS_REVISION", [issue(), issue("Low", "A typo.")], " Not yet. ")
    assert done == Appended(verdict="NEEDS_REVISION", high=1, medium=0, low=1)
    assert bench.proposal == PROPOSAL + (
        "\n<!-- review:start -->\n## Review\n\n**Verdict**: NEEDS_REVISION\n\n### Issues\n\n#### Issue 1\n"
        "- **Id**: I1\n- **Severity**: High\n- **Description**: No rate limit.\n- **Location**: proposal.md\n"
        "- **Quote**: ## Summary\n- **Recommendation**: Add one.\n\n#### Issue 2\n- **Id**: I2\n"
        "- **Severity**: Low\n- **Description**: A typo.\n- **Location**: proposal.md\n"
        "- **Quote**: ## Summary\n- **Recommendation**: Add one.\n\n### Summary\nNot yet.\n\n"
        f"**Reviewed**: {NOW}\n<!-- review:end -->\n"
    )
    assert set(bench.root.rglob("*")) == before
    assert bench.log == ["appended NEEDS_REVISION: 1 High, 0 Medium, 1 Low"]


@pytest.mark.parametrize(
    ("verdict", "issues", "summary", "reason"),
    [
        ("APPROVED", [issue()], "Fine.", "APPROVED is not possible with a High issue"),
        ("NEEDS_REVISION", [], "No.", "NEEDS_REVISION needs a High issue or at least two Medium issues"),
        ("NEEDS_REVISION", [issue("Medium")], "No.", "at least two Medium issues"),
        ("REJECTED", [issue("Low")], "No.", "REJECTED needs a High issue"),
        ("APPROVED", [], " \n", "the summary is missing"),
        ("REJECTED", [issue(description="  ")], "No.", "issue 1 has no description"),
        ("APPROVED", [], "Fine.\x1b[2J", r"the summary contains the control character U\+001B"),
        ("REJECTED", [issue(description="a\0b")], "No.", r"issue 1 contains the control character U\+0000"),
    ],
)
def test_a_contradiction_is_refused_with_its_reason(
    bench: Bench, verdict: Any, issues: list[IssueGiven], summary: str, reason: str
) -> None:
    bench.begin()
    with pytest.raises(ToolFault, match=rf"The review was not appended: .*{reason}"):
        bench.tools.append_review(verdict, issues, summary)
    assert bench.proposal == PROPOSAL


def test_all_reasons_are_given_at_once(bench: Bench) -> None:
    bench.begin()
    with pytest.raises(ToolFault) as caught:
        bench.tools.append_review("APPROVED", [issue(), issue("Low", "")], "")
    assert str(caught.value) == (
        "The review was not appended: APPROVED is not possible with a High issue: lower its severity or the "
        "verdict; the summary is missing; issue 2 has no description."
    )


def test_a_run_makes_one_review(bench: Bench) -> None:
    """Whatever the second says, and whoever asks in its name: another process of the same run, too."""
    bench.begin().append_review("NEEDS_REVISION", [issue()], "Not yet.")
    once = bench.proposal
    [record] = bench.folder.state().reviews or ()
    again = bench.another_run(record.run)
    for tools in (bench.tools, again):
        tools.give()
        for verdict, issues in (("NEEDS_REVISION", [issue()]), ("APPROVED", [])):
            with pytest.raises(ToolFault, match="a run makes one review, and this one has made its own"):
                tools.append_review(verdict, issues, "I was wrong.")  # type: ignore[arg-type]
    assert bench.proposal == once
    fixed = DispositionGiven(id="I1", state="fixed", evidence="It has a limit.")
    bench.begin().append_review("APPROVED", [], "Now it is.", dispositions=[fixed])
    verdicts = [review_block.read(block).verdict for block in review_block.blocks(bench.proposal)]
    assert verdicts == ["NEEDS_REVISION", "APPROVED"]


def test_a_review_outside_of_a_run_is_refused(bench: Bench) -> None:
    bench.tools.give()
    begin = r"moot has begun no review of it here\. Start it with `moot challenge add-login`"
    with pytest.raises(ToolFault, match=begin):
        bench.tools.append_review("APPROVED", [], "Fine.")
    over = bench.begin()
    later = bench.begin()
    with pytest.raises(ToolFault, match=begin):
        over.append_review("APPROVED", [], "Fine.")
    bench.folder.update_state(state_file.end_run)
    with pytest.raises(ToolFault, match=begin):
        later.append_review("APPROVED", [], "Fine.")
    assert bench.proposal == PROPOSAL


def test_a_review_of_what_was_not_read_is_refused(bench: Bench) -> None:
    (bench.change / "tasks.md").write_text("".join(f"- [ ] {n}\n" for n in range(3000)), encoding="utf-8")
    tools = bench.another_run(bench.folder.begin_run("model", "gpt"))

    def refused() -> str:
        with pytest.raises(ToolFault) as caught:
            tools.append_review("APPROVED", [], "Fine.")
        return str(caught.value)

    assert "Read with read_file: proposal.md, specs/login.md, tasks.md." in refused()
    tools.read_file("proposal.md")
    tools.read_file("@/moot/changes/add-login/specs/login.md")
    tools.read_file("tasks.md")
    assert "Read with read_file: tasks.md (from line 2001)." in refused()
    tools.read_file("tasks.md", 2001)
    (bench.change / "specs" / "login.md").write_text("# Login for all\n", encoding="utf-8")
    assert "specs/login.md (it has changed since you read it)" in refused()
    tools.read_file("specs/login.md")
    assert tools.append_review("APPROVED", [], "Fine.").verdict == "APPROVED"


def test_a_review_that_could_not_be_written_can_be_appended_later(bench: Bench) -> None:
    bench.begin()
    (bench.change / "proposal.md").rename(bench.root / "away.md")
    with pytest.raises(ToolFault, match=r"the change has no proposal\.md any more"):
        bench.tools.append_review("APPROVED", [], "Fine.")
    (bench.root / "away.md").rename(bench.change / "proposal.md")
    assert bench.tools.append_review("APPROVED", [], "Fine.").verdict == "APPROVED"


def test_a_change_that_is_deleted_in_the_middle_stays_deleted(bench: Bench) -> None:
    bench.begin()
    shutil.rmtree(bench.change)
    with pytest.raises(ToolFault, match=r"Change 'add-login' not found\."):
        bench.tools.append_review("APPROVED", [], "Fine.")
    with pytest.raises(ToolFault, match="The change's folder is not there any more"):
        bench.tools.read_file("proposal.md")
    assert not bench.change.exists()


def test_a_disk_that_refuses_is_told_without_its_path(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", source, None, target)

    bench.begin()
    monkeypatch.setattr(atomic.disk, "rename", refuse)
    with pytest.raises(ToolFault) as caught:
        bench.tools.append_review("APPROVED", [], "Fine.")
    assert str(caught.value) == "The file cannot be used: permission denied."
    assert bench.proposal == PROPOSAL


@pytest.mark.parametrize(
    ("written", "meant"), [("needs revision", "NEEDS_REVISION"), ("**Approved**", "APPROVED")]
)
def test_a_verdict_is_taken_as_it_is_meant(written: str, meant: str) -> None:
    given = ReviewInput.model_validate({"verdict": written, "issues": [], "summary": "x"})
    assert given.verdict == meant


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("severity", "Critical", "'Critical' is none of High, Medium, Low"),
        ("severity", 7, "Input should be 'High', 'Medium' or 'Low'"),
        ("description", "x" * 4001, "at most 4000 characters"),
    ],
)
def test_a_field_outside_its_bounds_is_refused(field: str, value: object, problem: str) -> None:
    fields = {"severity": "high", "description": "x", "location": "y", "recommendation": "z", field: value}
    with pytest.raises(ValidationError, match=problem):
        IssueGiven.model_validate(fields)


# -- in process ----------------------------------------------------------------------------------


def call(bench: Bench, name: str, **arguments: object) -> str:
    tool = next(tool for tool in bench.tools.tools() if tool.name == name)
    return asyncio.run(tool.run(tool.takes.model_validate_json(json.dumps(arguments))))  # type: ignore[arg-type]


def test_a_model_in_this_process_has_the_same(bench: Bench) -> None:
    assert tuple(tool.name for tool in bench.tools.tools()) == TOOLS
    assert call(bench, "list_directory") == "proposal.md\nspecs/"
    assert call(bench, "read_file", path="proposal.md") == numbered(PROPOSAL)
    assert call(bench, "read_file", path="proposal.md", offset=1, limit=1) == (
        "1| # Add login\n\n[lines 1–1 of 4; go on with offset=2]"
    )
    bench.begin()
    appended = call(bench, "append_review", verdict="approved", issues=[], summary="Fine.")
    assert appended == "Appended: APPROVED, 0 High, 0 Medium, 0 Low."
    assert review_block.verdict(bench.proposal) == "APPROVED"
    with pytest.raises(ToolFault, match="a run makes one review"):
        call(bench, "append_review", verdict="APPROVED", issues=[], summary="Fine.")


def test_nothing_to_show_is_said(bench: Bench) -> None:
    (bench.change / "empty").mkdir()
    (bench.change / "empty.md").touch()
    assert call(bench, "list_directory", path="empty") == "(empty)"
    assert call(bench, "read_file", path="empty.md") == "(empty)"


def test_schemas_name_the_words_that_are_taken(bench: Bench) -> None:
    schema = bench.tools.tools()[-1].spec().schema
    assert schema["properties"]["verdict"]["enum"] == ["APPROVED", "NEEDS_REVISION", "REJECTED"]
    assert schema["required"] == ["verdict", "issues", "summary"]
    assert bench.tools.tools()[0].spec().schema["properties"]["limit"]["maximum"] == MAX_LINES


def test_a_reviewer_looks_things_up_in_the_workspace_and_what_was_read_is_kept_with_the_review(
    bench: Bench,
) -> None:
    root = bench.root
    bench.begin()
    (root / "src" / "shop.py").write_text("def price():\n    return 1\n", encoding="utf-8")
    (root / ".env").write_text("price = sk-live-1\n", encoding="utf-8")
    for path in ("@", "@/src", "src", "."):
        assert (
            call(bench, "search", text="def price", path=path).splitlines()[1]
            == "src/shop.py:1: def price():"
        )
    assert "sk-live" not in call(bench, "search", text="price")
    with pytest.raises(ToolFault, match="not allowed"):
        call(bench, "search", text="price", path="@/../..")
    with pytest.raises(ToolFault, match="Git has no history"):
        call(bench, "git_log")
    with pytest.raises(ToolFault, match="no such commit"):
        call(bench, "git_diff", commit="abcd1234")
    assert call(bench, "read_file", path="@/src/shop.py", offset=2) == "2|     return 1"
    call(bench, "append_review", verdict="APPROVED", issues=[], summary="Fine.")
    [made] = bench.folder.reviews()
    assert made.record.looked_at == (
        "proposal.md 1–4",
        "specs/login.md 1–1",
        "lines with “def price”",
        "lines with “def price” in src",
        "lines with “price”",
        "@/src/shop.py 2–2",
    )


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            FileDamaged("/home/me/project/moot/changes/x/STATE.yaml", "is no YAML", 3),
            "moot/changes/x/STATE.yaml, line 3: is no YAML; a person has to repair it.",
        ),
        (
            StoreFailed("sqlite:////home/me/moot.sqlite3", "disk full"),
            "the sessions cannot be used: disk full.",
        ),
        (
            LockTimeout("/var/elsewhere/proposal.md", 10),
            "proposal.md is held by another process (waited 10 s).",
        ),
        (
            AlreadyThere("change", "x", Path("/home/me/project/moot/changes/x")),
            "Change 'x' already exists: moot/changes/x.",
        ),
        (NotFound("change", "x", ("a", "b")), "Change 'x' not found. There is: a, b."),
        (NotFound("change", "x"), "Change 'x' not found."),
        (UnsafePath("/etc/passwd", "it is absolute"), "path '/etc/passwd' is not allowed: it is absolute."),
        (PermissionError(13, "Permission denied", "/x/y"), "The file cannot be used: permission denied."),
    ],
)
def test_errors_in_words_name_no_place_of_the_machine(error: Any, words: str) -> None:
    assert in_words(error, Path("/home/me/project")) == words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("and/or, 1/2", "and/or, 1/2"),
        ("see http://127.0.0.1:8/a/b", "see http://127.0.0.1:8/a/b"),
        ("weights in '/opt/models/a.gguf' do not load", "weights in 'a.gguf' do not load"),
        ("(/usr/lib/x/)", "()"),
    ],
)
def test_only_paths_of_the_machine_are_shortened(text: str, left: str) -> None:
    assert without_paths(text, Path("/home/me/project")) == left
