"""Captures lessons from settled items: edited and discarded drafts, answers, failed turns, rejections, reports.

Capturing does not depend on whether the agent learns, and calls no model (R138, R152). It never reads conversations off the
record or members' conversations with assistants.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.expressions import Combinable, NegatedExpression

from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ConversationLine
from apps.desk.models import Draft, Escalation
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.governance.models import ChangeText, Proposal
from apps.governance.policy.policy_table import Act
from apps.learning.conversation_transcript import transcript
from apps.learning.lessons import lesson_cases
from apps.learning.lessons.edit_cluster_proposals import update_edit_clusters
from apps.learning.lessons.lesson_cases import Case, NoLesson
from apps.learning.lessons.lesson_journal import CaseSource, record_case
from apps.learning.lessons.models import LearningVersion, LessonCase
from apps.learning.lessons.rules import LessonSource
from apps.learning.lessons.version_copies import WITHDRAWN_WITH
from apps.learning.private_data import tenant_templates
from apps.learning.transcript_masking import known_values_in
from apps.tenants.authentication.actor_resolution import system_actor
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tool_result_values import known_values_of_sender

# The maximum number of items of each kind per run; the next sweep takes the rest.
BATCH_SIZE: Final = 100
LEARNABLE: Final = {
    "conversation__off_the_record": False,
    "conversation__member_user_id": None,
    "conversation__quarantined_at": None,
}
_FIND_FAILED_TURNS: Final = load_query("apps/learning/lessons/queries/find_failed_turns.sql")


@dataclass(frozen=True, slots=True)
class SettledItem:
    """A settled item with its texts; `told` builds its case from the customer's request."""

    found: CaseSource
    turn_id: int | None
    begun_at: datetime
    texts: Sequence[str]
    told: Callable[[str], Case]


def capture_agent_lessons(agent_id: int, *, actor: Actor) -> int:
    """Capture settled items that have no case yet, with one commit per item. Return the number of recorded cases."""
    with acting_as(actor):
        settled = [
            *_drafts(agent_id, actor),
            *_escalations(agent_id, actor),
            *_failed_turns(agent_id),
            *_rejections(agent_id, actor),
            *_rejected_versions(agent_id, actor),
            *_reports(agent_id, actor),
        ]
    return sum(_capture_item(each, actor) for each in settled)


def attempt_capture(tenant_id: int, agent_id: int) -> None:
    """Capture in the tenant named by the task, never in the worker's own; then update the edit clusters."""
    actor = system_actor(tenant_id, "lessons")
    if capture_agent_lessons(agent_id, actor=actor):
        update_edit_clusters(agent_id, actor=actor)


def _capture_item(settled: SettledItem, actor: Actor) -> bool:
    with acting_as(actor):
        case = lesson_cases.mask_case(settled.told(_customer_request(settled)), _masker_for(settled, actor))
        return record_case(settled.found, case, actor=actor) is not None


def _customer_request(settled: SettledItem) -> str:
    """Return the customer's request that led to the item, or the customer's last message before the item if no turn is known."""
    if settled.found.conversation_id is None:
        return ""
    events = InboundEvent.objects.filter(conversation_id=settled.found.conversation_id)
    messages = events.filter(kind__in=[InboundEvent.Kind.MESSAGE, InboundEvent.Kind.TASK])
    of_turn = messages.filter(turn_id=settled.turn_id) if settled.turn_id else messages.none()
    texts = list(of_turn.order_by("id").values_list("text", flat=True))
    if texts:
        return " ".join(texts)
    before = messages.filter(received_at__lte=settled.begun_at).order_by("-id").values_list("text", flat=True)
    return before.first() or ""


def _masker_for(settled: SettledItem, actor: Actor) -> Callable[[str], str]:
    """Return a masker for the personal data known from the whole conversation and from the item's texts."""
    lines, names, key = [ConversationLine("agent", text) for text in settled.texts], frozenset[str](), ""
    if settled.found.conversation_id is not None:
        conversation = Conversation.objects.get(pk=settled.found.conversation_id)
        written = InboundEvent.objects.filter(conversation=conversation, kind=InboundEvent.Kind.MESSAGE)
        lines += [
            *transcript(conversation),
            *(ConversationLine("customer", text) for text in written.values_list("text", flat=True)),
        ]
        senders = written.exclude(sender_name="").values_list("sender_name", flat=True)
        names = frozenset(name for sender in senders for name in known_values_of_sender(sender).names)
        key = conversation.end_user_key
    firewall = PiiMasker.against(
        known_values_in(lines, key) | KnownValues(names=names), templates=tenant_templates(actor)
    )
    return lambda text: firewall.mask(text).text


def _without_case(source: LessonSource) -> "NegatedExpression[Combinable]":
    """Return a filter for rows without a case."""
    return ~Exists(LessonCase.objects.filter(source=source.value, source_id=OuterRef("pk")))


def _drafts(agent_id: int, actor: Actor) -> Iterator[SettledItem]:
    for status, source in (
        (Draft.Status.SENT_EDITED, LessonSource.EDITED_DRAFT),
        (Draft.Status.DISCARDED, LessonSource.DISCARDED_DRAFT),
    ):
        rows = Draft.objects.visible_to(actor).filter(_without_case(source), agent_id=agent_id, status=status)
        for draft in rows.filter(**LEARNABLE).order_by("pk")[:BATCH_SIZE]:
            found = CaseSource(source, draft.pk, agent_id, draft.conversation_id, draft.decided_at or draft.updated_at)
            texts = (draft.text, draft.sent_text, draft.reason)
            yield SettledItem(found, draft.turn_id, draft.created_at, texts, partial(_draft_case, draft))


