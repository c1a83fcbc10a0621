"""An agent's memory, one row per agent, written by the agent or a person (R078-R081)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.agents import agent_id_named
from apps.api.bodies import AsSeen, Body, Number, Text
from apps.api.deciding import deciding
from apps.api.filters import AgentFilters, SearchFilter
from apps.api.memory_lines import VOUCHING, dating
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.versions import Versioned
from apps.api.views import LINES_WAIT
from apps.governance.policy.table import Act
from apps.learning.contradictions.memory_warnings import with_advice
from apps.memory.actions import amend_memory, approve_memory, create_memory
from apps.memory.line_dates import date_memory
from apps.memory.models import AgentMemory
from apps.memory.write_holds import told
from apps.runtime.taint_attribution import heard_by


class MemoryRow(Shown[AgentMemory]):
    """What an agent remembers, and who wrote it last."""

    agent_key = agent_key()

    class Meta:
        model = AgentMemory
        fields = ("id", "agent_key", "body", "updated_by", *STAMPS, "ignored_fields", "notice")
        read_only_fields = fields


MEMORY_FIELDS = frozenset(MemoryRow.Meta.fields)


class NewMemory(Body):
    """The first memory of an agent."""

    shown = MEMORY_FIELDS
    acts = (Act.MEMORY_AMEND,)

    agent_key = Text(required=False)
    body = Text()


class MemoryChange(Body):
    """The full new body."""

    shown = MEMORY_FIELDS
    acts = (Act.MEMORY_AMEND,)
    whole = ("body",)

    body = Text(required=False)
    version = Number(required=False)


class MemoryFilters(AgentFilters):
    """By agent and words."""

    search = SearchFilter("agent__key", "body")


class MemoryView(Versioned[AgentMemory]):
    """Memories of the tenant's agents; an agent sees its own."""

    acts: ClassVar = {
        "create": (Act.MEMORY_AMEND,),
        "partial_update": (Act.MEMORY_AMEND,),
        "set-line-dates": (Act.MEMORY_SET_LINE_DATES,),
        "approve": (Act.MEMORY_APPROVE,),
    }
    queryset = AgentMemory.objects.none()
    in_bulk = ("create", "update", "set-line-dates")
    serializer_class = MemoryRow
    filterset_class = MemoryFilters

    def get_queryset(self) -> QuerySet[AgentMemory]:
        """Those the actor sees."""
        return AgentMemory.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewMemory, responses={201: MemoryRow})
    def create(self, request: Request) -> Response:
        """Start an agent's memory. Its next session carries it."""
        sent = NewMemory.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        body, heard = sent.values["body"], heard_by(self.actor)
        memory = create_memory(agent_id, actor=self.actor, body=body, heard=heard)
        notice = told(memory, body, self.actor)
        waits = self.waiting_about(memory, notice)
        return self.answer(memory.pk, sent.ignored, 201, with_advice(notice, memory, "", self.actor), waits)

    @extend_schema(request=MemoryChange, responses={200: MemoryRow, 202: OpenApiResponse(MemoryRow, LINES_WAIT)})
    def partial_update(self, request: Request, pk: str) -> Response:
        """Replace the body. Sessions already open keep what they started with."""
        del pk
        memory = self.get_object()
        sent = MemoryChange.read(request, self.actor, memory)
        before, body, heard = memory.body, sent.values["body"], heard_by(self.actor)
        amend_memory(memory, actor=self.actor, body=body, heard=heard, read_at=sent.read_at)
        notice = told(memory, body, self.actor)
        waits = self.waiting_about(memory, notice)
        return self.answer(memory.pk, sent.ignored, notice=with_advice(notice, memory, before, self.actor), waits=waits)

    date_line = dating(date_memory, MemoryRow)
    approve = deciding("approve", Act.MEMORY_APPROVE, approve_memory, MemoryRow, VOUCHING, AsSeen)

    @extend_schema(request=MemoryChange, responses=MemoryRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same; a memory has nothing but its body."""
        return self.partial_update(request, pk)
