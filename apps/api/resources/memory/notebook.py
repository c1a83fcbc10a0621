"""The notebook: reminders, tasks and scratch notes of agents. Agents write, finish and drop their own (R177)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, DateTimeField, IntegerField

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, CharFilter, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_text

VERSION_HELP = "The note's version that was read."
NOTE_FIELDS = ("kind", "text", "due_at", "end_user_key")


class NoteSerializer(RowSerializer[Note]):
    """One note, and its author."""

    agent_key = agent_key()
    conversation_id = IntegerField(
        allow_null=True, read_only=True, help_text="The conversation in which it was written; null: none."
    )

    class Meta:
        model = Note
        fields = (
            *("id", "agent_key", "kind", "text", "due_at", "end_user_key", "conversation_id", "status", "author"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(NoteSerializer.Meta.fields)


class WriteNoteBody(RequestBody):
    """A new note."""

    acts = (Act.NOTE_WRITE,)
    shown = RESPONSE_FIELDS

    agent_key = StrictTextField(required=False, help_text="Left out by an agent: the agent itself.")
    kind = ChoiceField(Note.Kind.choices)
    text = StrictTextField(help_text="One to a few lines.")
    due_at = DateTimeField(required=False, allow_null=True, help_text="A reminder needs it, scratch has none.")
    end_user_key = StrictTextField(
        required=False, help_text="The customer it is about. Left out: for all the agent does."
    )


class UpdateNoteBody(RequestBody):
    """A new text or time."""

    acts = (Act.NOTE_AMEND,)
    shown = RESPONSE_FIELDS
    whole = ("text", "due_at")

    text = StrictTextField(required=False)
    due_at = DateTimeField(required=False, allow_null=True)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class NoteFilters(AgentFilters):
    """Filter by agent, customer, kind and state."""

    end_user_key = CharFilter(help_text="Channel and id, such as slack:U12345.")
    kind = ChoiceFilter(choices=Note.Kind.choices)
    status = ChoiceFilter(choices=Note.Status.choices)
    search = SearchFilter("text", "end_user_key")


class NoteView(RowViewSet[Note]):
    """Notes. An agent sees its own."""

    acts: ClassVar = {
        "create": (Act.NOTE_WRITE,),
        "partial_update": (Act.NOTE_AMEND,),
        "finish": (Act.NOTE_FINISH,),
        "drop": (Act.NOTE_DROP,),
    }
    queryset = Note.objects.none()
    in_bulk = ("create", "update", "finish", "drop")
    serializer_class = NoteSerializer
    filterset_class = NoteFilters

    def get_queryset(self) -> QuerySet[Note]:
        """Return the rows that the actor may see."""
        return Note.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=WriteNoteBody, responses={201: NoteSerializer})
    def create(self, request: Request) -> Response:
        """Write a note. Sessions that open from now on may carry it."""
        sent = WriteNoteBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        taint = self._taint_of(sent.values["text"])
        note = write_note(agent_id, actor=self.actor, values=sent.only(*NOTE_FIELDS), taint=taint)
        return self.answer(note.pk, sent.ignored, 201)

    @extend_schema(request=UpdateNoteBody, responses=NoteSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the text, or postpone the note."""
        note = self.get_object()
        sent = UpdateNoteBody.read(request, self.actor, note)
        values = sent.only("text", "due_at")
        taint = self._taint_of(values.get("text", ""))
        amend_note(note, actor=self.actor, values=values, read_at=sent.read_at, taint=taint)
        return self.answer(note.pk, sent.ignored)

    @extend_schema(request=UpdateNoteBody, responses=NoteSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    finish = decision_action(
        "finish", Act.NOTE_FINISH, finish_note, NoteSerializer, "Mark the note as done. No later session carries it."
    )
    drop = decision_action(
        "drop",
        Act.NOTE_DROP,
        drop_note,
        NoteSerializer,
        "Drop a note that no longer matters. No later session carries it.",
    )

    def _taint_of(self, text: str) -> Taint:
        return taint_of_text(text, heard_texts_of_agent(self.actor))
