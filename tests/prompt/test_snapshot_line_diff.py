"""Two prompts side by side: what came, what went, and whose words they are."""

import pytest

from apps.prompt.prompt_diff import Handover, Hunk, Line, Piece, differences, handovers, is_reordered, lines
from apps.prompt.prompt_input import Slot, Source
from apps.prompt.rendering.segments import Assembled, Part, Segment

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

ANN = Source("personas.persona", 1, 2, "style", "operator:1", "operator:1", "operator")
BOB = Source("personas.persona", 1, 3, "style", "operator:2", "operator:2", "operator")


def prompt(*segments: Segment, slot: Slot = Slot.PERSONA) -> Assembled:
    return Assembled((Part(slot, segments),))


def title(text: str = "# Agent persona\n") -> Segment:
    return Segment(text, None, "title.persona")


def said(text: str, source: Source = ANN, line: int = 1) -> Segment:
    return Segment(text, source, "", line)


def test_equal_prompts_have_no_hunk_whoever_owns_the_words() -> None:
    assert differences(prompt(title(), said("Brief.")), prompt(title(), said("Brief.", BOB))) == ()


def test_a_changed_line_names_both_owners() -> None:
    [hunk] = differences(prompt(title(), said("Brief.")), prompt(title(), said("Warm.", BOB)))
    assert hunk == Hunk(
        Slot.PERSONA, (Line("Brief.", (Piece(ANN, "Brief."),)),), (Line("Warm.", (Piece(BOB, "Warm."),)),)
    )
    assert hunk.sources == (ANN, BOB)


def test_a_slot_that_comes_or_goes_is_one_hunk() -> None:
    full = prompt(title(), said("Brief."))
    for before, after in ((Assembled(()), full), (full, Assembled(()))):
        [hunk] = differences(before, after)
        assert (bool(hunk.removed), bool(hunk.added)) == (bool(before.parts), bool(after.parts))
        assert [line.text for line in (*hunk.removed, *hunk.added)] == ["# Agent persona", "Brief."]


def test_a_line_belongs_to_every_source_that_wrote_part_of_it_and_to_no_other() -> None:
    part = Part(Slot.SKILLS, (title("- "), said("refund", ANN), title(" — "), said("Pay back.\n", BOB), title("more")))
    refund = Line("- refund — Pay back.", (Piece(ANN, "refund"), Piece(BOB, "Pay back.")))
    assert lines(part) == (refund, Line("more", ()))
    assert refund.sources == (ANN, BOB)
    assert lines(Part(Slot.SKILLS, ())) == ()


def test_hunks_stand_in_the_order_of_the_slots() -> None:
    before = Assembled((Part(Slot.CONTRACT, (title("a"),)), Part(Slot.PERSONA, (title("b"),))))
    after = Assembled((Part(Slot.CONTRACT, (title("c"),)), Part(Slot.PERSONA, (title("d"),))))
    assert [hunk.slot for hunk in differences(before, after)] == [Slot.PERSONA, Slot.CONTRACT]


def test_words_that_passed_to_another_owner_are_said_once_for_a_slot_whatever_else_changed() -> None:
    before = prompt(title(), said("Brief.\n"), said("Warm.\n"), said("Calm."))
    after = prompt(title(), said("Brief.\n", BOB), said("Warm.\n", BOB), said("Rude."))
    assert handovers(before, after) == (Handover(Slot.PERSONA, (ANN,), (BOB,)),)
    assert handovers(before, before) == ()


def test_order_is_that_of_the_slots_both_have() -> None:
    persona, contract, skills = (Part(slot, (title("a"),)) for slot in (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS))
    whole = Assembled((persona, contract, skills))
    assert not is_reordered(whole, Assembled((persona, skills)))
    assert not is_reordered(Assembled((contract,)), whole)
    assert is_reordered(whole, Assembled((contract, persona)))
    assert differences(whole, Assembled((contract, persona, skills))) == ()
