"""A scan says what is in the workspace, where, and how much that probably is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.repo import scan as scanning
from moot.repo import search
from moot.repo.listing import Mention
from moot.repo.scan import Hit, Impact, Scan, as_markdown, impact, quick_scan


def put_file(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    put_file(tmp_path, "pyproject.toml", '[project]\nname = "shop"\nscripts = {shop = "shop.cli:main"}\n')
    put_file(tmp_path, "README.md", "# Shop\nThe basket has a discount.\n")
    put_file(tmp_path, "shop/cli.py", "from shop import basket\n\nbasket.discount()\n")
    put_file(tmp_path, "shop/basket.py", "def total():\n    ...\n\ndef discount():\n    ...\n")
    put_file(tmp_path, "shop/stock.py", "from shop.basket import total\n")
    put_file(tmp_path, "shop/colours.py", "RED = 1\n")
    put_file(tmp_path, "tests/test_basket.py", "from shop import basket\n\ndef test_discount(): ...\n")
    return tmp_path


# -- the quick scan ------------------------------------------------------------------------------


def test_a_scan_tells_what_was_found_and_where(shop: Path) -> None:
    assert quick_scan(shop, "Discounts in the basket", "") == Scan(
        files=7,
        capped=False,
        by_suffix=((".py", 5), (".md", 1), (".toml", 1)),
        keywords=("discounts", "basket"),
        hits=(
            Hit("discounts", 4, 4, False, ("README.md", "shop/basket.py", "shop/cli.py",
                                           "tests/test_basket.py")),
            Hit("basket", 4, 5, False, ("shop/cli.py", "README.md", "shop/stock.py",
                                        "tests/test_basket.py")),
        ),
        entry_points=("shop = shop.cli:main (pyproject.toml)", "shop/cli.py"),
        likely=("shop/cli.py", "shop/basket.py", "tests/test_basket.py"),
        likely_count=3,
        estimate="small",
        risk="low",
        risky_words=(),
        proposed_depth="brief",
        citations=(
            Mention("README.md", 2, "The basket has a discount.", "basket"),
            Mention("shop/basket.py", 4, "def discount():", "discounts"),
            Mention("shop/cli.py", 1, "from shop import basket", "basket"),
            Mention("shop/cli.py", 3, "basket.discount()", "discounts"),
            Mention("shop/stock.py", 1, "from shop.basket import total", "basket"),
            Mention("tests/test_basket.py", 1, "from shop import basket", "basket"),
            Mention("tests/test_basket.py", 3, "def test_discount(): ...", "discounts"),
        ),
    )  # fmt: skip


def test_a_word_in_the_name_of_a_file_counts_as_one_in_the_file(tmp_path: Path) -> None:
    put_file(tmp_path, "basket.py", "discount\n")
    put_file(tmp_path, "other.py", "discount\n")
    put_file(tmp_path, "third.py", "basket\n")
    assert quick_scan(tmp_path, "Discounts in the basket", "").likely == ("basket.py",)


def test_words_that_are_nowhere_are_told_as_such(shop: Path) -> None:
    scan = quick_scan(shop, "Telemetry", "")
    assert scan.hits == (Hit("telemetry", 0, 0, False, ()),)
    assert (scan.likely, scan.estimate, scan.citations) == ((), "small", ())
    assert "- `telemetry`: not found" in as_markdown(scan)


def test_an_empty_workspace_is_a_small_matter(tmp_path: Path) -> None:
    scan = quick_scan(tmp_path, "Discounts", "")
    assert (scan.files, scan.estimate, scan.proposed_depth) == (0, "small", "brief")


@pytest.mark.parametrize(
    ("files", "estimate", "depth"),
    [
        (5, "small", "brief"),
        (6, "medium", "standard"),
        (20, "medium", "standard"),
        (21, "large", "deep"),
    ],
)
def test_the_depth_follows_from_how_many_files_are_concerned(
    tmp_path: Path, files: int, estimate: str, depth: str
) -> None:
    for number in range(files):
        put_file(tmp_path, f"src/m{number:02}.py", "basket.discount()\n")
    scan = quick_scan(tmp_path, "Discounts in the basket", "")
    assert (scan.likely_count, scan.estimate, scan.proposed_depth) == (files, estimate, depth)
    assert len(scan.likely) == min(files, scanning.MOST_FILES)


@pytest.mark.parametrize(
    ("description", "risk", "depth"),
    [
        ("nicer", "low", "brief"),
        ("for the payment", "medium", "standard"),
        ("a migration of each password", "high", "deep"),
    ],
)
def test_dear_mistakes_ask_for_more_depth_than_the_size(
    shop: Path, description: str, risk: str, depth: str
) -> None:
    scan = quick_scan(shop, "Colours", description)
    assert (scan.estimate, scan.risk, scan.proposed_depth) == ("small", risk, depth)


def test_a_word_that_is_everywhere_chooses_no_file(tmp_path: Path) -> None:
    for number in range(40):
        put_file(tmp_path, f"src/m{number:02}.py", "basket\n")
    put_file(tmp_path, "src/m07.py", "basket\ndiscount\n")
    put_file(tmp_path, "src/m08.py", "basket\ncoupon\ndiscount\n")
    scan = quick_scan(tmp_path, "Basket discount coupon", "")
    assert [hit.common for hit in scan.hits] == [True, False, False]
    assert scan.likely == ("src/m08.py",)


def test_where_all_words_are_common_they_have_to_do(tmp_path: Path) -> None:
    for number in range(15):
        put_file(tmp_path, f"src/a{number:02}.py", "basket discount\n")
        put_file(tmp_path, f"src/b{number:02}.py", "basket\n")
    scan = quick_scan(tmp_path, "Basket discount", "")
    assert (scan.likely_count, scan.likely[0], scan.estimate) == (15, "src/a00.py", "medium")


def test_prose_counts_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    put_file(tmp_path, "notes.md", "The basket has a discount.\n")
    assert quick_scan(tmp_path, "Basket discount", "").likely == ("notes.md",)
    put_file(tmp_path, "shop.py", "basket.discount()\n")
    assert quick_scan(tmp_path, "Basket discount", "").likely == ("shop.py",)


def test_a_scan_does_not_find_what_an_analysis_has_written(shop: Path) -> None:
    before = quick_scan(shop, "Discounts in the basket", "")
    put_file(shop, "moot/items/discounts/quick-scan.md", as_markdown(before))
    put_file(shop, "moot/items/discounts/session.jsonl", '{"basket": "discount"}\n')
    assert quick_scan(shop, "Discounts in the basket", "") == before


def test_citations_are_few_and_of_every_word_before_more_of_any(tmp_path: Path) -> None:
    words = ["basket", "discount", "coupon", "voucher", "invoice", "parcel", "courier", "customs"]
    for number in range(9):
        put_file(tmp_path, f"m{number}.py", "\n".join(words) + "\n")
    scan = quick_scan(tmp_path, " ".join(words), "")
    assert len(scan.citations) == search.MOST_CITATIONS == 24
    assert {mention.word for mention in scan.citations} == set(words)
    assert {mention.file for mention in scan.citations} == {"m0.py", "m1.py", "m2.py"}


# -- the impact ----------------------------------------------------------------------------------


@pytest.fixture
def looked(shop: Path) -> Impact:
    return impact(shop, quick_scan(shop, "Discounts in the basket", ""), ["the total", "discount"])


def test_a_line_with_several_words_is_one_line(tmp_path: Path) -> None:
    text = "def basket_discount(basket, discount):\n    total = basket\n    return total\n# discount total\n"
    (tmp_path / "shop.py").write_text(text, encoding="utf-8")
    scan = quick_scan(tmp_path, "Discount on the basket total", "")
    (touched,) = impact(tmp_path, scan, []).touched
    assert (touched.lines, touched.length) == (4, 4)


def test_an_impact_names_files_with_their_tests_and_imports(looked: Impact) -> None:
    assert looked.words == ("total", "discount", "basket")
    assert looked.count == 4
    assert [(each.file, each.lines, each.length, each.imported_by) for each in looked.touched] == [
        ("shop/basket.py", 2, 5, 3),
        ("shop/cli.py", 2, 3, None),
        ("shop/stock.py", 1, 1, 0),
        ("tests/test_basket.py", 2, 3, None),
    ]
    assert [each.tests for each in looked.touched] == [("tests/test_basket.py",), (), (), ()]
    assert looked.touched[0].first == (
        Mention("shop/basket.py", 1, "def total():", "total"),
        Mention("shop/basket.py", 4, "def discount():", "discount"),
    )


def test_an_impact_names_the_entry_points_that_lead_there_and_tests(looked: Impact) -> None:
    assert looked.entry_points == ("shop = shop.cli:main (pyproject.toml)", "shop/cli.py")
    assert looked.tests == ("tests/test_basket.py",)


def test_an_entry_point_elsewhere_is_not_named(shop: Path) -> None:
    put_file(shop, "package.json", '{"bin": {"other": "./bin/other.js", "shop": "./bin/shop.js"}}')
    put_file(shop, "bin/shop.js", "basket.discount()\n")
    put_file(shop, "bin/other.js", "colours()\n")
    found = impact(shop, quick_scan(shop, "Discounts in the basket", ""), [])
    assert "shop = ./bin/shop.js (package.json)" in found.entry_points
    assert "other = ./bin/other.js (package.json)" not in found.entry_points


def test_what_is_untested_is_a_risk(looked: Impact) -> None:
    assert looked.risk_notes == ("No test is named after `shop/cli.py`, `shop/stock.py`.",)


def test_delicate_long_and_often_imported_files_are_risks(tmp_path: Path) -> None:
    put_file(tmp_path, "src/auth/basket.py", "basket\ndiscount\n" + "x\n" * 800)
    put_file(tmp_path, "tests/test_basket.py", "import basket\n")
    for number in range(10):
        put_file(tmp_path, f"src/user{number}.py", "import basket\n")
    found = impact(tmp_path, quick_scan(tmp_path, "Discounts", ""), [])
    assert found.risk_notes == (
        "`src/auth/basket.py`: it decides who may do what.",
        "`src/auth/basket.py`: 11 other files import it.",
        "`src/auth/basket.py`: 802 lines long.",
    )


def test_an_impact_that_is_too_large_to_list_says_so(tmp_path: Path) -> None:
    for number in range(30):
        put_file(tmp_path, f"src/module{number:02}.py", "basket.discount()\n")
    found = impact(tmp_path, quick_scan(tmp_path, "Basket discount", ""), [])
    assert (found.count, len(found.touched)) == (30, 25)
    assert found.risk_notes == (
        "30 files may be concerned; only the 25 likeliest were looked at closely.",
        "No test is named after "
        + ", ".join(f"`src/module{number:02}.py`" for number in range(10))
        + " and 15 more.",
    )


# -- telling -------------------------------------------------------------------------------------


def test_a_scan_is_told_in_lists_with_citations(shop: Path) -> None:
    (shop / "README.md").unlink()
    (shop / "tests" / "test_basket.py").unlink()
    assert (
        as_markdown(quick_scan(shop, "Discounts in the basket", "for each payment"))
        == """\
