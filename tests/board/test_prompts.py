"""What a board's requests begin with, and what each carries of what came before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moot.board import prompts
from moot.board.events import (
    AdvisorFailed,
    AdvisorRetried,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    ChallengeMade,
    ChallengeReplied,
    ConditionTicked,
    Consensus,
    DecisionPresented,
    Member,
    Mode,
    Question,
    QuestionsDrafted,
    Recommendation,
)
from moot.board.flow import BOARD
from moot.board.ledger import ledger
from moot.board.state import BoardState
from moot.core import ledger as so_far
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import Usage
from moot.core.ledger import Correction, read_correction
from moot.evidence.items import Evidence
from moot.llm.context import fit, needed_tokens, shared_texts
from moot.llm.messages import ModelSaid, Request, UserSaid
from moot.personas.library import Persona, load_library, speaking_order

LIBRARY = load_library()
ADVISORS = speaking_order(LIBRARY.members(LIBRARY.panel("board")))
DEVIL, STRATEGIST, *_ = ADVISORS
DECISION = "Should we move the office?"
BILL = Usage("m", 1, 2, None, 3)
MEMBERS = tuple(Member(p.id, p.name, p.role, str(p.contribution)) for p in ADVISORS)
BRIEF = Brief(Consensus((), "weak"), (), (), Recommendation("Wait.", "low", ("The lease ends.",)))


def item(name: str, text: str = "one\ntwo") -> Evidence:
    return Evidence(name, name, name, "text/plain", text)


def given_(*names: str) -> EvidenceGiven:
    return EvidenceGiven(tuple(item(name) for name in names))


def corrected(state: BoardState, words: str) -> LedgerCorrected:
    return LedgerCorrected(read_correction(ledger(state), state.background.corrections, words, "x"))


def presented(mode: Mode = "independent", looks: bool = False) -> DecisionPresented:
    return DecisionPresented(DECISION, MEMBERS, mode, "m", looks=looks)


CONVENED = BoardConvened((Answer("Since when?", "Since May."),))
SPOKE = tuple(AdvisorSpoke(one.id, f"{one.name} says no.", BILL) for one in ADVISORS)


def board(*events: BoardEvent) -> BoardState:
    return BOARD.fold([presented(), *events])


def view(state: BoardState, persona: Persona = DEVIL) -> Request:
    return prompts.view(state, persona, small=False)


def reply(state: BoardState, persona: Persona = DEVIL) -> Request:
    return prompts.reply(state, persona, small=False)


def text_of(request: Request) -> str:
    """As it is sent."""
    fitted = fit(request, 1_000_000, "m").request
    return "\n".join([*shared_texts(fitted), fitted.system, *(one.text for one in fitted.messages)])


def last(request: Request) -> str:
    return fit(request, 1_000_000, "m").request.messages[-1].text


# -- the same beginning ----------------------------------------------------------------------------


def test_every_request_begins_with_the_same_bytes() -> None:
    asked = prompts.questions(board(given_("a.txt")), small=False)[0]
    spoken = board(given_("a.txt"), CONVENED, *SPOKE)
    challenged = board(given_("a.txt"), CONVENED, *SPOKE, ChallengeMade(DEVIL.id, "No."))
    views = [view(board(given_("a.txt"), CONVENED), one) for one in ADVISORS]
    brief = prompts.brief(spoken, small=False)[0]
    every = [asked, *views, reply(challenged), brief]
    assert len({shared_texts(one)[0] for one in every}) == 1
    assert len({shared_texts(one)[1] for one in every[1:]}) == 1
    assert len({shared_texts(one)[:3] for one in [*views, reply(challenged)]}) == 1
    assert len({one.system for one in views}) == len(ADVISORS)


def test_what_comes_later_leaves_the_beginning_as_it_was() -> None:
    before = board(given_("a.txt"), CONVENED)
    after = board(given_("a.txt"), CONVENED, given_("b.txt"))
    assert shared_texts(view(before))[0] == shared_texts(view(after))[0]
    told = shared_texts(view(after))[1]
    assert told.startswith(shared_texts(view(before))[1])
    assert '<evidence id="E2" name="b.txt"' in told
    assert "how to cite" not in [one.name for one in view(after).shared[1]]


def test_evidence_that_comes_while_questions_are_asked_stands_in_front() -> None:
    (matter, _, _) = view(board(given_("a.txt"), given_("b.txt"), CONVENED)).shared
    assert [one.name for one in matter] == ["the decision", "how to cite", "E1 (a.txt)", "E2 (b.txt)"]


# -- a challenge -------------------------------------------------------------------------------------


def test_evidence_that_came_after_the_view_stands_before_the_challenge() -> None:
    state = board(given_("a.txt"), CONVENED, *SPOKE, given_("b.txt"), ChallengeMade(DEVIL.id, "See E2."))
    asked = reply(state)
    assert (asked.shared, asked.system) == (
        view(state.with_background(state.advisors[0].knew)).shared,
        asked.system,
    )
    assert asked.messages[1] == ModelSaid("The Devil's Advocate says no.")
    assert "b.txt" not in asked.messages[0].text
    assert last(asked).endswith("See E2.")
    assert '<evidence id="E2" name="b.txt"' in last(asked)
    assert "cite the lines" not in last(asked), "how to cite is known already"


def test_the_first_evidence_of_all_brings_how_to_cite_it() -> None:
    state = board(CONVENED, *SPOKE, given_("b.txt"), ChallengeMade(DEVIL.id, "See E1."))
    assert "cite the lines" in last(reply(state))


def test_what_the_person_said_to_somebody_else_is_known() -> None:
    said = (ChallengeMade(DEVIL.id, "The lease ends in May."), ChallengeReplied(DEVIL.id, "I move.", BILL))
    state = board(CONVENED, *SPOKE, *said, ChallengeMade(STRATEGIST.id, "So?"))
    assert "Said: The lease ends in May. (the person, at challenge 1, to The Devil's Advocate)" in last(
        reply(state, STRATEGIST)
    )
    assert "I move." not in text_of(reply(state, STRATEGIST))


def test_what_an_advisor_was_asked_themselves_is_not_said_twice() -> None:
    said = (ChallengeMade(DEVIL.id, "The lease ends in May."), ChallengeReplied(DEVIL.id, "I move.", BILL))
    state = board(CONVENED, *SPOKE, *said, ChallengeMade(DEVIL.id, "So?"))
    assert last(reply(state)) == "So?"
    assert text_of(reply(state)).count("The lease ends in May.") == 1


def test_who_is_asked_again_knows_what_was_said_meanwhile_and_is_challenged_with_the_same() -> None:
    others = tuple(one for one in SPOKE if one.persona != DEVIL.id)
    happened: list[BoardEvent] = [
        CONVENED,
        *others,
        AdvisorFailed(DEVIL.id, "x", "y"),
        ChallengeMade(STRATEGIST.id, "The lease ends in May."),
        ChallengeReplied(STRATEGIST.id, "I move.", BILL),
        AdvisorRetried(DEVIL.id),
    ]
    asked = view(board(*happened))
    assert "The lease ends in May." in text_of(asked)
    state = board(*happened, SPOKE[0], ChallengeMade(DEVIL.id, "So?"))
    assert reply(state).messages[0] == asked.messages[0]
    assert last(reply(state)) == "So?"


# -- what was decided --------------------------------------------------------------------------------


def test_the_ledger_of_a_board() -> None:
    state = board(
        CONVENED,
        *SPOKE,
        BriefDrafted(BRIEF, BILL),
        ChallengeMade(STRATEGIST.id, "Two tenants have left."),
        ChallengeReplied(STRATEGIST.id, "I hold.", BILL),
        ConditionTicked("The lease ends."),
    )
    assert so_far.lines(ledger(state)) == [
        "D1. Open: Should we move the office? (the person, at the decision)",
        "D2. Said: Since when? Since May. (the person, at the questions)",
        "D3. Decided: This condition is met: The lease ends. (the person, at the brief)",
        "D4. Said: Two tenants have left. (the person, at challenge 1, to The Strategist)",
    ]


def test_no_number_of_the_ledger_moves() -> None:
    happened: list[BoardEvent] = [CONVENED, *SPOKE, BriefDrafted(BRIEF, BILL)]
    seen: dict[str, int] = {}
    for event in (
        LedgerCorrected(Correction("own:1", "No cloud.", "x")),
        ConditionTicked("The lease ends."),
        ChallengeMade(STRATEGIST.id, "Two tenants have left."),
        LedgerCorrected(Correction("own:1")),
        ChallengeMade(DEVIL.id, "So?"),
        ConditionTicked("The lease ends.", ticked=False),
        LedgerCorrected(Correction("own:2", "Only Berlin.", "x")),
        LedgerCorrected(Correction("own:1", undo=True)),
        ConditionTicked("The lease ends."),
    ):
        happened.append(event)
        for entry in ledger(board(*happened)):
            assert seen.setdefault(entry.key, entry.number) == entry.number
    assert [f"D{one.number}" for one in ledger(board(*happened))] == ["D1", "D2", "D3", "D4", "D6", "D7"]


def test_what_was_told_in_a_view_stays_as_it_was_told() -> None:
    """So that the provider's cache has it, and nobody is told that they have said what they have not."""
    silent = AdvisorFailed(DEVIL.id, "ProviderDown", "529")
    before: list[BoardEvent] = [CONVENED, silent, *SPOKE[1:], BriefDrafted(BRIEF, BILL)]
    before += [ConditionTicked("The lease ends."), LedgerCorrected(Correction("own:1", "No cloud.", "x"))]
    before.append(AdvisorRetried(DEVIL.id))
    told = fit(view(board(*before)), 1_000_000, "m").request.messages[0]
    drop = LedgerCorrected(Correction("own:1"))
    after = board(*before, SPOKE[0], drop, ChallengeMade(DEVIL.id, "So?"))
    request = fit(reply(after), 1_000_000, "m").request
    assert request.messages[0] == told
    assert "No longer holds: Decided: No cloud. (the person, at x)" in last(reply(after))


