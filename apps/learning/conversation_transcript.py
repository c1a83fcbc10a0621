"""A conversation as extraction and lessons read it."""

from collections.abc import Mapping

from apps.conversations.models import Conversation, Message
from apps.conversations.rules import ConversationLine, ToolCall


def transcript(conversation: Conversation) -> list[ConversationLine]:
    """What was said and done, with each tool call's result at the call, and what people reported as wrong."""
    rows = Message.objects.filter(conversation=conversation).exclude(sender=Message.Sender.TOOL).order_by("position")
    wrong = _report_reasons(conversation)
    return [
        ConversationLine(sender, text, tuple(ToolCall(**call) for call in calls), wrong.get(message_id, ""))
        for message_id, sender, text, calls in rows.values_list("pk", "sender", "text", "tool_calls")
    ]


def _report_reasons(conversation: Conversation) -> Mapping[int, str]:
    """By message, in the house's words alone: what a person wrote about it reaches no model from here."""
    reasons: dict[int, dict[str, None]] = {}
    for report in conversation.reports.standing().order_by("pk"):
        reasons.setdefault(report.message_id, {})[report.get_reason_code_display()] = None
    return {message_id: "; ".join(labels) for message_id, labels in reasons.items()}
