"""What becomes of a reply, what it stands on, and how a question grows."""

import pytest

from apps.desk.rules import (
    QUESTION_CHARACTERS,
    Grounding,
    GroundingFact,
    SendRuleValue,
    grounding_of,
    joined_question,
    send_mode_of,
)
from apps.prompt.prompt_input import SendMode

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

AUTONOMOUS, SUGGEST, OBSERVE = SendMode.AUTONOMOUS, SendMode.SUGGEST, SendMode.OBSERVE
REFUNDS, PARCELS = 7, 8


@pytest.mark.parametrize(
    ("default", "rules", "channel", "fetched", "expected"),
    [
        (AUTONOMOUS, (), "http", set(), AUTONOMOUS),
        (OBSERVE, (), "http", set(), OBSERVE),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, "sms"),), "sms", set(), SUGGEST),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, "sms"),), "http", set(), AUTONOMOUS),
        (SUGGEST, (SendRuleValue(AUTONOMOUS, "sms"),), "sms", set(), AUTONOMOUS),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, skill_id=REFUNDS),), "http", {REFUNDS}, SUGGEST),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, skill_id=REFUNDS),), "http", {PARCELS}, AUTONOMOUS),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, "sms", REFUNDS),), "http", {REFUNDS}, AUTONOMOUS),
        (AUTONOMOUS, (SendRuleValue(SUGGEST, "sms", REFUNDS),), "sms", {REFUNDS}, SUGGEST),
        (OBSERVE, (SendRuleValue(AUTONOMOUS, skill_id=REFUNDS),), "http", {REFUNDS}, OBSERVE),
        (
            AUTONOMOUS,
            (SendRuleValue(OBSERVE, "sms"), SendRuleValue(SUGGEST, skill_id=REFUNDS)),
            "sms",
            {REFUNDS},
            OBSERVE,
        ),
        (
            AUTONOMOUS,
            (SendRuleValue(SUGGEST, skill_id=REFUNDS), SendRuleValue(OBSERVE, skill_id=PARCELS)),
            "http",
            {REFUNDS, PARCELS},
            OBSERVE,
        ),
    ],
)
def test_a_reply_leaves_by_its_channels_rule_made_stricter_by_the_skills_it_read(
    default: SendMode, rules: tuple[SendRuleValue, ...], channel: str, fetched: set[int], expected: SendMode
) -> None:
    # R134
    assert send_mode_of(default, rules, channel, fetched) == expected


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), Grounding.NONE),
        ((Grounding.PROFILE,), Grounding.PROFILE),
        ((Grounding.PROFILE, Grounding.TOOL), Grounding.TOOL),
        ((Grounding.TOOL, Grounding.SKILL, Grounding.PROFILE), Grounding.SKILL),
    ],
)
def test_a_draft_is_labelled_by_the_firmest_of_its_facts(kinds: tuple[Grounding, ...], expected: Grounding) -> None:
    # R136
    assert grounding_of(GroundingFact(kind, "x") for kind in kinds) == expected


def test_a_question_that_is_asked_again_grows_once_and_stays_within_its_length() -> None:
    assert joined_question("", " Why? ") == "Why?"
    assert joined_question("Why?", "Why?") == "Why?"
    assert joined_question("Why?", "  ") == "Why?"
    assert joined_question("Why?", "Who pays?") == "Why?\n\nWho pays?"
    assert len(joined_question("Why?", "x" * QUESTION_CHARACTERS)) == QUESTION_CHARACTERS