def test_a_condition_of_the_brief_is_open_until_it_is_ticked() -> None:
    state = board(CONVENED, *SPOKE, BriefDrafted(BRIEF, BILL))
    assert so_far.lines(ledger(state))[2] == (
        "D3. Open: What the Board recommends holds only if: The lease ends. (the Board, at the brief)"
    )


def test_what_only_a_brief_makes_a_condition_is_told_to_no_advisor() -> None:
    state = board(CONVENED, *SPOKE, BriefDrafted(BRIEF, BILL), ChallengeMade(DEVIL.id, "So?"))
    assert any("holds only if" in one.text for one in ledger(state))
    assert "holds only if" not in text_of(reply(state))
    assert "holds only if" not in text_of(prompts.brief(state, small=False)[0])


def test_the_clerk_keeps_the_words_of_a_condition_that_is_ticked() -> None:
    state = board(CONVENED, *SPOKE, BriefDrafted(BRIEF, BILL))
    assert prompts.MET not in text_of(prompts.brief(state, small=False)[0])
    ticked = BOARD.advance(state, ConditionTicked("The lease ends."))
    assert prompts.MET in text_of(prompts.brief(ticked, small=False)[0])


def test_what_was_only_said_is_not_repeated() -> None:
    assert "<decided-so-far>" not in text_of(view(board(CONVENED)))
    assert "<decided-so-far>" not in text_of(prompts.brief(board(CONVENED, *SPOKE), small=False)[0])


