"""Sessions: the frozen prompt prefixes, to be looked at (R041, R062)."""

from django.db.models import Max, QuerySet
from django.db.models.functions import Coalesce
from rest_framework import serializers

from apps.api.filters import AgentFilters, IdFilter
from apps.api.rows import Shown, agent_key
from apps.api.views import Rows
from apps.runtime.models import Session, SessionPart

LINE = ("id", "conversation_id", "agent_key", "snapshot_at", "last_turn_at", "prefix_sha256", "tool_names")


class PartRow(serializers.ModelSerializer[SessionPart]):
    """One slot of the prefix, as it was frozen."""

    slot = serializers.IntegerField(source="part.slot", read_only=True)
    sha256 = serializers.CharField(source="part.sha256", read_only=True)
    text = serializers.CharField(source="part.text", read_only=True)

    class Meta:
        model = SessionPart
        fields = ("position", "slot", "sha256", "text")
        read_only_fields = fields


class SessionLine(Shown[Session]):
    """A session in a list."""

    agent_key = agent_key()
    conversation_id = serializers.IntegerField(read_only=True)
    last_turn_at = serializers.DateTimeField(read_only=True, help_text="Its last finished turn, or its beginning.")
    tool_names = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Session
        fields: tuple[str, ...] = LINE
        read_only_fields = fields


class SessionRow(SessionLine):
    """A session with the words of its prefix."""

    parts = PartRow(many=True, read_only=True)

    class Meta(SessionLine.Meta):
        fields = (*LINE, "parts")
        read_only_fields = fields


class SessionFilters(AgentFilters):
    """By agent and conversation."""

    conversation_id = IdFilter()


class SessionView(Rows[Session]):
    """Sessions of the conversations the actor sees."""

    queryset = Session.objects.none()
    serializer_class = SessionRow
    line_class = SessionLine
    filterset_class = SessionFilters

    def get_queryset(self) -> QuerySet[Session]:
        """With when each was last used."""
        sessions = (
            Session.objects.filter(tenant_id=self.actor.tenant_id)
            .select_related("agent")
            .annotate(last_turn_at=Coalesce(Max("turns__finished_at"), "snapshot_at"))
        )
        return sessions if self.action == "list" else sessions.prefetch_related("parts__part")
