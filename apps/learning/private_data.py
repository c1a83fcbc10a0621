"""Collects the personal data to mask before learning: known values of a conversation's people, and the tenant's own numbers."""

from collections.abc import Sequence
from datetime import date
from zoneinfo import ZoneInfo

from django.db.models import Max, Min

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.learning.transcript_masking import known_values_in
from apps.memory.models import CustomerProfile
from apps.tenants.models import TenantSettings
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.tenant_patterns import PiiTemplate, UnusableTemplate, read_templates
from apps.text_analysis.pii.tool_result_values import known_values_in_notes, known_values_of_sender


def collect_known_values(conversation: Conversation, lines: Sequence[ConversationLine], actor: Actor) -> KnownValues:
    """Return known personal values from messages, tool results, senders and the customer's profile."""
    known = known_values_in(lines, conversation.end_user_key)
    written = InboundEvent.objects.filter(conversation=conversation).exclude(sender_name="")
    for name in written.values_list("sender_name", flat=True):
        known |= known_values_of_sender(name)
    profiles = CustomerProfile.objects.visible_to(actor).filter(end_user_key=conversation.end_user_key)
    for text in (text for both in profiles.values_list("preferences", "notes") for text in both):
        known |= known_values_in_notes(text)
    return known


def single_day_of(conversation: Conversation, actor: Actor) -> date | None:
    """Return the day of a conversation on the tenant's clock; None if it spans several days or was imported."""
    if conversation.origin != Conversation.Origin.LIVE:
        return None
    zone = ZoneInfo(TenantSettings.objects.visible_to(actor).get().timezone)
    bounds = Message.objects.filter(conversation=conversation).aggregate(
        first=Min("created_at"), last=Max("created_at")
    )
    days = {moment.astimezone(zone).date() for moment in bounds.values() if moment is not None}
    return days.pop() if len(days) == 1 else None


def tenant_templates(actor: Actor) -> tuple[PiiTemplate, ...]:
    """Return the templates of the tenant's own numbers, such as order numbers; the settings page rejects invalid ones."""
    read = read_templates(TenantSettings.objects.visible_to(actor).get().pii_patterns)
    return () if isinstance(read, UnusableTemplate) else read
