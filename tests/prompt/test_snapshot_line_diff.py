"""Two prompts side by side: what came, what went, and whose words they are."""

import pytest

from apps.prompt.prompt_diff import (
    Hunk,
    OwnerChange,
    PromptLine,
    SourcedText,
    diff_owners,
    diff_prompt_lines,
    is_reordered,
    slot_lines,
)
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import PromptSnapshot, Segment, SlotText

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

ANN = TextProvenance("personas.persona", 1, 2, "style", "operator:1", "operator:1", "operator")
BOB = TextProvenance("personas.persona", 1, 3, "style", "operator:2", "operator:2", "operator")


def prompt(*segments: Segment, slot: Slot = Slot.PERSONA) -> PromptSnapshot:
    return PromptSnapshot((SlotText(slot, segments),))


def title(text: str = "# Agent persona\n") -> Segment:
    return Segment(text, None, "title.persona")


def text_segment(text: str, source: TextProvenance = ANN, line: int = 1) -> Segment:
    return Segment(text, source, "", line)


def test_equal_prompts_have_no_hunk_despite_other_sources() -> None:
    assert (
        diff_prompt_lines(prompt(title(), text_segment("Brief.")), prompt(title(), text_segment("Brief.", BOB))) == ()
    )


def test_a_changed_line_names_both_owners() -> None:
    [hunk] = diff_prompt_lines(prompt(title(), text_segment("Brief.")), prompt(title(), text_segment("Warm.", BOB)))
    assert hunk == Hunk(
        Slot.PERSONA,
        (PromptLine("Brief.", (SourcedText(ANN, "Brief."),)),),
        (PromptLine("Warm.", (SourcedText(BOB, "Warm."),)),),
    )
    assert hunk.sources == (ANN, BOB)


def test_a_slot_that_comes_or_goes_is_one_hunk() -> None:
    full = prompt(title(), text_segment("Brief."))
    for before, after in ((PromptSnapshot(()), full), (full, PromptSnapshot(()))):
        [hunk] = diff_prompt_lines(before, after)
        assert (bool(hunk.removed), bool(hunk.added)) == (bool(before.parts), bool(after.parts))
        assert [line.text for line in (*hunk.removed, *hunk.added)] == ["# Agent persona", "Brief."]


def test_a_line_belongs_to_every_source_that_wrote_part_of_it_and_to_no_other() -> None:
    part = SlotText(
        Slot.SKILLS,
        (title("- "), text_segment("refund", ANN), title(" — "), text_segment("Pay back.\n", BOB), title("more")),
    )
    refund = PromptLine("- refund — Pay back.", (SourcedText(ANN, "refund"), SourcedText(BOB, "Pay back.")))
    assert slot_lines(part) == (refund, PromptLine("more", ()))
    assert refund.sources == (ANN, BOB)
    assert slot_lines(SlotText(Slot.SKILLS, ())) == ()


def test_hunks_stand_in_the_order_of_the_slots() -> None:
    before = PromptSnapshot((SlotText(Slot.CONTRACT, (title("a"),)), SlotText(Slot.PERSONA, (title("b"),))))
    after = PromptSnapshot((SlotText(Slot.CONTRACT, (title("c"),)), SlotText(Slot.PERSONA, (title("d"),))))
    assert [hunk.slot for hunk in diff_prompt_lines(before, after)] == [Slot.PERSONA, Slot.CONTRACT]


def test_words_that_passed_to_another_owner_are_said_once_for_a_slot_whatever_else_changed() -> None:
    before = prompt(title(), text_segment("Brief.\n"), text_segment("Warm.\n"), text_segment("Calm."))
    after = prompt(title(), text_segment("Brief.\n", BOB), text_segment("Warm.\n", BOB), text_segment("Rude."))
    assert diff_owners(before, after) == (OwnerChange(Slot.PERSONA, (ANN,), (BOB,)),)
    assert diff_owners(before, before) == ()


def test_order_is_that_of_the_slots_both_have() -> None:
    persona, contract, skills = (SlotText(slot, (title("a"),)) for slot in (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS))
    whole = PromptSnapshot((persona, contract, skills))
    assert not is_reordered(whole, PromptSnapshot((persona, skills)))
    assert not is_reordered(PromptSnapshot((contract,)), whole)
    assert is_reordered(whole, PromptSnapshot((contract, persona)))
    assert diff_prompt_lines(whole, PromptSnapshot((contract, persona, skills))) == ()
