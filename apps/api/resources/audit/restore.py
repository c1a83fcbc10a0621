"""REST resources for restore and checkpoints: plan and run a restore of a row version or of a checkpoint.

A GET returns the plan. A POST names the plan that was read and carries it out. A checkpoint is a named moment of an agent or of the
tenant. These resources are for people.
"""

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, DateTimeField

from apps.api.framework.base_views import ActorView, Rows
from apps.api.openapi.schema import refusal
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.query_parameters import is_true, refuse_unknown
from apps.api.protocol.request_bodies import Body, Sent, Text, YesNo
from apps.api.protocol.serializers import STAMPS, Shown
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.errors import NotPermitted
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.restore.actions import make_checkpoint
from apps.restore.execution import restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RowTarget, Target, plan, to_checkpoint

# More than a plan has.
MOST: Final = 10_000
PROFILES: Final = OpenApiParameter(
    "with_profiles", OpenApiTypes.BOOL, description="True: customers' profiles too, where it is the whole tenant's."
)
ERASED = refusal(410, "The words of this version were erased.")


class StepRow(serializers.Serializer[Any]):
    """One act of the plan."""

    act = serializers.CharField()
    key = serializers.CharField(help_text="The row it is done to, by the name that `only` goes by.")
    # Of the same name in DRF: the label of a form's field.
    label = serializers.CharField(help_text="The row it is done to, in words.")  # type: ignore[assignment]
    description = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()


class NoteRow(serializers.Serializer[Any]):
    """What stays as it is, and why."""

    label = serializers.CharField()  # type: ignore[assignment]  # the same
    description = serializers.CharField()


class PlanRow(serializers.Serializer[Any]):
    """What a restore does. Rights that are missing keep all of it from being done."""

    sha256 = serializers.CharField(help_text="The hash of the plan; the yes names it.")
    steps = StepRow(many=True)
    notes = NoteRow(many=True)
    missing_permissions = serializers.ListField(child=serializers.CharField())


class DoneRow(PlanRow):
    """What was done, and the way back."""

    checkpoint_id = serializers.IntegerField(
        allow_null=True, help_text="The checkpoint of what stood before; null where one row came back."
    )


class RestoreBody(Body):
    """The plan that was read, and how much of it is meant."""

    plan_sha256 = Text(help_text="The `sha256` of the plan that GET shows at this address.")
    only = serializers.ListField(
        child=Text(),
        required=False,
        max_length=MOST,
        help_text="Rows by the `key` of their steps; left out, all of them.",
    )
    reason = Text(required=False, max_length=300, help_text="Added to the reason of every change.")


class CheckpointRestoreBody(RestoreBody):
    """The same, with customers' profiles or without."""

    with_profiles = YesNo(required=False, help_text="As the plan was asked for: customers' profiles too.")


class Restoring(ActorView):
    """Something to come back to."""

    # A restore is made of the noun's own acts, each asked for at the door as ever.
    acts: ClassVar = {"post": ()}

    def refuse_agents(self) -> None:
        """What was is people's to read."""
        if not self.actor.is_person:
            raise NotPermitted(
                "Only people restore what was; an agent's token does not reach it. Propose a change instead."
            )

    def shown(self, target: Target) -> Response:
        """The plan; making it changes nothing."""
        return Response(PlanRow(plan(target, actor=self.actor)).data)

    def done(self, target: Target, sent: Sent) -> Response:
        """What came of a yes to the plan."""
        said = sent.only("only", "reason")
        done, checkpoint = restore(target, actor=self.actor, shown_sha256=sent.values["plan_sha256"], **said)
        return Response({**PlanRow(done).data, "checkpoint_id": checkpoint.pk if checkpoint else None})


class RestoreView(Restoring):
    """A version of one row, to come back to."""

    model: ClassVar[Any] = None  # Any: a governed model, said where the address is

    @extend_schema(responses={200: PlanRow, **ERASED})
    def get(self, request: Request, pk: str, number: str) -> Response:
        """What restoring the row to this version would do. It changes nothing. People only."""
        del request
        return self.shown(self._target(pk, number))

    @extend_schema(request=RestoreBody, responses={200: DoneRow, **ERASED})
    def post(self, request: Request, pk: str, number: str) -> Response:
        """Do what the plan says, as new versions; 409 `stale_plan` if it is another plan by now. People only."""
        target = self._target(pk, number)
        return self.done(target, RestoreBody.read(request, self.actor))

    def _target(self, pk: str, number: str) -> RowTarget:
        self.refuse_agents()
        return RowTarget(self.model, int(pk), int(number))


class CheckpointRestoreView(Restoring):
    """A checkpoint of an agent or of the tenant, to come back to."""

    @extend_schema(parameters=[PROFILES], responses=PlanRow)
    def get(self, request: Request, pk: str) -> Response:
        """What restoring to the checkpoint would do, act by act. It changes nothing. People only."""
        refuse_unknown(request, frozenset({PROFILES.name}))
        return self.shown(self._target(pk, with_profiles=is_true(request, PROFILES.name)))

    @extend_schema(request=CheckpointRestoreBody, responses=DoneRow)
    def post(self, request: Request, pk: str) -> Response:
        """Do what the plan says, with a checkpoint of what stands now; 409 `stale_plan` if it is another by now. People only."""
        self.refuse_agents()
        sent = CheckpointRestoreBody.read(request, self.actor)
        return self.done(self._target(pk, with_profiles=sent.values.get("with_profiles", False)), sent)

    def _target(self, pk: str, *, with_profiles: bool) -> MomentTarget:
        self.refuse_agents()
        rows = Checkpoint.objects.visible_to(self.actor).select_related("agent")
        checkpoint = rows.filter(pk=pk).first()
        if checkpoint is None:
            raise Http404
        return to_checkpoint(checkpoint, with_profiles=with_profiles)


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
