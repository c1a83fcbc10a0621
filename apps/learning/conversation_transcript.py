"""The transcript of a conversation for extraction and lessons."""

from collections.abc import Mapping

from apps.conversations.models import Conversation, Message
from apps.conversations.rules import ConversationLine, ToolCall


def transcript(conversation: Conversation) -> list[ConversationLine]:
    """Return the messages, the tool calls with their results, and the reports of wrong replies."""
    rows = Message.objects.filter(conversation=conversation).exclude(sender=Message.Sender.TOOL).order_by("position")
    wrong = _report_reasons(conversation)
    return [
        ConversationLine(sender, text, tuple(ToolCall(**call) for call in calls), wrong.get(message_id, ""))
        for message_id, sender, text, calls in rows.values_list("pk", "sender", "text", "tool_calls")
    ]


def _report_reasons(conversation: Conversation) -> Mapping[int, str]:
    """Return report reasons by message, as fixed phrases: the reporter's own explanation must not reach a model here."""
    reasons: dict[int, dict[str, None]] = {}
    for report in conversation.reports.standing().order_by("pk"):
        reasons.setdefault(report.message_id, {})[report.get_reason_code_display()] = None
    return {message_id: "; ".join(labels) for message_id, labels in reasons.items()}
