"""Lines of memory and blocks: whose words each is, and what became of it (R080, R087). For people."""

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.filters import AgentFilters, ChoiceFilter, IdFilter
from apps.api.rows import Shown, agent_key
from apps.api.views import Rows
from apps.governance.models import Taint
from apps.memory.models import MemoryLine


class MemoryLineRow(Shown[MemoryLine]):
    """One line for as long as it stood."""

    agent_key = agent_key()
    memory_id = serializers.IntegerField(read_only=True, allow_null=True)
    block_id = serializers.IntegerField(read_only=True, allow_null=True)
    conversation_id = serializers.IntegerField(read_only=True, allow_null=True, source="source_conversation")
    superseded_by_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = MemoryLine
        fields = (
            "id",
            "agent_key",
            "memory_id",
            "block_id",
            "text",
            "sha256",
            "author",
            "taint",
            "conversation_id",
            "first_version",
            "last_version",
            "status",
            "superseded_by_id",
            "began_at",
            "ended_at",
        )
        read_only_fields = fields


class MemoryLineFilters(AgentFilters):
    """By agent, text, state and whose words they are."""

    memory_id = IdFilter()
    block_id = IdFilter()
    status = ChoiceFilter(choices=MemoryLine.Status.choices)
    taint = ChoiceFilter(choices=Taint.choices)


class MemoryLineView(Rows[MemoryLine]):
    """The ledger beside memory and blocks."""

    queryset = MemoryLine.objects.none()
    serializer_class = MemoryLineRow
    filterset_class = MemoryLineFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemoryLine]:
        """All of them, for a reviewer."""
        return MemoryLine.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
