"""The prompt of an agent, now or at a past moment, with the owner of every byte.

The agent itself reads its own current prompt.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.protocol.query_parameters import reject_unknown_parameters
from apps.governance.errors import Invalid, NotPermitted
from apps.memory.rules import END_USER_KEY_PATTERN, END_USER_KEY_RULE
from apps.prompt.prompt_input import PromptInput
from apps.prompt.rendering.segments import PromptSnapshot, Span
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.prompt_snapshot.preview import preview_at, preview_prompt_input
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import AT_PARAMETER, parse_moment, zone_of

PARAMETERS = frozenset({"as_of", "end_user_key"})


class SpanOwnerSerializer(serializers.Serializer[Any]):
    """The owner of a run of bytes. The product's own text has a `template` and no record."""

    start = serializers.IntegerField(help_text="Offset in bytes of UTF-8 from the beginning of the text.")
    end = serializers.IntegerField(help_text="Exclusive.")
    template = serializers.CharField()
    record_type = serializers.CharField(allow_null=True)
    record_id = serializers.IntegerField(allow_null=True)
    field = serializers.CharField()
    version = serializers.IntegerField(allow_null=True)
    line = serializers.IntegerField()
    author = serializers.CharField()
    approver = serializers.CharField()
    taint = serializers.CharField()


class PromptBlockSerializer(serializers.Serializer[Any]):
    """One slot. The texts of all blocks, joined, are the prompt."""

    slot = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField()
    owners = SpanOwnerSerializer(many=True, help_text="Empty for an agent.")


class AgentPromptSerializer(serializers.Serializer[Any]):
    """Slots 1 to 5 as a session freezes them."""

    agent_key = serializers.CharField()
    end_user_key = serializers.CharField()
    as_of = serializers.DateTimeField(allow_null=True)
    sha256 = serializers.CharField()
    text = serializers.CharField()
    blocks = PromptBlockSerializer(many=True)


class AgentPromptView(ActorView):
    """The prompt of one agent."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "as_of", OpenApiTypes.STR, description="A moment; without an offset it is in the tenant's time zone."
            ),
            OpenApiParameter(
                "end_user_key", OpenApiTypes.STR, description="The customer; left out, the prompt is for no customer."
            ),
        ],
        responses=AgentPromptSerializer,
    )
    def get(self, request: Request, pk: str) -> Response:
        """Show the prompt of the agent's next session; with `as_of`, for people, that of a session at that moment.

        An agent reads its own prompt, without the owners.
        """
        query = request.query_params
        reject_unknown_parameters(request, PARAMETERS)
        if not self.actor.is_person and "as_of" in query:
            raise NotPermitted("Only people may read past prompts. An agent's token cannot.")
        agent = Agent.objects.visible_to(self.actor).filter(pk=pk).first()
        if agent is None:
            raise Http404
        customer = query.get("end_user_key", "")
        if customer and not re.match(END_USER_KEY_PATTERN, customer):
            raise ValidationError({"end_user_key": [END_USER_KEY_RULE]})
        moment = self._read_moment(query.get("as_of", ""))
        assembled = render_snapshot(self._read_input(agent, customer, moment))
        found = {"agent_key": agent.key, "end_user_key": customer, "as_of": moment, "sha256": assembled.sha256}
        blocks = list(_prompt_blocks(assembled, with_owners=self.actor.is_person))
        return Response(AgentPromptSerializer({**found, "text": assembled.text, "blocks": blocks}).data)

    def _read_input(self, agent: Agent, customer: str, moment: datetime | None) -> PromptInput:
        if self.actor.is_person:
            return preview_at(agent, customer, moment, actor=self.actor)
        # Read as a worker does when it freezes the prompt: the system reads settings and rules, the agent reads the rest.
        return preview_prompt_input(agent, customer, system=system_actor(self.actor.tenant_id))

    def _read_moment(self, moment_text: str) -> Any:
        try:
            return parse_moment(moment_text, zone_of(self.actor), timezone.now()) if moment_text else None
        except Invalid as refusal:
            raise ValidationError({"as_of": refusal.fields[AT_PARAMETER]}) from refusal


def _prompt_blocks(assembled: PromptSnapshot, *, with_owners: bool) -> Iterator[dict[str, Any]]:
    spans = list(assembled.spans()) if with_owners else []
    for part, text in zip(assembled.parts, assembled.blocks, strict=True):
        owners = [_span_owner(span) for span in spans if span.slot is part.slot]
        yield {"slot": part.slot.value, "name": part.slot.name.lower(), "text": text, "owners": owners}


def _span_owner(span: Span) -> dict[str, Any]:
    source = span.segment.source
    return {
        "start": span.start,
        "end": span.end,
        "template": span.segment.template,
        "record_type": source.record_type if source else None,
        "record_id": source.record_id if source else None,
        "field": source.field if source else "",
        "version": source.version if source else None,
        "line": span.segment.line,
        "author": source.author if source else "",
        "approver": source.approver if source else "",
        "taint": source.taint if source else "",
    }
