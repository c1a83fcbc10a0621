"""States and sources as badges; the word of a badge says what its colour says."""

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

TONES = {
    "draft": "waiting",
    "open": "waiting",
    "running": "waiting",
    "needs_rebase": "waiting",
    "approved": "good",
    "active": "good",
    "applied": "good",
    "resolved": "good",
    "done": "good",
    "live": "good",
    "solved": "good",
    "drafted": "good",
    "sent": "good",
    "sent_edited": "good",
    "answered": "good",
    "rejected": "bad",
    "withdrawn": "bad",
    "failed": "bad",
    "revoked": "bad",
    "unsolved": "bad",
}


def badge(value: str) -> SafeString:
    """Return a state as a badge; its word says what its colour says."""
    tone, words = TONES.get(str(value), "plain"), str(value).replace("_", " ")
    return format_html('<span class="pc-badge pc-{}">{}</span>', tone, words)


GROUNDING_TONES = {"skill": "good", "tool": "good", "profile": "plain", "none": "waiting"}


def grounded(draft: Any) -> SafeString:
    """Return the grounding of a draft as a badge; its word says what its colour says."""
    label = draft.get_grounding_display()
    return format_html('<span class="pc-badge pc-{}">{}</span>', GROUNDING_TONES[draft.grounding], label)


SOURCE_BADGES = {
    "operator": ("good", "a person's"),
    "agent": ("plain", "the agent's"),
    "tool": ("waiting", "from a tool"),
    "customer": ("waiting", "from a customer"),
    "import": ("waiting", "imported"),
}


def source_badge(taint: str) -> SafeString:
    """Return the source of a row as a badge; its word says what its colour says."""
    tone, words = SOURCE_BADGES[str(taint)]
    return format_html('<span class="pc-badge pc-{}" title="{}">{}</span>', tone, taint, words)
