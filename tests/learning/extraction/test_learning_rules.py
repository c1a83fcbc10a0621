"""What is worth learning from, and what is taken out of a draft."""

import json

import pytest

from apps.conversations.rules import ConversationLine, ToolCall
from apps.learning.extraction.draft_validation import RUNBOOK_SECTIONS, VettedDraft, count_masked, vet_draft
from apps.learning.extraction.eligibility import (
    EligibleConversation,
    LearningRejection,
    check_eligibility,
    drop_recalled_calls,
)
from apps.learning.retry_delay import FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, retry_delay_seconds
from apps.learning.transcript_masking import known_values_in
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import read_templates

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

TALK = [ConversationLine("customer", "Hi"), ConversationLine("agent", "Hi"), ConversationLine("customer", "Thanks")]
TOOL_LINE = ConversationLine("agent", "", (ToolCall("c", "look", {}),))
MEMORY_READ_LINE = ConversationLine(
    "agent", "One moment.", (ToolCall("m", "read_my_memory", {}, result="Always send it back."),)
)
MEMORY_WRITE_LINE = ConversationLine(
    "agent", "Noted.", (ToolCall("n", "update_my_memory", {}), ToolCall("o", "write_note", {}))
)
RUNBOOK_BODY = "\n".join(f"## {section}\nx" for section in RUNBOOK_SECTIONS)


@pytest.mark.parametrize("outcome", ["solved", "unknown"])
def test_work_that_did_not_end_badly_goes_to_the_model(outcome: str) -> None:
    # R110
    assert check_eligibility([*TALK, TOOL_LINE], outcome, off_the_record=False) == EligibleConversation()


@pytest.mark.parametrize("name", ["look", "update_customer_profile", "update_contact_memory", "propose_schedule"])
def test_one_thing_done_for_a_customer_is_work(name: str) -> None:
    # R110
    done = ConversationLine("agent", "Done.", (ToolCall("c", name, {}),))
    assert check_eligibility([*TALK, MEMORY_WRITE_LINE, done], "solved", off_the_record=False) == EligibleConversation()


@pytest.mark.parametrize(
    ("lines", "outcome", "verdict", "reason"),
    [
        ([], "solved", "too-short", "0 messages"),
        (TALK, "solved", "too-short", "3 messages"),
        ([*TALK, ConversationLine("agent", "Bye")], "solved", "trivial", "no tool"),
        ([*TALK, MEMORY_READ_LINE], "solved", "trivial", "read and write its own knowledge"),
        ([*TALK, MEMORY_READ_LINE, MEMORY_WRITE_LINE], "solved", "trivial", "read and write its own knowledge"),
        ([*TALK, TOOL_LINE], "unsolved", "unsolved", "did not end well"),
    ],
)
def test_what_can_teach_nothing_is_refused_with_its_reason(
    lines: list[ConversationLine], outcome: str, verdict: str, reason: str
) -> None:
    # R110, R113
    refused = check_eligibility(lines, outcome, off_the_record=False)
    assert isinstance(refused, LearningRejection)
    assert refused.verdict == verdict
    assert reason in refused.reason


@pytest.mark.parametrize("outcome", ["solved", "unsolved"])
def test_off_the_record_teaches_nothing_however_it_went(outcome: str) -> None:
    # R178
    refused = check_eligibility([*TALK, TOOL_LINE], outcome, off_the_record=True)
    assert isinstance(refused, LearningRejection)
    assert refused.verdict == "off-record"


def test_what_an_agent_recalled_did_not_happen_in_the_conversation() -> None:
    # R110
    both = ConversationLine("agent", "Done.", (*MEMORY_READ_LINE.tool_calls, *TOOL_LINE.tool_calls))
    kept = ToolCall(
        "k", "update_memory", {"body": "Always send it back."}, "Longest: Always send it back.", is_error=True
    )
    assert drop_recalled_calls([*TALK, MEMORY_READ_LINE, both, ConversationLine("agent", "", (kept,))]) == [
        *TALK,
        ConversationLine("agent", "One moment."),
        ConversationLine("agent", "Done.", TOOL_LINE.tool_calls),
        ConversationLine("agent", "", (ToolCall("k", "update_memory", {"body": ""}, is_error=True),)),
    ]


def test_a_runbook_has_four_sections() -> None:
    # R104
    assert vet_draft("x", "X", "d", RUNBOOK_BODY, known=KnownValues()) == VettedDraft("x", "X", "d", RUNBOOK_BODY)
    assert isinstance(vet_draft("x", "X", "d", RUNBOOK_BODY.lower(), known=KnownValues()), VettedDraft)
    for section in RUNBOOK_SECTIONS:
        refused = vet_draft("x", "X", "d", RUNBOOK_BODY.replace(f"## {section}", ""), known=KnownValues())
        assert isinstance(refused, LearningRejection)
        assert section in refused.reason