def test_a_corrected_answer_is_known_to_all_who_come_later() -> None:
    convened = board(CONVENED)
    correction = corrected(convened, "D2: Since June.")
    line = "D2. Said: Since June. (the person, at x)"
    assert line in text_of(view(board(CONVENED, correction)))
    challenged = board(CONVENED, *SPOKE, correction, ChallengeMade(DEVIL.id, "So?"))
    assert line in last(reply(challenged))
    assert line not in fit(reply(challenged), 1_000_000, "m").request.messages[0].text
    assert line in text_of(prompts.brief(board(CONVENED, *SPOKE, correction), small=False)[0])


def test_what_the_person_takes_back_is_said_not_to_hold() -> None:
    correction = corrected(board(CONVENED), "drop D2")
    told = text_of(view(board(CONVENED, correction)))
    assert "No longer holds: Said: Since when? Since May. (the person, at the questions)" in told


def test_a_correction_before_the_questions_is_known_there() -> None:
    correction = LedgerCorrected(Correction("own:1", "Nobody is to commute longer.", "x"))
    assert "Nobody is to commute longer." in text_of(prompts.questions(board(correction), small=False)[0])


@given(st.lists(st.sampled_from(["evidence", "correct", "challenge", "drop"]), max_size=8))
def test_whatever_is_given_is_never_lost(moves: list[str]) -> None:
    """In the next reply of somebody who has spoken already, and in the brief."""
    happened: list[BoardEvent] = [CONVENED, *SPOKE]
    words: list[str] = []
    for number, move in enumerate(moves):
        word = f"word{number}x"
        match move:
            case "evidence":
                happened.append(EvidenceGiven((item(f"{number}.txt", word),)))
            case "correct":
                happened.append(corrected(board(*happened), word))
            case "challenge":
                happened += [ChallengeMade(STRATEGIST.id, word), ChallengeReplied(STRATEGIST.id, "no", BILL)]
            case _:
                keys = [entry.key for entry in ledger(board(*happened))]
                happened.append(corrected(board(*happened), f"drop D{keys.index('answer:1') + 1}"))
                break
        words.append(word)
    told = text_of(reply(board(*happened, ChallengeMade(DEVIL.id, "So?"))))
    summed_up = text_of(prompts.brief(board(*happened), small=False)[0])
    for word in words:
        assert word in told
        assert word in summed_up


