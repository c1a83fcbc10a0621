"""Every byte of a prompt has an owner, and the same values give the same bytes anywhere."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.launcher.data_folders import PROJECT
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_input import SEPARATOR, MemoryInput, PromptInput, Slot, TurnInput
from apps.prompt.rendering.segments import (
    Segment,
    SegmentMismatch,
    SegmentTable,
    SlotText,
    decode_segments,
    encode_segments,
)
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.rendering.user_turn import render_user_turn
from tests.prompt.input_factories import (
    BARE,
    FULL,
    PROMPTS,
    SOURCES,
    TURN,
    TURNS,
    passage,
    shuffled,
    source,
    unapproved_passage,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


PARTS = st.builds(
    SlotText,
    st.sampled_from(Slot),
    st.lists(
        st.builds(Segment, st.text(st.characters(codec="utf-8")), SOURCES, st.just(""), st.integers(0, 9))
        | st.builds(Segment, st.text(st.characters(codec="utf-8")), st.none(), st.text(), st.just(0))
    ).map(tuple),
)


def owners(part: SlotText) -> list[tuple[str, str, int]]:
    """Whose each run is: a field of a record, or a template; beside it the text and the line."""
    return [
        (segment.source.field if segment.source else segment.template, segment.text, segment.line)
        for segment in part.segments
    ]


@pytest.mark.unmeasured
@given(PROMPTS)
def test_every_byte_of_the_prompt_is_owned_once(prompt: PromptInput) -> None:
    assembled = render_snapshot(prompt)
    content, end = assembled.text.encode(), 0
    for span in assembled.spans():
        assert span.start == end < span.end
        assert content[span.start : span.end].decode() == span.segment.text
        assert bool(span.segment.source) != bool(span.segment.template)
        assert bool(span.segment.source) == bool(span.segment.line)
        end = span.end
    assert end == len(content)


@given(TURNS)
def test_every_byte_of_a_turn_is_owned_once(turn: TurnInput) -> None:
    turned = render_user_turn(turn)
    assert "".join(segment.text for segment in turned.part.segments) == turned.text
    assert all(segment.text and bool(segment.source) != bool(segment.template) for segment in turned.part.segments)
    assert [span.slot for span in turned.part.spans()] == [Slot.TURN] * len(turned.part.segments)


def test_a_line_belongs_to_the_row_it_was_written_in() -> None:
    part = render_snapshot(
        replace(
            BARE, memory=MemoryInput((passage("One.\nTwo.", 1, "body"), unapproved_passage('Th"ree.\nFour.', 2, "own")))
        )
    ).parts[1]
    fence_id = part.text.partition('<data id="')[2][:16]
    assert owners(part) == [
        ("title.memory", "# Remembered context\n\n", 0),
        ("body", "One.\n", 1),
        ("body", "Two.", 2),
        ("gap", "\n\n", 0),
        ("lead.unapproved_memory", part.segments[4].text, 0),
        ("gap", "\n\n", 0),
        ("fence", f'<data id="{fence_id}">\n', 0),
        ("fence", '"', 0),
        ("own", 'Th\\"ree.\\n', 1),
        ("own", "Four.", 2),
        ("fence", '"', 0),
        ("fence", f'\n</data id="{fence_id}">', 0),
    ]


def test_a_separator_belongs_to_the_slot_it_opens() -> None:
    assembled = render_snapshot(FULL)
    separators = [span for span in assembled.spans() if span.segment.template == "separator"]
    assert [span.slot for span in separators] == [part.slot for part in assembled.parts[1:]]
    assert {span.segment.text for span in separators} == {SEPARATOR}


def test_the_author_and_the_approver_of_every_line_are_known() -> None:
    sources = {span.segment.source for span in render_snapshot(FULL).spans() if span.segment.source}
    assert {"note", "skill", "agent"} == {one.record_type for one in sources}
    assert all(one.author for one in sources)


@given(PARTS)
def test_stored_segments_read_back_as_they_were(part: SlotText) -> None:
    stored = json.loads(json.dumps(encode_segments(part)))
    assert decode_segments(part.slot, part.text, stored) == part


@pytest.mark.unmeasured
@given(PROMPTS)
def test_the_segments_of_a_prompt_survive_storage(prompt: PromptInput) -> None:
    for part in render_snapshot(prompt).parts:
        stored = decode_segments(part.slot, part.text, json.loads(json.dumps(encode_segments(part))))
        assert (stored, stored.sha256) == (part, part.sha256)


@pytest.mark.parametrize(
    "runs",
    [[0, 1, 3], [0, 1, 5], [0, 1, 4, 0], [1, 1, 4], [-1, 1, 4], [0, 1, 1, 0, 1, 3], [0, 1, 5, 0, 1, -1], ["0", 1, 4]],
)
def test_a_table_that_does_not_fit_its_text_is_refused(runs: list[int]) -> None:
    fitting = encode_segments(SlotText(Slot.MEMORY, (Segment("äbc", source(), "", 1),)))
    assert decode_segments(Slot.MEMORY, "äbc", fitting).text == "äbc"
    with pytest.raises(SegmentMismatch, match="Assemble the prompt anew"):
        decode_segments(Slot.MEMORY, "äbc", {"owners": fitting["owners"], "runs": runs})


@pytest.mark.parametrize(
    "table", [{}, {"owners": [["note"]], "runs": [0, 1, 4]}, {"owners": [], "runs": [0, 1, 4]}, {"owners": []}]
)
def test_a_table_without_its_owners_is_refused(table: object) -> None:
    with pytest.raises(SegmentMismatch, match="Assemble the prompt anew"):
        decode_segments(Slot.MEMORY, "äbc", cast(SegmentTable, table))


def test_the_same_words_by_another_author_are_another_part() -> None:
    mine, theirs = (SlotText(Slot.MEMORY, (Segment("x", source(record_id=row), "", 1),)) for row in (1, 2))
    other_slot = SlotText(Slot.PROFILE, mine.segments)
    assert len({mine.text_sha256, theirs.text_sha256, other_slot.text_sha256}) == 1
    assert len({mine.sha256, theirs.sha256, other_slot.sha256}) == 3
    assert mine.text_sha256 == hashlib.sha256(b"x").hexdigest()
    assert mine.sha256 == SlotText(Slot.MEMORY, mine.segments).sha256


@pytest.mark.unmeasured
@given(PROMPTS, st.randoms(use_true_random=False))
def test_the_order_of_rows_leaves_the_prompt_alone(prompt: PromptInput, chance: Random) -> None:  # R043
    assert render_snapshot(shuffled(prompt, chance)) == render_snapshot(prompt)


@pytest.mark.unmeasured
@given(PROMPTS)
def test_no_stored_text_can_add_a_slot_or_a_separator(prompt: PromptInput) -> None:
    assembled = render_snapshot(prompt)
    assert assembled.text.split(SEPARATOR) == [part.text for part in assembled.parts]
    titles = [line for line in assembled.text.split("\n") if line.startswith("# ")]
    assert titles == [f"# {SLOT_TITLES[part.slot]}" for part in assembled.parts]


PRINT_HASHES = """
from random import Random
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.rendering.user_turn import render_user_turn
from tests.prompt.input_factories import FULL, TURN, shuffled
snapshots = [render_snapshot(shuffled(FULL, Random(seed))) for seed in range(9)]
print(*{part.sha256 for snapshot in snapshots for part in snapshot.parts}, render_user_turn(TURN).part.sha256)
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("seed", "locale", "zone"),
    [
        ("0", "C", "UTC"),
        ("1", "tr_TR.UTF-8", "Asia/Kathmandu"),
        ("77", "POSIX", "America/New_York"),
        ("random", "de_DE", "X+9"),
    ],
)
def test_the_same_values_give_the_same_bytes_on_any_machine(seed: str, locale: str, zone: str) -> None:  # R043, R182
    here = {part.sha256 for part in render_snapshot(FULL).parts} | {render_user_turn(TURN).part.sha256}
    machine = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale, "TZ": zone, "PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [sys.executable, "-c", PRINT_HASHES], env=machine, cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert set(ran.stdout.split()) == here
