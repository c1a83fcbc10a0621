"""Checkpoints: moments with a name, each a way back. For people."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, DateTimeField

from apps.api.agents import agent_id_named
from apps.api.bodies import Body, Text
from apps.api.filters import AgentFilters, SearchFilter
from apps.api.rows import STAMPS, Shown
from apps.api.views import Rows
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.restore.actions import make_checkpoint
from apps.restore.models import Checkpoint


class CheckpointRow(Shown[Checkpoint]):
    """A moment of an agent or of the whole tenant."""

    agent_key = CharField(source="agent.key", read_only=True, allow_null=True, help_text="Null: the whole tenant.")

    class Meta:
        model = Checkpoint
        fields = ("id", "name", "agent_key", "moment", "reason", "created_by", *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewCheckpoint(Body):
    """What to find the moment by."""

    acts = (Act.CHECKPOINT_CREATE,)
    about = frozenset[str]()
    shown = frozenset(CheckpointRow.Meta.fields)

    name = Text()
    agent_key = Text(required=False, allow_null=True, help_text="Left out or null: the whole tenant.")
    moment = DateTimeField(required=False, help_text="Of the past; left out, the present one.")
    reason = Text(required=False)


class CheckpointFilters(AgentFilters):
    """By agent and words."""

    search = SearchFilter("name", "reason")


class CheckpointView(Rows[Checkpoint]):
    """Checkpoints of the tenant; `restore/` below one leads back to it."""

    acts: ClassVar = {"create": (Act.CHECKPOINT_CREATE,)}
    queryset = Checkpoint.objects.none()
    serializer_class = CheckpointRow
    filterset_class = CheckpointFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Checkpoint]:
        """Those of the tenant."""
        return Checkpoint.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewCheckpoint, responses={201: CheckpointRow})
    def create(self, request: Request) -> Response:
        """Give the present moment a name, or one of the past."""
        authorize(self.actor, Act.CHECKPOINT_CREATE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = NewCheckpoint.read(request, self.actor)
        named = sent.values.get("agent_key")
        checkpoint = make_checkpoint(
            sent.values["name"],
            actor=self.actor,
            agent_id=None if named is None else agent_id_named(named, self.actor),
            **sent.only("moment", "reason"),
        )
        return self.answer(checkpoint.pk, sent.ignored, 201)