# -- the rest ----------------------------------------------------------------------------------------


def test_questions_are_asked_of_a_decision_that_stands_there_once_and_may_look_where_advisors_may() -> None:
    asked = prompts.questions(BOARD.fold([presented()]), small=False)[0]
    assert text_of(asked).count(DECISION) == 1
    assert (asked.looks, asked.tools_tokens) == (0, 0)
    looking = prompts.questions(BOARD.fold([presented(looks=True)]), small=False)[0]
    assert (looking.looks, looking.tools_tokens) == (prompts.LOOKS, prompts.LOOKS_TOKENS)
    small = prompts.questions(BOARD.fold([presented(looks=True)]), small=True)[0]
    assert (small.looks, text_of(small).count(DECISION)) == (0, 1)


def test_advisors_look_things_up_only_where_the_person_wants_them_to() -> None:
    assert (view(board(CONVENED)).looks, view(board(CONVENED)).tools_tokens) == (0, 0)
    looking = BOARD.fold([presented(looks=True), CONVENED])
    assert view(looking).looks == 3
    assert view(looking).tools_tokens > 0
    spoken = BOARD.fold([presented(looks=True), CONVENED, *SPOKE, ChallengeMade(DEVIL.id, "So?")])
    assert reply(spoken).looks == 3
    assert prompts.brief(spoken, small=False)[0].looks == 0


def test_in_a_sequential_board_each_reads_those_before() -> None:
    state = BOARD.fold([presented("sequential"), CONVENED, SPOKE[0]])
    told = last(view(state, STRATEGIST))
    assert "### The Devil's Advocate\nThe Devil's Advocate says no.\n\n" in told
    assert "The Devil's Advocate spoke before you" in told
    assert told.endswith("Provide your perspective as The Strategist.")


def test_a_small_model_gets_no_background() -> None:
    state = board(given_("a.txt"), CONVENED)
    for request in (
        prompts.view(state, DEVIL, small=True),
        prompts.questions(state, small=True)[0],
        prompts.brief(board(given_("a.txt"), CONVENED, *SPOKE), small=True)[0],
    ):
        assert request.shared == ()
        assert all(isinstance(one, UserSaid) and not one.sources for one in request.messages)


def test_a_board_without_lookups_is_written_as_it_always_was() -> None:
    assert b"looks" not in BOARD.encode(presented())


def test_beyond_the_window_evidence_goes_before_views_and_the_oldest_first() -> None:
    long = EvidenceGiven((item("a.txt", "a" * 500), item("b.txt", "b" * 500)))
    request, _ = prompts.brief(board(long, CONVENED, *SPOKE), small=False)
    assert fit(request, needed_tokens(request), "m").left_out == ()
    assert fit(request, needed_tokens(request) - 1, "m").left_out == ("E1 (a.txt)",)


# -- what the program knows of what was said -----------------------------------------------------------

WRONG = 'It is one, "and never two of them" [E1:1]. See [E1:2].'


def wrongly(*events: BoardEvent) -> BoardState:
    """The Devil's Advocate cites something that is not there."""
    others = tuple(one for one in SPOKE if one.persona != DEVIL.id)
    return board(given_("a.txt"), CONVENED, AdvisorSpoke(DEVIL.id, WRONG, BILL), *others, *events)


