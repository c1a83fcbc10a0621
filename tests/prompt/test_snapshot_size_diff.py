"""How two prompts differ, slot by slot, and what a cache has to hold anew."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.prompt.prompt_diff import diff_prompt_sizes, shared_prefix_bytes
from apps.prompt.prompt_input import MemoryInput, Passage, PromptInput, Slot, TextProvenance
from apps.prompt.rendering.snapshot import render_snapshot
from tests.prompt.input_factories import FULL

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

FULL_PROMPT = render_snapshot(FULL)


def with_memory(text: str, approver: str = "user:ada") -> PromptInput:
    source = TextProvenance("memory.agentmemory", 1, 1, "body", "user:ada", approver)
    return replace(FULL, memory=MemoryInput(body=(Passage(text, source),)))


def test_the_same_prompt_changes_nothing() -> None:
    same = diff_prompt_sizes(FULL_PROMPT, render_snapshot(FULL))
    assert (same.slots, same.added, same.rewritten) == ((), 0, 0)
    assert same.shared == len(shared_prefix_bytes(FULL_PROMPT))


def test_a_line_more_in_the_last_shared_slot_leaves_what_stands_before_it() -> None:
    before, after = render_snapshot(with_memory("Be brief.")), render_snapshot(with_memory("Be brief.\nSay hello."))
    size_diff = diff_prompt_sizes(before, after)
    [slot] = size_diff.slots
    assert (slot.slot, slot.after - slot.before) == (Slot.MEMORY, len("\nSay hello."))
    assert size_diff.added == len("\nSay hello.")
    assert size_diff.rewritten < slot.after


def test_a_slot_that_comes_or_goes_is_told_with_nothing_on_the_other_side() -> None:
    without = render_snapshot(replace(FULL, memory=None))
    came, went = diff_prompt_sizes(without, FULL_PROMPT), diff_prompt_sizes(FULL_PROMPT, without)
    assert [(one.slot, one.before) for one in came.slots] == [(Slot.MEMORY, 0)]
    assert [(one.slot, one.after) for one in went.slots] == [(Slot.MEMORY, 0)]
    assert went.added == -came.added
    # Nothing behind it is shared, so nothing is written anew where it goes.
    assert went.rewritten == 0


def test_a_customers_own_slot_is_no_part_of_the_shared_prefix() -> None:
    size_diff = diff_prompt_sizes(FULL_PROMPT, render_snapshot(replace(FULL, profile=None)))
    assert [one.slot for one in size_diff.slots] == [Slot.PROFILE]
    assert (size_diff.rewritten, size_diff.shared) == (0, len(shared_prefix_bytes(FULL_PROMPT)))


@given(st.text(max_size=200), st.text(max_size=200))
def test_what_is_kept_and_what_is_written_anew_are_the_whole(one: str, other: str) -> None:
    before, after = render_snapshot(with_memory(one)), render_snapshot(with_memory(other))
    size_diff = diff_prompt_sizes(before, after)
    old, new = shared_prefix_bytes(before), shared_prefix_bytes(after)
    kept = size_diff.shared - size_diff.rewritten
    assert size_diff.shared == len(new)
    assert old[:kept] == new[:kept]
    assert size_diff.rewritten in {0, len(new) - kept}
    if size_diff.rewritten and kept < len(old):
        assert old[kept] != new[kept]
    assert size_diff.added == len(after.text.encode()) - len(before.text.encode())
