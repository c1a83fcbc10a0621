"""REST resources for agent memory (one row per agent) and memory blocks.

The agent or a person writes agent memory (R078-R081). People make memory blocks; the agent keeps a block's body up to date
unless the block is read-only (R159, Z-1).
"""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import LINES_WAIT
from apps.api.framework.row_actions import deciding
from apps.api.framework.versions import Versioned
from apps.api.protocol.filters import AgentFilters, BooleanFilter, CharFilter, SearchFilter
from apps.api.protocol.request_bodies import AsSeen, Body, Number, Text, YesNo
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.memory.memory_lines import VOUCHING, dating
from apps.governance.policy.table import Act
from apps.learning.contradictions.memory_warnings import with_advice
from apps.memory.actions import (
    amend_block,
    amend_memory,
    approve_block,
    approve_memory,
    create_block,
    create_memory,
    write_block,
)
from apps.memory.line_dates import date_block, date_memory
from apps.memory.models import AgentMemory, MemoryBlock
from apps.memory.write_holds import told
from apps.runtime.taint_attribution import heard_by

VALUES = ("label", "body", "is_read_only", "is_pinned")


class BlockRow(Shown[MemoryBlock]):
    """A labelled piece of what an agent knows, and who wrote it last."""

    agent_key = agent_key()

    class Meta:
        model = MemoryBlock
        fields = ("id", "agent_key", *VALUES, "updated_by", *STAMPS, "ignored_fields", "notice")
        read_only_fields = fields


BLOCK_FIELDS = frozenset(BlockRow.Meta.fields)


class NewBlock(Body):
    """A block for an agent."""

    shown = BLOCK_FIELDS
    acts = (Act.BLOCK_WRITE,)

    agent_key = Text(required=False)
    label = Text()  # type: ignore[assignment]  # REST framework takes it off the class
    body = Text(required=False)
    is_read_only = YesNo(required=False)
    is_pinned = YesNo(required=False)


class BlockChange(Body):
    """What of a block shall read otherwise; an agent changes the body alone."""

    shown = BLOCK_FIELDS
    acts = (
        Act.BLOCK_WRITE,
        Act.BLOCK_AMEND,
    )
    whole = VALUES

    label = Text(required=False)  # type: ignore[assignment]  # REST framework takes it off the class
    body = Text(required=False)
    is_read_only = YesNo(required=False)
    is_pinned = YesNo(required=False)
    version = Number(required=False)


class BlockFilters(AgentFilters):
    """By agent and label."""

    label = CharFilter()
    is_pinned = BooleanFilter()
    is_read_only = BooleanFilter()
    search = SearchFilter("agent__key", "label", "body")


class BlockView(Versioned[MemoryBlock]):
    """Blocks of the tenant's agents; an agent sees its own."""

    acts: ClassVar = {
        "create": (Act.BLOCK_WRITE,),
        "partial_update": (
            Act.BLOCK_WRITE,
            Act.BLOCK_AMEND,
        ),
        "set-line-dates": (Act.BLOCK_SET_LINE_DATES,),
        "approve": (Act.BLOCK_APPROVE,),
    }
    queryset = MemoryBlock.objects.none()
    in_bulk = ("create", "update", "set-line-dates")
    serializer_class = BlockRow
    filterset_class = BlockFilters

    def get_queryset(self) -> QuerySet[MemoryBlock]:
        """Those the actor sees."""
        return MemoryBlock.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewBlock, responses={201: BlockRow})
    def create(self, request: Request) -> Response:
        """Give an agent a block; people only. Pinned, the agent's next session carries it."""
        sent = NewBlock.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        block = create_block(agent_id, actor=self.actor, values=sent.only(*VALUES))
        return self.answer(block.pk, sent.ignored, 201)

    @extend_schema(request=BlockChange, responses={200: BlockRow, 202: OpenApiResponse(BlockRow, LINES_WAIT)})
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a block; an agent its body. Sessions already open keep what they started with."""
        del pk
        block = self.get_object()
        before, sent = block.body, BlockChange.read(request, self.actor, block)
        if self.actor.is_person:
            write_block(block, actor=self.actor, values=sent.only(*VALUES), read_at=sent.read_at)
            return self.answer(block.pk, sent.ignored, notice=with_advice("", block, before, self.actor))
        body, heard = sent.values["body"], heard_by(self.actor)
        amend_block(block, actor=self.actor, body=body, heard=heard, read_at=sent.read_at)
        notice = told(block, body, self.actor)
        waits = self.waiting_about(block, notice)
        return self.answer(block.pk, sent.ignored, notice=with_advice(notice, block, before, self.actor), waits=waits)

    date_line = dating(date_block, BlockRow)
    approve = deciding("approve", Act.BLOCK_APPROVE, approve_block, BlockRow, VOUCHING, AsSeen)

    @extend_schema(request=BlockChange, responses=BlockRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same, with every value sent."""
        return self.partial_update(request, pk)


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
