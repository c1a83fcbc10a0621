"""Why an agent gave a reply, with the owner of every text in the model's input. For people."""

from collections.abc import Iterable
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.governance.errors import NotPermitted
from apps.prompt.prompt_input import SendMode
from apps.prompt.text_reuse.source_overlap import CharacterRange
from apps.runtime.explain.reply_sources import ReplySource, SourcePlace, TurnExplanation, explain_turn
from apps.runtime.models import ToolStep, Turn


class TextSpanSerializer(serializers.Serializer[Any]):
    """A part of a text, in characters."""

    start = serializers.IntegerField()
    end = serializers.IntegerField(help_text="Exclusive.")


class ModelInputSerializer(serializers.Serializer[Any]):
    """One text in the model's input. A text that is no row has a `name` instead of a record."""

    place = serializers.ChoiceField([place.value for place in SourcePlace])
    slot = serializers.IntegerField(allow_null=True)
    record_type = serializers.CharField(allow_null=True)
    record_id = serializers.IntegerField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    field = serializers.CharField()
    author = serializers.CharField()
    approver = serializers.CharField()
    taint = serializers.CharField()
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    is_erased = serializers.BooleanField(help_text="True: the text was erased since, and is not shown.")
    text = serializers.CharField()
    overlap = serializers.FloatField(
        help_text="A heuristic: the share of the reply's distinctive words that occur in this text in the same order."
    )
    in_reply = TextSpanSerializer(many=True)
    in_text = TextSpanSerializer(many=True)


class AnsweredEventSerializer(serializers.Serializer[Any]):
    """An event that the turn answered."""

    kind = serializers.CharField()
    text = serializers.CharField()
    received_at = serializers.DateTimeField()


class ToolCallSerializer(serializers.ModelSerializer[ToolStep]):
    """A tool call of the turn, and its result."""

    class Meta:
        model = ToolStep
        fields = ("name", "arguments", "result", "is_error", "state")
        read_only_fields = fields


class UsageTotalsSerializer(serializers.Serializer[Any]):
    """Usage of the turn's model calls. The cost is null if a price is unknown."""

    models = serializers.ListField(child=serializers.CharField())
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cache_read_tokens = serializers.IntegerField()
    cache_write_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost_micro_usd = serializers.IntegerField(allow_null=True)


class ReplyExplanationSerializer(serializers.Serializer[Any]):
    """Everything that led to one reply."""

    turn_id = serializers.IntegerField()
    conversation_id = serializers.IntegerField()
    session_id = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(Turn.Status.choices)
    outcome = serializers.CharField()
    reply = serializers.CharField()
    events = AnsweredEventSerializer(many=True)
    send_mode = serializers.ChoiceField([mode.value for mode in SendMode])
    draft_id = serializers.IntegerField(allow_null=True)
    sent_by = serializers.CharField(help_text="The person who sent the draft; empty if the agent answered by itself.")
    usage = UsageTotalsSerializer()
    learning_version_id = serializers.IntegerField(allow_null=True)
    bullet_count = serializers.IntegerField()
    example_ids = serializers.ListField(child=serializers.IntegerField())
    bank_example_ids = serializers.ListField(child=serializers.IntegerField())
    tool_calls = ToolCallSerializer(many=True)
    sources = ModelInputSerializer(many=True, help_text="Sources of the reply, those it repeats most first.")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences about sources that could not be read."
    )


class ReplyExplanationView(ActorView):
    """The explanation of one turn."""

    @extend_schema(responses=ReplyExplanationSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Show everything in the model's input, and how much of it the reply repeats. Not off the record. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read why an agent said something. An agent's token cannot.")
        found = explain_turn(int(pk), actor=self.actor)
        if found is None:
            raise Http404
        return Response(ReplyExplanationSerializer(_explanation_payload(found)).data)


def _explanation_payload(found: TurnExplanation) -> dict[str, Any]:
    turn, draft, retrieval = found.turn, found.draft, found.retrieval
    return {
        "turn_id": turn.pk,
        "conversation_id": turn.conversation_id,
        "session_id": turn.session_id,
        "status": turn.status,
        "outcome": turn.outcome,
        "reply": found.reply,
        "events": found.events,
        "send_mode": found.send_mode,
        "draft_id": draft.pk if draft else None,
        "sent_by": draft.decided_by if draft and draft.message_id else "",
        "usage": _usage_totals(found),
        "learning_version_id": retrieval.learning_version_id,
        "bullet_count": retrieval.bullet_count,
        "example_ids": retrieval.example_ids,
        "bank_example_ids": retrieval.bank_example_ids,
        "tool_calls": found.tool_steps,
        "sources": [_model_input_payload(stood) for stood in found.sources],
        "warnings": found.flaws,
    }


def _usage_totals(found: TurnExplanation) -> dict[str, Any]:
    calls = found.calls
    costs = [call.cost_micro_usd for call in calls]
    return {
        "models": sorted({call.model for call in calls}),
        "calls": len(calls),
        "input_tokens": sum(call.input_tokens for call in calls),
        "cache_read_tokens": sum(call.cache_read_tokens for call in calls),
        "cache_write_tokens": sum(call.cache_write_5m_tokens + call.cache_write_1h_tokens for call in calls),
        "output_tokens": sum(call.output_tokens for call in calls),
        "cost_micro_usd": None if None in costs else sum(cost or 0 for cost in costs),
    }


def _model_input_payload(stood: ReplySource) -> dict[str, Any]:
    source = stood.source
    return {
        "place": stood.place.value,
        "slot": stood.slot,
        "record_type": source.record_type if source else None,
        "record_id": source.record_id if source else None,
        "version": source.version if source else None,
        "field": source.field if source else "",
        "author": source.author if source else "",
        "approver": source.approver if source else "",
        "taint": source.taint if source else "",
        "name": stood.name,
        "size_bytes": stood.size_bytes,
        "is_erased": stood.is_erased,
        "text": stood.text,
        "overlap": round(stood.overlap.share, 3),
        "in_reply": _text_spans(stood.overlap.in_reply),
        "in_text": _text_spans(stood.overlap.in_source),
    }


def _text_spans(stretches: Iterable[CharacterRange]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in stretches]