def _draft_case(draft: Draft, asked: str) -> Case:
    if draft.status == Draft.Status.SENT_EDITED:
        return lesson_cases.lesson_from_edited_draft(asked, draft.text, draft.sent_text)
    return lesson_cases.lesson_from_discarded_draft(asked, draft.text, draft.get_reason_code_display(), draft.reason)


def _escalations(agent_id: int, actor: Actor) -> Iterator[SettledItem]:
    source = LessonSource.ANSWERED_ESCALATION
    rows = Escalation.objects.visible_to(actor).filter(_without_case(source), agent_id=agent_id)
    answered = rows.filter(status=Escalation.Status.ANSWERED, **LEARNABLE)
    for row in answered.order_by("pk")[:BATCH_SIZE]:
        found = CaseSource(source, row.pk, agent_id, row.conversation_id, row.decided_at or row.updated_at)
        build_case = partial(lesson_cases.lesson_from_escalation, question=row.question, answer=row.answer)
        yield SettledItem(found, row.turn_id, row.created_at, (row.question, row.answer), build_case)


def _failed_turns(agent_id: int) -> Iterator[SettledItem]:
    with connection.cursor() as cursor:
        cursor.execute(_FIND_FAILED_TURNS, {"agent": agent_id, "limit": BATCH_SIZE})
        rows = cursor.fetchall()
    for turn_id, conversation_id, at, code, failure in rows:
        found = CaseSource(LessonSource.FAILED_TURN, turn_id, agent_id, conversation_id, at)
        yield SettledItem(
            found, turn_id, at, (failure,), partial(lesson_cases.lesson_from_failed_turn, code=code, failure=failure)
        )


def _rejections(agent_id: int, actor: Actor) -> Iterator[SettledItem]:
    source = LessonSource.REJECTED_PROPOSAL
    rows = Proposal.objects.visible_to(actor).filter(_without_case(source), agent_id=agent_id)
    for row in rows.filter(state=Proposal.State.REJECTED).order_by("pk")[:BATCH_SIZE]:
        found = CaseSource(source, row.pk, agent_id, None, row.decided_at or row.updated_at)
        yield SettledItem(
            found, None, row.created_at, (row.rationale, row.decision_reason), partial(_rejection_case, row)
        )


def _rejection_case(row: Proposal, _asked: str) -> Case:
    return lesson_cases.lesson_from_rejection(
        row.get_kind_display(), row.rationale, row.get_reason_code_display(), row.decision_reason
    )


def _rejected_versions(agent_id: int, actor: Actor) -> Iterator[SettledItem]:
    source, status = LessonSource.REJECTED_VERSION, LearningVersion.Status
    rows = LearningVersion.objects.visible_to(actor).filter(_without_case(source), agent_id=agent_id)
    for row in rows.filter(status__in=[status.REJECTED, status.WITHDRAWN]).order_by("pk")[:BATCH_SIZE]:
        decision = _version_decision(row)
        found = CaseSource(source, row.pk, agent_id, None, row.updated_at)
        texts = (row.change_summary, decision.reason if decision else "")
        yield SettledItem(found, None, row.created_at, texts, partial(_version_case, row, decision=decision))


def _version_case(row: LearningVersion, _asked: str, decision: ChangeText | None) -> Case:
    if decision and WITHDRAWN_WITH in decision.record.evidence:
        return NoLesson("It went with another version, whose withdrawal counts.")
    return lesson_cases.lesson_from_rejected_version(
        "" if row.status == LearningVersion.Status.WITHDRAWN else row.change_summary,
        decision.reason if decision else "",
    )


def _version_decision(row: LearningVersion) -> ChangeText | None:
    """Return the text of the change record that ended the version; only it stores the reason."""
    change_texts = ChangeText.objects.filter(
        record__subject_type=LearningVersion._meta.label_lower,
        record__subject_id=row.pk,
        record__act__in=[Act.LEARNING_VERSION_REJECT, Act.LEARNING_VERSION_WITHDRAW],
    )
    return change_texts.select_related("record").order_by("-pk").first()


def _reports(agent_id: int, actor: Actor) -> Iterator[SettledItem]:
    """Yield the reports of wrong replies that a person has settled."""
    source = LessonSource.REPORTED_REPLY
    rows = Report.objects.visible_to(actor).filter(_without_case(source), agent_id=agent_id)
    settled = rows.filter(status=Report.Status.RESOLVED, **LEARNABLE).select_related("message")
    for row in settled.order_by("pk")[:BATCH_SIZE]:
        found = CaseSource(source, row.pk, agent_id, row.conversation_id, row.decided_at or row.updated_at)
        texts = (row.message.text, row.explanation, row.correction)
        build_case = partial(_report_case, row, actor)
        yield SettledItem(found, row.message.turn_id, row.message.created_at, texts, build_case)


def _report_case(row: Report, actor: Actor, asked: str) -> Case:
    if row.outcome == Report.Outcome.NOTHING_WRONG:
        return NoLesson("The person who settled the report found the reply correct.")
    if Draft.objects.visible_to(actor).filter(message=row.message_id, status=Draft.Status.SENT_EDITED).exists():
        return NoLesson("A person had written the reply in their own words.")
    beside = Report.objects.visible_to(actor).filter(message=row.message_id).exclude(pk=row.pk).values("pk")
    counted = LessonCase.objects.filter(source=LessonSource.REPORTED_REPLY.value, source_id__in=beside)
    if counted.exclude(lesson=None).exists():
        return NoLesson("Another report of the same reply was counted.")
    report_texts = row.get_reason_code_display(), row.explanation, row.correction
    return lesson_cases.lesson_from_reported_reply(asked, row.message.text, *report_texts)
