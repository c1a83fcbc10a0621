"""How two prompts differ, slot by slot, and what a cache has to hold anew."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.prompt.prompt_diff import difference, joined
from apps.prompt.prompt_input import Memory, Passage, PromptInput, Slot, Source
from apps.prompt.rendering.snapshot import assemble
from tests.prompt.input_factories import FULL

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

BASE = assemble(FULL)


def with_memory(text: str, approver: str = "user:ada") -> PromptInput:
    source = Source("memory.agentmemory", 1, 1, "body", "user:ada", approver)
    return replace(FULL, memory=Memory(body=(Passage(text, source),)))


def test_the_same_prompt_changes_nothing() -> None:
    same = difference(BASE, assemble(FULL))
    assert (same.slots, same.added, same.rewritten) == ((), 0, 0)
    assert same.shared == len(joined(BASE))


def test_a_line_more_in_the_last_shared_slot_leaves_what_stands_before_it() -> None:
    before, after = assemble(with_memory("Be brief.")), assemble(with_memory("Be brief.\nSay hello."))
    told = difference(before, after)
    [slot] = told.slots
    assert (slot.slot, slot.after - slot.before) == (Slot.MEMORY, len("\nSay hello."))
    assert told.added == len("\nSay hello.")
    assert told.rewritten < slot.after


def test_a_slot_that_comes_or_goes_is_told_with_nothing_on_the_other_side() -> None:
    without = assemble(replace(FULL, memory=None))
    came, went = difference(without, BASE), difference(BASE, without)
    assert [(one.slot, one.before) for one in came.slots] == [(Slot.MEMORY, 0)]
    assert [(one.slot, one.after) for one in went.slots] == [(Slot.MEMORY, 0)]
    assert went.added == -came.added
    # Nothing behind it is shared, so nothing is written anew where it goes.
    assert went.rewritten == 0


def test_a_customers_own_slot_is_no_part_of_the_shared_prefix() -> None:
    told = difference(BASE, assemble(replace(FULL, profile=None)))
    assert [one.slot for one in told.slots] == [Slot.PROFILE]
    assert (told.rewritten, told.shared) == (0, len(joined(BASE)))


@given(st.text(max_size=200), st.text(max_size=200))
def test_what_is_kept_and_what_is_written_anew_are_the_whole(one: str, other: str) -> None:
    before, after = assemble(with_memory(one)), assemble(with_memory(other))
    told = difference(before, after)
    old, new = joined(before), joined(after)
    kept = told.shared - told.rewritten
    assert told.shared == len(new)
    assert old[:kept] == new[:kept]
    assert told.rewritten in {0, len(new) - kept}
    if told.rewritten and kept < len(old):
        assert old[kept] != new[kept]
    assert told.added == len(after.text.encode()) - len(before.text.encode())
