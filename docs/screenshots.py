"""Takes the pictures in the documentation: `make screenshots`. A real server and a real browser; the words
come from a stub model, so that the pictures are the same every time."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import FilePayload, Page, sync_playwright

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import running_stub
from tests.support.server import serving
from tests.support.speaker import speaker

IMAGES = Path(__file__).parent / "images"

DECISION = (
    "We are a team of nine with a billing service that everybody is afraid to touch. Should we rewrite it this "
    "quarter, while our largest customer's contract is up for renewal in March?"
)
INCIDENTS = """# Billing incidents, last twelve months

| date | what happened | cause |
|---|---|---|
| 14 January | 31 invoices in the wrong currency | a rate was read twice |
| 2 March | a credit was paid out two times | renewal and credit met in one run |
| 19 May | invoices a day late | the queue stood still |
| 8 August | a credit was lost | renewal and credit met in one run |
| 30 October | VAT of the old rate | a table that nobody owns |

Nobody could say beforehand what the service was to do when a renewal
and a credit meet. It is written down nowhere.
"""
CONTRACT = """4.2 Invoices keep their form and their numbering until the end of the term.
4.3 The customer is told of every change to billing thirty days before it.
"""
VIEWS = {
    "The Devil's Advocate": (
        "The assumption is that the fear is about the code. Nobody has checked that.\n\nSuppose it is false. Suppose "
        "people are afraid because nobody can say what the service is supposed to do when a renewal and a credit "
        'meet in one invoice: two of five incidents were that [E1:6, 8], and it "is written down nowhere" '
        "[E1:11-12]. Then a rewrite carries the same ignorance into newer syntax, and it does "
        "so in the quarter in which your largest customer looks at every line.\n\nIt failed. The report has one "
        "sentence on why: the old system was the only specification, and it was switched off.\n\nGranted, the present "
        "state is expensive. That leaves the order of things. Show me the list of behaviours that the new service must "
        "reproduce, written by somebody who did not write the old one, with twenty real invoices that prove it. If "
        "that list exists by the end of next week, I withdraw the objection."
    ),
}
OTHERS = (
    "Not this quarter, and not as a rewrite. The renewal in March is the move that everything else waits for; do "
    "nothing before it that the customer could notice.\n\nMove one edge out first, the one that changes most often, "
    "and let it run beside the old one until the numbers agree for a whole month. What would change my mind is a "
    "clause in the new contract that the old service cannot meet."
)
REPLY = (
    "Granted. Twenty invoices that agree are worth more than my doubt about the specification.\n\nThat leaves the "
    "calendar. The test you describe ends in February, and the renewal is in March. One bad invoice in that gap costs "
    "more than the quarter saves. Run it on the four smallest customers until the signature is dry."
)
BRIEF = {
    "consensus": {
        "areas": [
            "Nothing that the largest customer could notice should change before the renewal in March.",
            "What the present service does has to be written down before any of it is replaced.",
            "The part that changes most often should move first, beside the old one.",
        ],
        "strength": "strong",
    },
    "tensions": [
        {
            "between": ["The Devil's Advocate", "The Visionary"],
            "issue": "Whether the old service is a specification worth keeping, or the thing to be freed from.",
            "implication": "Decide which behaviours are promises to customers, and which are only habits.",
        },
        {
            "between": ["The Pragmatist", "The Analyst"],
            "issue": "Whether a month of agreeing invoices is evidence enough.",
            "implication": "Set the number of invoices, and who may call it sufficient, before the month begins.",
        },
    ],
    "blindSpots": [
        "Nobody asked what the two engineers who know the service want to do next year.",
        "All assumed that the largest customer's invoices are typical.",
    ],
    "recommendation": {
        "summary": (
            "Do not rewrite the service this quarter: the renewal forbids what a rewrite would change [E2:1]. Write down "
            "what it does, move its most often changed edge out beside it, and decide on the rest after the renewal."
        ),
        "confidence": "moderate",
        "conditions": [
            "Twenty real invoices agree between old and new for one whole month.",
            "The renewal contains no clause that the old service cannot meet.",
            "Two people, not one, can explain every line of the list.",
        ],
    },
}
QUESTIONS = {
    "questions": [
        {"question": "What happened the last time somebody changed it?", "hint": "an incident, or a name"},
        {
            "question": "Which clause of the renewal could the present service not meet?",
            "hint": "a number, a date",
        },
        {"question": "Who can explain an invoice line by line today?", "hint": "names"},
    ]
}


SETTINGS = "region: eu-west-1\nqueue: billing\nkey: " + "AKIA" + "IOSFODNN7EXAMPLQ\n"


def _answer(request: Recorded) -> Behaviour:
    if request.schema is not None:
        asked_for: Any = QUESTIONS if "questions" in request.schema["properties"] else BRIEF
        return Behaviour(json_text=json.dumps(asked_for))
    if "agree to the cent" in request.said:
        return Behaviour(text=REPLY)
    return Behaviour(text=VIEWS.get(speaker(request), OTHERS))


def _present(page: Page, url: str) -> None:
    """As far as what goes along."""
    page.goto(f"{url}/new")
    page.locator("textarea").fill(DECISION)
    files: list[FilePayload] = [
        {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
        for name, text in (
            ("incidents.md", INCIDENTS),
            ("contract.txt", CONTRACT),
            ("deploy.env.txt", SETTINGS),
        )
    ]
    page.locator("input[type=file]").set_input_files(files)
    page.locator(".offers-sum", has_text="2 items").wait_for()
    page.locator(".foretold").wait_for()


def _session(page: Page) -> None:
    page.get_by_text("Continue", exact=True).click()
    page.locator(".questions textarea").first.wait_for()
    page.get_by_text("Convene the Board").click()
    page.locator(".challenge textarea").wait_for()
    page.locator(".challenge textarea").fill(
        "We re-ran twenty of last year's invoices by hand. They agree to the cent. Does that change your mind?"
    )
    page.keyboard.press("Control+Enter")
    page.get_by_text("Brief out of date").first.wait_for()


@contextmanager
def _folder() -> Iterator[Path]:
    """Of a user who has said what the stub's tokens cost: nobody else knows."""
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name) / "config" / "moot" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('[prices."openai:gpt-5.6"]\ninput = 2.5\noutput = 10\n', encoding="utf-8")
        yield Path(name)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No Chromium was found: install it, then try again.")
    IMAGES.mkdir(exist_ok=True)
    with (
        _folder() as folder,
        running_stub() as stub,
        serving(folder, stub) as server,
        sync_playwright() as playwright,
    ):
        stub.default = _answer
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(
            viewport={"width": 1280, "height": 1120}, color_scheme="light", reduced_motion="reduce"
        ).new_page()
        _present(page, server.url)
        page.screenshot(path=IMAGES / "evidence.png", full_page=True)
        _session(page)
        page.mouse.move(0, 0)
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=IMAGES / "advisor.png")
        page.get_by_text("Brief out of date").first.click()
        page.locator(".recommendation").wait_for()
        page.emulate_media(color_scheme="dark")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=IMAGES / "brief.png")
        browser.close()


if __name__ == "__main__":
    main()
