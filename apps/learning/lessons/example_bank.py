"""Stores a correction that a person chose as an example for all customers, masked again with all known personal data (Z-12)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.learning.conversation_transcript import transcript
from apps.learning.lessons.actions import add_example
from apps.learning.lessons.example_rules import ExampleTexts
from apps.learning.lessons.models import Example, Lesson
from apps.learning.lessons.rules import LessonSource
from apps.learning.private_data import collect_known_values, tenant_templates
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker

# Only the latest cases are read if a lesson has many.
CONVERSATIONS_READ: Final = 10


def is_correction(lesson: Lesson) -> bool:
    """Return whether the lesson contains a draft and a person's correction of the draft."""
    return lesson.source == LessonSource.EDITED_DRAFT


def example_texts_of(lesson: Lesson) -> ExampleTexts:
    """Return the lesson's texts, which were masked when its case was recorded."""
    return ExampleTexts(lesson.situation, lesson.problem, lesson.correction)


def add_lesson_example(lesson: Lesson, *, actor: Actor, words: Mapping[str, str]) -> Example:
    """Store the lesson's texts, or this person's edited versions, as an example; personal data is masked in both."""
    authorize(actor, Act.EXAMPLE_ADD, lesson.tenant_id, agent_id=lesson.agent_id)
    if not is_correction(lesson):
        sentence = "Only a correction of a draft can become an example, and this lesson has another source."
        raise Invalid(sentence, {"lesson_id": [sentence]})
    with acting_as(actor):
        firewall = PiiMasker.against(_known_values(lesson, actor), templates=tenant_templates(actor))
        return add_example(lesson, actor=actor, words=replace(example_texts_of(lesson), **words), firewall=firewall)


def _known_values(lesson: Lesson, actor: Actor) -> KnownValues:
    """Return the known personal data of the lesson's conversations."""
    ids = lesson.cases.order_by("-pk").values_list("conversation_id", flat=True)[:CONVERSATIONS_READ]
    known = KnownValues()
    for conversation in Conversation.objects.visible_to(actor).filter(pk__in=[each for each in ids if each]):
        written = InboundEvent.objects.filter(conversation=conversation, kind=InboundEvent.Kind.MESSAGE)
        lines = [ConversationLine("customer", text) for text in written.values_list("text", flat=True)]
        known |= collect_known_values(conversation, [*transcript(conversation), *lines], actor)
    return known
