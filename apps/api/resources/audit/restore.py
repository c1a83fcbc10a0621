"""REST resources for restore and checkpoints: plan and run a restore of a row version or of a checkpoint.

A GET returns the plan. A POST names the plan that was read and carries it out. A checkpoint is a named moment of an agent or of
the tenant. These resources are for people.
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

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.query_parameters import is_true, reject_unknown_parameters
from apps.api.protocol.request_bodies import ParsedBody, RequestBody, StrictBooleanField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.errors import NotPermitted
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.restore.actions import make_checkpoint
from apps.restore.execution import carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RowTarget, Target, checkpoint_target, make_restore_plan

# More steps than any plan contains.
MAX_STEPS: Final = 10_000
PROFILES_PARAMETER: Final = OpenApiParameter(
    "with_profiles",
    OpenApiTypes.BOOL,
    description="True: restore customers' profiles too, if the checkpoint is of the whole tenant.",
)
ERASED_REFUSAL = refusal_response(410, "The text of this version was erased.")


class RestoreStepSerializer(serializers.Serializer[Any]):
    """One act of the plan."""

    act = serializers.CharField()
    key = serializers.CharField(help_text="The row that changes, by the key that `only` takes.")
    # DRF's `label` is the label of a form field.
    label = serializers.CharField(help_text="The row that changes, in words.")  # type: ignore[assignment]
    description = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()


class UnchangedNoteSerializer(serializers.Serializer[Any]):
    """A row that stays unchanged, and the reason."""

    label = serializers.CharField()  # type: ignore[assignment]  # the same
    description = serializers.CharField()


class RestorePlanSerializer(serializers.Serializer[Any]):
    """The acts of a restore. If a permission is missing, none of them can be done."""

    sha256 = serializers.CharField(help_text="The hash of the plan, which the POST must name.")
    steps = RestoreStepSerializer(many=True)
    notes = UnchangedNoteSerializer(many=True)
    missing_permissions = serializers.ListField(child=serializers.CharField())


class RestoreResultSerializer(RestorePlanSerializer):
    """The acts that were done, and a checkpoint to undo them."""

    checkpoint_id = serializers.IntegerField(
        allow_null=True, help_text="The checkpoint of the state before the restore; null for a restore of one row."
    )


class RestoreBody(RequestBody):
    """The plan that was read, and the steps to carry out."""

    plan_sha256 = StrictTextField(help_text="The `sha256` of the plan that GET shows at this address.")
    only = serializers.ListField(
        child=StrictTextField(),
        required=False,
        max_length=MAX_STEPS,
        help_text="Keys of the steps to carry out; left out, all of them.",
    )
    reason = StrictTextField(required=False, max_length=300, help_text="Added to the reason of every change.")


class CheckpointRestoreBody(RestoreBody):
    """The plan that was read, with or without customers' profiles."""

    with_profiles = StrictBooleanField(
        required=False, help_text="True if the plan was requested with customers' profiles."
    )


class RestoreBaseView(ActorView):
    """Base class of the restore views."""

    # A restore performs the noun's own acts, each as a governed write.
    acts: ClassVar = {"post": ()}

    def refuse_agents(self) -> None:
        """Refuse agents: only people may read past states."""
        if not self.actor.is_person:
            raise NotPermitted(
                "Only people may restore earlier versions. An agent's token cannot. Propose a change instead."
            )

    def shown(self, target: Target) -> Response:
        """Return the plan. Making a plan changes nothing."""
        return Response(RestorePlanSerializer(make_restore_plan(target, actor=self.actor)).data)

    def done(self, target: Target, sent: ParsedBody) -> Response:
        """Carry out the plan and return the result."""
        values = sent.only("only", "reason")
        done, checkpoint = carry_out_restore(
            target, actor=self.actor, shown_sha256=sent.values["plan_sha256"], **values
        )
        return Response({**RestorePlanSerializer(done).data, "checkpoint_id": checkpoint.pk if checkpoint else None})