**Estimate**

- Size: small (2 files likely concerned)
- Risk by the words of the description: medium (payment)
- Proposed depth: standard
- Looked at: 5 files: 4 `.py`, 1 `.toml`

**Keywords**

- `discounts`: 2 files, 2 lines; most in `shop/basket.py`, `shop/cli.py`
- `basket`: 2 files, 3 lines; most in `shop/cli.py`, `shop/stock.py`
- `payment`: not found

**Files likely concerned**

- `shop/cli.py`
- `shop/basket.py`

**Entry points**

- `shop = shop.cli:main (pyproject.toml)`
- `shop/cli.py`

**Citations**

- `shop/basket.py:4` `def discount():`
- `shop/cli.py:1` `from shop import basket`
- `shop/cli.py:3` `basket.discount()`
- `shop/stock.py:1` `from shop.basket import total`
"""
    )


def test_an_impact_is_told_in_lists_with_citations(looked: Impact) -> None:
    assert (
        as_markdown(looked)
        == """\
**Looked for**

- `total`, `discount`, `basket`: 4 files likely concerned

**Files touched by mention**

- `shop/basket.py`: 2 lines of 5, imported by 3 files; `shop/basket.py:1` `def total():`
- `shop/cli.py`: 2 lines of 3; `shop/cli.py:1` `from shop import basket`
- `shop/stock.py`: 1 line of 1, imported by 0 files; `shop/stock.py:1` `from shop.basket import total`
- `tests/test_basket.py`: 2 lines of 3; `tests/test_basket.py:1` `from shop import basket`

