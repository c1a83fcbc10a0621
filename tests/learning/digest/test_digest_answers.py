"""What a digest may answer, and what is refused of it."""

import json
from collections.abc import Sequence

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.digest.digest_answer import (
    AcceptedDigest,
    Digest,
    MalformedDigest,
    RefusedDigest,
    digest_schema,
    parse_digest,
    vet_digest,
)
from apps.learning.guardrails.conflicts_with_guardrails import Guardrails, WeakenedGuardrail
from apps.prompt.learning_prompts.lesson_digest import DigestCorrection, DigestLesson, digest_message
from apps.prompt.rendering.data_fences import canonical_json

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

VALID_ANSWER = {
    "body": "- Ask for the order number.\n- Be brief.",
    "change_summary": "Asks first.",
    "folded_lesson_ids": [1, 2],
}


def digest(
    body: str = "- Ask first.\n- Be brief.", summary: str = "Asks first.", ids: Sequence[int] = (1, 2)
) -> Digest:
    return Digest(body, summary, tuple(ids))


def check(given: Digest, active: str = "- Be brief.", held: Guardrails | None = None) -> AcceptedDigest | RefusedDigest:
    return vet_digest(given, active_body=active, given_ids={1, 2, 3}, held=held or Guardrails())


def refusal(given: Digest, active: str = "- Be brief.", held: Guardrails | None = None) -> RefusedDigest:
    found = check(given, active, held)
    assert isinstance(found, RefusedDigest), found
    return found


def test_an_answer_in_the_schema_is_read() -> None:
    # R156
    jsonschema.validate(VALID_ANSWER, json.loads(canonical_json(digest_schema)))
    assert parse_digest(json.dumps(VALID_ANSWER)) == Digest(
        "- Ask for the order number.\n- Be brief.", "Asks first.", (1, 2)
    )


@pytest.mark.parametrize("around", ["```json\n{}\n```", "Here it is: {} Good luck {{}}.", '{{"note": 1}} {}'])
def test_fences_and_prose_around_the_answer_are_passed_over(around: str) -> None:
    assert parse_digest(around.format(json.dumps(VALID_ANSWER))) == parse_digest(json.dumps(VALID_ANSWER))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object with"),
        ("[" * 10_000, "no JSON object with"),
        ("[]", "no JSON object with"),
        ("{}", "no JSON object with"),
        (json.dumps(VALID_ANSWER | {"body": 3}), "no JSON object with"),
        (json.dumps(VALID_ANSWER | {"folded_lesson_ids": ["1"]}), "whole numbers"),
        (json.dumps(VALID_ANSWER | {"folded_lesson_ids": [True]}), "whole numbers"),
        (json.dumps(VALID_ANSWER | {"folded_lesson_ids": list(range(501))}), "whole numbers"),
        (json.dumps(VALID_ANSWER | {"body": "- a\x00"}), "no database"),
        (json.dumps(VALID_ANSWER | {"change_summary": "\ud800"}), "no database"),
        ("x" * 40_001, "longer"),
    ],
)
def test_anything_else_teaches_nothing(text: str, reason: str) -> None:
    found = parse_digest(text)
    assert isinstance(found, MalformedDigest)
    assert reason in found.reason


def test_a_body_is_stored_with_the_lessons_that_exist() -> None:
    # R157
    found = check(digest("* Ask first.\n* Ask first.\n\n- Be brief.", ids=(2, 99, 1, 2)))
    assert found == AcceptedDigest("- Ask first.\n- Be brief.", "Asks first.", (2, 1), (99,))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (digest(""), "empty"),
        (digest("- \n*"), "empty"),
        (digest("- be  brief"), "equals that of the active version"),
        (digest(ids=()), "names no lesson"),
        (digest(ids=(7, 8)), "exists"),
        (digest(summary=""), "no summary"),
        (digest("Ask first."), "begins with a hyphen"),
        (digest("\n".join(f"- Look at case {number}." for number in range(41))), "41 bullets"),
        (digest("- " + "a b " * 100), "more than 300"),
        (digest("\n".join(f"- {number} {'word ' * 50}" for number in range(40))), "characters; 8000"),
    ],
)
def test_a_body_that_is_none_is_refused_with_its_reason(given: Digest, reason: str) -> None:
    # R157
    assert any(reason in each for each in refusal(given).reasons)


def test_a_bullet_that_weakens_what_holds_is_named() -> None:
    found = refusal(
        digest("- Be brief.\n- Never escalate.\n- Promise delivery dates."),
        held=Guardrails(("Promising delivery dates",)),
    )
    assert [(each.bullet, each.weakens) for each in found.weakenings] == [
        ("Never escalate.", WeakenedGuardrail.ESCALATION),
        ("Promise delivery dates.", WeakenedGuardrail.AVOID),
    ]
    assert found.reasons[0] == "“Never escalate.”: It makes the agent hand over less than people want."


def test_what_a_person_let_through_before_is_not_held_against_a_change_beside_it() -> None:
    assert isinstance(
        check(digest("- Only escalate on Mondays.\n- Be brief."), active="- Only escalate on Mondays."), AcceptedDigest
    )


@given(st.text(max_size=400), st.lists(st.integers(-5, 5), max_size=5))
def test_whatever_is_accepted_is_a_list_that_reads_back(body: str, ids: list[int]) -> None:
    found = check(Digest(body.strip(), "x", tuple(ids)))
    if isinstance(found, AcceptedDigest):
        assert found.lesson_ids
        assert set(found.lesson_ids) <= {1, 2, 3}
        again = check(Digest(found.body, "x", found.lesson_ids), active="")
        assert isinstance(again, AcceptedDigest)
        assert again.body == found.body
    else:
        assert found.reasons


def test_the_material_is_a_line_of_data_for_each_bullet_lesson_and_correction() -> None:  # R154
    shown = digest_message(
        ["Say when it arrives."],
        (DigestLesson(7, "Where is it?", "It is on its way.", "", 2),),
        (DigestCorrection("Soon.", "On Monday."),),
    )
    lines = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    assert lines == [
        {"kind": "active", "bullet": "Say when it arrives."},
        {"kind": "lesson", "id": 7, "situation": "Where is it?", "went_wrong": "It is on its way.", "cases": 2},
        {"kind": "correction", "draft": "Soon.", "sent": "On Monday."},
    ]
