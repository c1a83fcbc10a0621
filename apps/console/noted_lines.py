"""Whose words each line is that is noted of a customer, on their page: what stands there, and the latest that went."""

from collections.abc import Iterable
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone

from apps.console.row_urls import url_of_subject
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.memory.models import CustomerProfile, ProfileLine
from apps.memory.profile_line_ledger import lines_of_profile

GONE_SHOWN: Final = 10
_STANDING: Final = ProfileLine.Status.ACTIVE


def noted_panel(profile: Any, actor: Actor) -> dict[str, Any]:
    """The lines with who answers for each, and the conversation it came from where the reader sees that one."""
    standing, gone = _standing(profile), list(_gone(profile))
    sources = _sources([*standing, *gone], actor)
    return {
        "noted": [_shown(line, profile, sources) for line in standing],
        "noted_before": [_shown(line, profile, sources) for line in gone],
    }


def _standing(profile: CustomerProfile) -> list[ProfileLine]:
    return list(lines_of_profile(profile).filter(status=_STANDING).order_by("-field", "id"))


def _gone(profile: CustomerProfile) -> QuerySet[ProfileLine]:
    gone = lines_of_profile(profile).exclude(status=_STANDING).select_related("superseded_by")
    return gone.order_by("-ended_at", "-id")[:GONE_SHOWN]


def _sources(lines: Iterable[ProfileLine], actor: Actor) -> dict[int, Conversation]:
    ids = {line.source_conversation_id for line in lines if line.source_conversation_id}
    return Conversation.objects.visible_to(actor).in_bulk(ids)


def _shown(line: ProfileLine, profile: Any, sources: dict[int, Conversation]) -> dict[str, Any]:
    source = sources.get(line.source_conversation_id or 0)
    return {
        "line": line,
        "is_over": line.valid_until is not None and line.valid_until <= timezone.now(),
        "by": profile.people[line.author],
        "source": source,
        "url": url_of_subject("conversations.conversation", source.pk) if source else "",
    }