**Entry points that lead there**

- `shop = shop.cli:main (pyproject.toml)`
- `shop/cli.py`

**Tests near**

- `tests/test_basket.py`

**Risks**

- No test is named after `shop/cli.py`, `shop/stock.py`.
"""
    )


def test_backticks_in_what_is_cited_end_no_code(tmp_path: Path) -> None:
    put_file(tmp_path, "a.js", "basket(`# ${discount}`) ``\n")
    told = as_markdown(quick_scan(tmp_path, "Basket", ""))
    assert "- `a.js:1` ``` basket(`# ${discount}`) `` ```\n" in told


@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=200), title=st.text(max_size=40))
def test_the_same_workspace_always_gives_the_same_scan(
    text: str, title: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("scan")
    put_file(root, "src/a.py", f"{title}\n{text}")
    put_file(root, "src/b.py", text)
    scan = quick_scan(root, title, text)
    assert quick_scan(root, title, text) == scan
    for mention in scan.citations:
        assert mention.word in scan.keywords
        lines = (root / mention.file).read_bytes().decode().split("\n")
        assert (
            mention.text[:5].strip() in lines[mention.line - 1].replace("\t", " ") or "\ufffd" in mention.text
        )
    assert not any(line.startswith(("#", "<", ">")) for line in as_markdown(scan).split("\n"))