def test_the_clerk_is_told_which_citations_do_not_hold() -> None:
    request = prompts.brief(wrongly(), small=False)[0]
    assert '"and never two of them" [E1:1] (unverified: not in the lines). See [E1:2].' in text_of(request)
    assert prompts.UNVERIFIED in text_of(request)
    right = board(given_("a.txt"), CONVENED, *SPOKE)
    assert "unverified" not in text_of(prompts.brief(right, small=False)[0])


def test_the_clerk_is_told_of_a_reply_that_cites_wrongly() -> None:
    said = (ChallengeMade(STRATEGIST.id, "So?"), ChallengeReplied(STRATEGIST.id, "I hold [E9:1].", BILL))
    request = prompts.brief(board(CONVENED, *SPOKE, *said), small=False)[0]
    assert "I hold [E9:1] (unverified: no such item)." in text_of(request)


def test_an_advisor_is_told_what_of_theirs_was_not_found() -> None:
    asked = reply(wrongly(ChallengeMade(DEVIL.id, "So?")))
    assert '- [E1:1]: not in the lines: "and never two of them"\n' in last(asked)
    assert "[E1:2]" not in last(asked)
    assert asked.messages[1] == ModelSaid(WRONG), "their own words stay as they were"
    assert "<not-found>" not in last(reply(wrongly(ChallengeMade(STRATEGIST.id, "So?")), STRATEGIST))


def test_what_came_later_bears_out_no_earlier_citation() -> None:
    """Whatever gets the number that somebody made up."""
    spoke = AdvisorSpoke(DEVIL.id, "I hold [E2:1].", BILL)
    others = tuple(one for one in SPOKE if one.persona != DEVIL.id)
    replied = (ChallengeMade(DEVIL.id, "So?"), ChallengeReplied(DEVIL.id, "See [E3].", BILL))
    state = board(given_("a.txt"), CONVENED, spoke, *others, given_("b.txt"), *replied, given_("c.txt"))
    told = text_of(prompts.brief(state, small=False)[0])
    assert "I hold [E2:1] (unverified: no such item)." in told
    assert "See [E3] (unverified: no such item)." in told
    asked = last(reply(BOARD.advance(state, ChallengeMade(DEVIL.id, "Why?"))))
    late = "no such item at the time: what has this number now came later"
    assert f"- [E2:1]: {late}\n- [E3]: {late}\n" in asked


def test_questions_left_without_an_answer_are_known() -> None:
    asked = (Question("q1", "Since when?", ""), Question("q2", "Who pays?", ""))
    state = board(QuestionsDrafted(asked, BILL), CONVENED)
    assert "Answer: Since May.\n</answers>\n\nThey left these questions without an answer:\n- Who pays?" in (
        text_of(view(state))
    )
    assert "without an answer" not in text_of(view(board(CONVENED)))


def test_an_advisor_is_told_what_they_have_looked_up() -> None:
    read = Usage("m", 1, 2, None, 3, looked_at=("till.py 1–24",))
    spoke = AdvisorSpoke(DEVIL.id, "I hold.", read)
    others = tuple(one for one in SPOKE if one.persona != DEVIL.id)
    state = board(CONVENED, spoke, *others, ChallengeMade(DEVIL.id, "So?"))
    assert "- till.py 1–24\n</looked-up-before>\n\nSo?" in last(reply(state))
    strangers = board(CONVENED, spoke, *others, ChallengeMade(STRATEGIST.id, "So?"))
    assert "till.py" not in text_of(reply(strangers, STRATEGIST))


def test_whoever_speaks_after_somebody_is_told_what_of_it_was_not_found() -> None:
    spoke = AdvisorSpoke(DEVIL.id, WRONG, BILL)
    state = BOARD.fold([presented("sequential"), given_("a.txt"), CONVENED, spoke])
    assert "[E1:1] (unverified: not in the lines)" in last(view(state, STRATEGIST))


def test_the_clerk_is_told_whose_case_is_a_task() -> None:
    opening = DecisionPresented(DECISION, MEMBERS, "independent", "m", DEVIL.id)
    told = text_of(prompts.brief(BOARD.fold([opening, CONVENED, *SPOKE]), small=False)[0])
    task = (
        "### The Devil's Advocate\n(On this board, The Devil's Advocate has the task of making the best case"
    )
    assert task in told
    assert told.count("has the task of") == 1
    assert "has the task of" not in text_of(prompts.brief(board(CONVENED, *SPOKE), small=False)[0])
