"""The panels for a reviewer of a skill, beside its text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.console.conversations.transcripts import TranscriptStep, transcript
from apps.console.framework.markdown_rendering import render_markdown
from apps.console.framework.request_context import actor_of, people_of
from apps.console.learning.contradictions import contradictions_about
from apps.console.review.comments import comments_about
from apps.console.review.content_flags import ContentFlag, find_content_flags, missing_file_flags, personal_data_flags
from apps.console.review.inbox_filters import open_proposals_about
from apps.console.review.provenance import import_origin, provenance_panel
from apps.console.skills.skill_attachments import files_panel
from apps.console.skills.skill_curation import curation_panel
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.learning.extraction.models import Extraction
from apps.skills.models import Skill

FLAGGED_FIELDS = ("title", "description", "body")
SOURCES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LearningSource:
    """A conversation that the skill was learned from."""

    conversation: Conversation
    extraction: Extraction | None
    lines: list[TranscriptStep]


def review_panels(skill: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the panels beside the text: its sources, files, flags, proposals, comments and contradictions."""
    record, proposals = _draft_record(skill), list(open_proposals_about(skill, actor_of(request)))
    return {
        **provenance_panel(skill, [getattr(skill, name) for name in FLAGGED_FIELDS], actor_of(request)),
        **files_panel(skill, request),
        "body_html": render_markdown(skill.body),
        "flags": _content_flags(skill, actor_of(request)),
        "sources": list(_sources(skill, record, request)),
        "led_by": skill.extractions.count(),
        "brought": import_origin(record.evidence) if record else None,
        "drafter": people_of(request)[skill.drafted_by],
        "approver": people_of(request)[skill.approved_by] if skill.approved_by else "",
        "use": getattr(skill, "use", None),
        "proposals": proposals,
        "comments": comments_about([each.pk for each in proposals], actor_of(request), people_of(request)),
        "contradictions": contradictions_about(skill, request),
        **curation_panel(skill, request),
    }


def _content_flags(skill: Skill, actor: Actor) -> list[ContentFlag]:
    texts = {name: getattr(skill, name) for name in FLAGGED_FIELDS}
    return [
        *find_content_flags(texts),
        *missing_file_flags(skill.body, [file.name for file in skill.files]),
        *(personal_data_flags(texts, actor) if skill.status == Skill.Status.DRAFT else []),
    ]


def _draft_record(skill: Skill) -> ChangeRecord | None:
    records = ChangeRecord.objects.filter(subject_type=skill._meta.label_lower, subject_id=skill.pk)
    return records.filter(act=Act.SKILL_DRAFT).first()


def _sources(skill: Skill, record: ChangeRecord | None, request: HttpRequest) -> Iterator[LearningSource]:
    extractions: QuerySet[Extraction] = skill.extractions.select_related("conversation__agent")
    by_conversation = {extraction.conversation_id: extraction for extraction in extractions[:SOURCES_SHOWN]}
    evidence = record.evidence if record else {}
    named = {evidence.get("conversation_id"), *evidence.get("conversation_ids", ())[:SOURCES_SHOWN]}
    ids = {*by_conversation, *named} - {None}
    for conversation in Conversation.objects.visible_to(actor_of(request)).filter(pk__in=ids).select_related("agent"):
        yield LearningSource(conversation, by_conversation.get(conversation.pk), transcript(conversation))
