from __future__ import annotations

import pytest

from moot.changes import review_block
from moot.changes.proposal import check_reviews
from moot.errors import InvalidInput
from tests.support.hostile_reviews import CORPUS, Hostile

every_text = pytest.mark.parametrize("hostile", CORPUS, ids=lambda hostile: hostile.name)


@every_text
def test_a_hostile_text_has_the_right_verdict_or_the_right_refusal(hostile: Hostile) -> None:
    blocks = review_block.blocks(hostile.text)
    if hostile.refused:
        with pytest.raises(InvalidInput) as caught:
            review_block.read(blocks[-1])
        assert hostile.refused in str(caught.value)
    elif hostile.verdict:
        review = review_block.read(blocks[-1])
        assert review.verdict is hostile.verdict
        assert review_block.verdict(hostile.text) is hostile.verdict
        assert "".join(issue.severity[0] for issue in review.issues) == hostile.severities
    else:
        assert blocks == ()
        assert review_block.verdict(hostile.text) is None


@every_text
def test_the_check_of_reviews_shows_what_was_refused_and_what_is_missing(hostile: Hostile) -> None:
    errors = [finding for finding in check_reviews(hostile.text) if finding.level == "error"]
    refusals = [finding for finding in errors if hostile.refused and hostile.refused in finding.message]
    assert bool(refusals) is bool(hostile.refused)
    missing = "there is no complete review" in {finding.message for finding in errors}
    assert missing is (hostile.verdict is None and not hostile.refused)
    assert all(1 <= finding.line <= len(hostile.text.splitlines()) + 1 for finding in errors)


def test_the_corpus_is_large_and_each_text_in_it_another() -> None:
    assert len(CORPUS) >= 60
    assert len({hostile.text for hostile in CORPUS}) == len(CORPUS)