@pytest.mark.parametrize("name", ["refund-4711x", "4711x", "w-4711x-y"])
def test_a_name_that_holds_a_code_of_the_conversation_is_refused(name: str) -> None:
    # R115
    assert isinstance(
        vet_draft(
            name,
            "X",
            "d",
            RUNBOOK_BODY,
            known=known_values_in([ConversationLine("customer", "My order is 4711X.")], ""),
        ),
        LearningRejection,
    )
    assert isinstance(
        vet_draft(
            name,
            "X",
            "d",
            RUNBOOK_BODY,
            known=known_values_in([ConversationLine("customer", "My order is another.")], ""),
        ),
        VettedDraft,
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Write to sam@example.org.", "Write to [e-mail]."),
        ("Call +49 (170) 123-4567 now", "Call [phone] now"),
        ("Order W4711-X and w4711-x", "Order [id] and [id]"),
        ("Order pre-W4711-X", "Order pre-[id]"),
        ("Reservation IFOYYZ of Mia Li, born 1990-04-05", "Reservation [id] of [name], born [id]"),
        ("Refund gift_card_7 to li_3668", "Refund [id] to [id]"),
        ("As kim weber 7 said", "As [id] said"),
        ("Step-12345 stays", "Step-12345 stays"),
        ("Wait 30 days", "Wait 30 days"),
        ("get_order_details2", "get_order_details2"),
    ],
)
def test_what_identifies_anybody_is_taken_out(text: str, left: str) -> None:
    # R115
    user = {"name": {"first_name": "Mia", "last_name": "Li"}, "dob": "1990-04-05", "reservations": ["IFOYYZ"]}
    look = ToolCall("c", "get_user", {"user_id": "li_3668"}, json.dumps(user), is_error=False)
    refund = ToolCall("d", "refund", {"payment_id": "gift_card_7"}, "Done.", is_error=False)
    known = known_values_in(
        [ConversationLine("customer", "It is W4711-X!"), ConversationLine("agent", "2 of 3", (look, refund))],
        "Kim.Weber/7",
    )
    assert vet_draft("x", text, text, RUNBOOK_BODY, known=known) == VettedDraft("x", left, left, RUNBOOK_BODY)


def test_the_next_look_is_later_after_each_failure_up_to_an_hour() -> None:
    waits = [retry_delay_seconds(failures, None, 0) for failures in range(12)]
    assert waits[:4] == [FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS, 2 * FIRST_WAIT_SECONDS, 4 * FIRST_WAIT_SECONDS]
    assert waits[-1] == LONGEST_WAIT_SECONDS
    assert waits == sorted(waits)


@pytest.mark.parametrize(
    ("asked", "waits"), [(None, 30.0), (-5.0, 30.0), (90.0, 90.0), (float("nan"), 30.0), (1e9, LONGEST_WAIT_SECONDS)]
)
def test_an_endpoint_may_ask_for_a_longer_wait_and_for_no_absurd_one(asked: float | None, waits: float) -> None:
    assert retry_delay_seconds(1, asked, 1) == waits


def test_a_reviewer_is_told_how_often_what_was_masked() -> None:
    templates = read_templates("policy: POL-####")
    assert isinstance(templates, tuple)
    firewall = PiiMasker.against(KnownValues(names=frozenset({"Mia Li"})), templates=templates)
    texts = ["Greet Mia Li.", "Ask Mia Li for POL-1234 and write to a@example.com."]
    assert count_masked(texts, firewall) == {"e-mail": 1, "name": 2, "policy": 1}
    vetted = vet_draft("a", "b", "POL-1234", RUNBOOK_BODY, known=KnownValues(), templates=templates)
    assert isinstance(vetted, VettedDraft)
    assert vetted.description == "[policy]"


def test_a_name_that_a_customer_gives_is_taken_out_of_a_draft_and_one_an_agent_gives_is_not() -> None:
    # R115
    lines = [
        ConversationLine("customer", "Hello, I am Jonas Weber."),
        ConversationLine("agent", "Hello, this is Ada from Acme. My name is Ada."),
    ]
    found = vet_draft(
        "x", "X", "For Weber, Jonas.", f"{RUNBOOK_BODY}\nJonas wants it. Ada answers.", known=known_values_in(lines, "")
    )
    assert isinstance(found, VettedDraft)
    assert (found.description, found.body.splitlines()[-1]) == ("For [name].", "[name] wants it. Ada answers.")
