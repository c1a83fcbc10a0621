"""What answers show of rows: plain fields, never written through, and the names of what a write stripped."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from django.db.models import Model
from rest_framework import serializers

from apps.api.deprecation import Deprecation
from apps.api.reading import told

Row = TypeVar("Row", bound=Model)

STAMPS = ("taint", "version", "created_at", "updated_at")


class Shown(serializers.ModelSerializer[Row]):
    """A row of a governed noun in an answer."""

    # Fields that go.
    going: ClassVar[Mapping[str, Deprecation]] = {}

    ignored_fields = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Only in answers to writes: fields that were sent, known and stripped.",
    )

    notice = serializers.CharField(
        required=False,
        help_text="Only in answers to writes of which something waits for a person: what does, and what stays.",
    )

    def to_representation(self, instance: Any) -> Any:
        """After a write, with what of the body was stripped."""
        shown = told(instance, self)
        if "ignored_fields" in self.context:
            shown["ignored_fields"] = self.context["ignored_fields"]
        if self.context.get("notice"):
            shown["notice"] = self.context["notice"]
        return shown


def agent_key() -> serializers.CharField:
    """The key of a row's agent, instead of its id."""
    return serializers.CharField(source="agent.key", read_only=True)