class RestoreView(RestoreBaseView):
    """A version of one row that can be restored."""

    model: ClassVar[Any] = None  # Any: a governed model, set where the address is declared

    @extend_schema(responses={200: RestorePlanSerializer, **ERASED_REFUSAL})
    def get(self, request: Request, pk: str, number: str) -> Response:
        """Show the plan for restoring the row to this version. It changes nothing. People only."""
        return self.shown(self._target(pk, number))

    @extend_schema(request=RestoreBody, responses={200: RestoreResultSerializer, **ERASED_REFUSAL})
    def post(self, request: Request, pk: str, number: str) -> Response:
        """Carry out the plan, as new versions; 409 `stale_plan` if the plan has changed. People only."""
        target = self._target(pk, number)
        return self.done(target, RestoreBody.read(request, self.actor))

    def _target(self, pk: str, number: str) -> RowTarget:
        self.refuse_agents()
        return RowTarget(self.model, int(pk), int(number))


class CheckpointRestoreView(RestoreBaseView):
    """A checkpoint of an agent or of the tenant that can be restored."""

    @extend_schema(parameters=[PROFILES_PARAMETER], responses=RestorePlanSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Show the plan for restoring the checkpoint, act by act. It changes nothing. People only."""
        reject_unknown_parameters(request, frozenset({PROFILES_PARAMETER.name}))
        return self.shown(self._target(pk, with_profiles=is_true(request, PROFILES_PARAMETER.name)))

    @extend_schema(request=CheckpointRestoreBody, responses=RestoreResultSerializer)
    def post(self, request: Request, pk: str) -> Response:
        """Carry out the plan, after a checkpoint of the current state; 409 `stale_plan` if the plan has changed. People only."""
        self.refuse_agents()
        sent = CheckpointRestoreBody.read(request, self.actor)
        return self.done(self._target(pk, with_profiles=sent.values.get("with_profiles", False)), sent)

    def _target(self, pk: str, *, with_profiles: bool) -> MomentTarget:
        self.refuse_agents()
        rows = Checkpoint.objects.visible_to(self.actor).select_related("agent")
        checkpoint = rows.filter(pk=pk).first()
        if checkpoint is None:
            raise Http404
        return checkpoint_target(checkpoint, with_profiles=with_profiles)


class CheckpointSerializer(RowSerializer[Checkpoint]):
    """A named moment of an agent or of the whole tenant."""

    agent_key = CharField(source="agent.key", read_only=True, allow_null=True, help_text="Null: the whole tenant.")

    class Meta:
        model = Checkpoint
        fields = ("id", "name", "agent_key", "moment", "reason", "created_by", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateCheckpointBody(RequestBody):
    """The name of a checkpoint."""

    acts = (Act.CHECKPOINT_CREATE,)
    about = frozenset[str]()
    shown = frozenset(CheckpointSerializer.Meta.fields)

    name = StrictTextField()
    agent_key = StrictTextField(required=False, allow_null=True, help_text="Left out or null: the whole tenant.")
    moment = DateTimeField(required=False, help_text="A past moment; left out, the present.")
    reason = StrictTextField(required=False)


class CheckpointFilters(AgentFilters):
    """Filter by agent and words."""

    search = SearchFilter("name", "reason")


class CheckpointView(RowViewSet[Checkpoint]):
    """Checkpoints of the tenant; `restore/` below one restores it."""

    acts: ClassVar = {"create": (Act.CHECKPOINT_CREATE,)}
    queryset = Checkpoint.objects.none()
    serializer_class = CheckpointSerializer
    filterset_class = CheckpointFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Checkpoint]:
        """Return the rows of the tenant."""
        return Checkpoint.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateCheckpointBody, responses={201: CheckpointSerializer})
    def create(self, request: Request) -> Response:
        """Name the present moment, or a past one."""
        authorize(self.actor, Act.CHECKPOINT_CREATE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateCheckpointBody.read(request, self.actor)
        named = sent.values.get("agent_key")
        checkpoint = make_checkpoint(
            sent.values["name"],
            actor=self.actor,
            agent_id=None if named is None else agent_id_named(named, self.actor),
            **sent.only("moment", "reason"),
        )
        return self.answer(checkpoint.pk, sent.ignored, 201)
