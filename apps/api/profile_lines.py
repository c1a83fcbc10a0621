"""Whose words each line is that is noted of a customer (R087). For people."""

from typing import Final

from rest_framework import serializers

from apps.api.rows import Shown
from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted
from apps.memory.models import CustomerProfile, ProfileLine
from apps.memory.profile_line_ledger import lines_of_profile

MOST: Final = 200


class ProfileLineRow(Shown[ProfileLine]):
    """One line for as long as it stood."""

    conversation_id = serializers.IntegerField(read_only=True, allow_null=True, source="source_conversation_id")
    superseded_by_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = ProfileLine
        fields = (
            *("id", "field", "text", "sha256", "author", "taint", "conversation_id", "first_version", "last_version"),
            *("status", "valid_until", "review_after", "superseded_by_id", "created_at", "ended_at"),
        )
        read_only_fields = fields


def latest_lines(profile: CustomerProfile, actor: Actor) -> list[ProfileLine]:
    """The latest of them, those that went among them."""
    if not actor.is_person:
        raise NotPermitted("Only people read whose words each line of a profile is.")
    return list(lines_of_profile(profile)[:MOST])
