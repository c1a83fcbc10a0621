"""REST resources for agent memory (one row per agent) and memory blocks.

The agent or a person writes agent memory (R078-R081). People make memory blocks; the agent keeps a block's body up to date
unless the block is read-only (R159, Z-1).
"""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import LINES_PENDING_TEXT
from apps.api.framework.row_actions import decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, BooleanFilter, CharFilter, SearchFilter
from apps.api.protocol.request_bodies import (
    ParsedBody,
    RequestBody,
    RequiredVersionBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.memory.memory_lines import APPROVE_DESCRIPTION, line_dates_action
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.memory_warnings import add_memory_warnings
from apps.memory.actions import (
    amend_block,
    amend_memory,
    approve_block,
    approve_memory,
    create_block,
    create_memory,
    write_block,
)
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates
from apps.memory.models import AgentMemory, MemoryBlock
from apps.memory.write_holds import unsaved_parts
from apps.runtime.taint_attribution import heard_texts_of_agent

BLOCK_VALUES = ("label", "body", "is_read_only", "is_pinned")


class MemoryBlockSerializer(RowSerializer[MemoryBlock]):
    """A labelled piece of an agent's knowledge, and its last author."""

    agent_key = agent_key()

    class Meta:
        model = MemoryBlock
        fields = ("id", "agent_key", *BLOCK_VALUES, "updated_by", *STAMP_FIELDS, "ignored_fields", "notice")
        read_only_fields = fields


BLOCK_FIELDS = frozenset(MemoryBlockSerializer.Meta.fields)


class CreateMemoryBlockBody(RequestBody):
    """A new block of an agent."""

    shown = BLOCK_FIELDS
    acts = (Act.BLOCK_WRITE,)

    agent_key = StrictTextField(required=False)
    label = StrictTextField()  # type: ignore[assignment]  # REST framework takes it off the class
    body = StrictTextField(required=False)
    is_read_only = StrictBooleanField(required=False)
    is_pinned = StrictBooleanField(required=False)


class UpdateMemoryBlockBody(RequestBody):
    """New values of a block. An agent may change the body only."""

    shown = BLOCK_FIELDS
    acts = (
        Act.BLOCK_WRITE,
        Act.BLOCK_AMEND,
    )
    whole = BLOCK_VALUES

    label = StrictTextField(required=False)  # type: ignore[assignment]  # REST framework takes it off the class
    body = StrictTextField(required=False)
    is_read_only = StrictBooleanField(required=False)
    is_pinned = StrictBooleanField(required=False)
    version = StrictIntegerField(required=False)


class MemoryBlockFilters(AgentFilters):
    """Filter by agent and label."""

    label = CharFilter()
    is_pinned = BooleanFilter()
    is_read_only = BooleanFilter()
    search = SearchFilter("agent__key", "label", "body")


class MemoryBlockView(VersionedViewSet[MemoryBlock]):
    """Memory blocks of the tenant's agents. An agent sees its own."""

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
    serializer_class = MemoryBlockSerializer
    filterset_class = MemoryBlockFilters

    def get_queryset(self) -> QuerySet[MemoryBlock]:
        """Return the rows that the actor may see."""
        return MemoryBlock.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateMemoryBlockBody, responses={201: MemoryBlockSerializer})
    def create(self, request: Request) -> Response:
        """Create a block for an agent. The agent's next session carries it if it is pinned. People only."""
        sent = CreateMemoryBlockBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        block = create_block(agent_id, actor=self.actor, values=sent.only(*BLOCK_VALUES))
        return self.answer(block.pk, sent.ignored, 201)

    @extend_schema(
        request=UpdateMemoryBlockBody,
        responses={200: MemoryBlockSerializer, 202: OpenApiResponse(MemoryBlockSerializer, LINES_PENDING_TEXT)},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a block. An agent may change the body only. Open sessions keep the text they started with."""
        block = self.get_object()
        before, sent = block.body, UpdateMemoryBlockBody.read(request, self.actor, block)
        if self.actor.is_person:
            write_block(block, actor=self.actor, values=sent.only(*BLOCK_VALUES), read_at=sent.read_at)
            return self.answer(block.pk, sent.ignored, notice=add_memory_warnings("", block, before, self.actor))
        body, heard = sent.values["body"], heard_texts_of_agent(self.actor)
        amend_block(block, actor=self.actor, body=body, heard=heard, read_at=sent.read_at)
        return answer_write(self, block, sent, before)

    date_line = line_dates_action(set_block_line_dates, MemoryBlockSerializer)
    approve = decision_action(
        "approve", Act.BLOCK_APPROVE, approve_block, MemoryBlockSerializer, APPROVE_DESCRIPTION, RequiredVersionBody
    )

    @extend_schema(request=UpdateMemoryBlockBody, responses=MemoryBlockSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every value."""
        return self.partial_update(request, pk)


class AgentMemorySerializer(RowSerializer[AgentMemory]):
    """An agent's memory, and its last author."""

    agent_key = agent_key()

    class Meta:
        model = AgentMemory
        fields = ("id", "agent_key", "body", "updated_by", *STAMP_FIELDS, "ignored_fields", "notice")
        read_only_fields = fields


MEMORY_FIELDS = frozenset(AgentMemorySerializer.Meta.fields)


class CreateMemoryBody(RequestBody):
    """The first memory of an agent."""

    shown = MEMORY_FIELDS
    acts = (Act.MEMORY_AMEND,)

    agent_key = StrictTextField(required=False)
    body = StrictTextField()


class UpdateMemoryBody(RequestBody):
    """The full new body."""

    shown = MEMORY_FIELDS
    acts = (Act.MEMORY_AMEND,)
    whole = ("body",)

    body = StrictTextField(required=False)
    version = StrictIntegerField(required=False)


class MemoryFilters(AgentFilters):
    """Filter by agent and words."""

    search = SearchFilter("agent__key", "body")


class MemoryView(VersionedViewSet[AgentMemory]):
    """Memories of the tenant's agents. An agent sees its own."""

    acts: ClassVar = {
        "create": (Act.MEMORY_AMEND,),
        "partial_update": (Act.MEMORY_AMEND,),
        "set-line-dates": (Act.MEMORY_SET_LINE_DATES,),
        "approve": (Act.MEMORY_APPROVE,),
    }
    queryset = AgentMemory.objects.none()
    in_bulk = ("create", "update", "set-line-dates")
    serializer_class = AgentMemorySerializer
    filterset_class = MemoryFilters

    def get_queryset(self) -> QuerySet[AgentMemory]:
        """Return the rows that the actor may see."""
        return AgentMemory.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateMemoryBody, responses={201: AgentMemorySerializer})
    def create(self, request: Request) -> Response:
        """Create an agent's memory. Its next session carries it."""
        sent = CreateMemoryBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        body, heard = sent.values["body"], heard_texts_of_agent(self.actor)
        memory = create_memory(agent_id, actor=self.actor, body=body, heard=heard)
        return answer_write(self, memory, sent, "", 201)

    @extend_schema(
        request=UpdateMemoryBody,
        responses={200: AgentMemorySerializer, 202: OpenApiResponse(AgentMemorySerializer, LINES_PENDING_TEXT)},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Replace the body. Open sessions keep the text they started with."""
        memory = self.get_object()
        sent = UpdateMemoryBody.read(request, self.actor, memory)
        before, body, heard = memory.body, sent.values["body"], heard_texts_of_agent(self.actor)
        amend_memory(memory, actor=self.actor, body=body, heard=heard, read_at=sent.read_at)
        return answer_write(self, memory, sent, before)

    date_line = line_dates_action(set_memory_line_dates, AgentMemorySerializer)
    approve = decision_action(
        "approve", Act.MEMORY_APPROVE, approve_memory, AgentMemorySerializer, APPROVE_DESCRIPTION, RequiredVersionBody
    )

    @extend_schema(request=UpdateMemoryBody, responses=AgentMemorySerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: a memory has no other field than its body."""
        return self.partial_update(request, pk)


def answer_write(
    view: MemoryView | MemoryBlockView,
    row: AgentMemory | MemoryBlock,
    sent: ParsedBody,
    before: str,
    status: int = 200,
) -> Response:
    """Answer a write of a body with the row, and with notices on the parts that were not saved."""
    unsaved = unsaved_parts(row, sent.values["body"], view.actor)
    notice = add_memory_warnings(unsaved.notice, row, before, view.actor)
    return view.answer(row.pk, sent.ignored, status, notice, view.waiting_about(row) if unsaved.is_pending else None)
