"""Restoring one row to one of its versions, for people: what would change first, then a yes to exactly that."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.bodies import Body, Text
from apps.api.schema import refusal
from apps.api.views import ActorView
from apps.governance.errors import NotPermitted
from apps.restoration.plan import Plan, RowTarget, plan
from apps.restoration.restoring import restore

ERASED = refusal(410, "The words of this version were erased.")


class StepRow(serializers.Serializer[Any]):
    """One act of the plan."""

    act = serializers.CharField()
    # Of the same name in DRF: the label of a form's field.
    label = serializers.CharField(help_text="The row it is done to, in words.")  # type: ignore[assignment]
    says = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()


class NoteRow(serializers.Serializer[Any]):
    """What stays as it is, and why."""

    label = serializers.CharField()  # type: ignore[assignment]  # the same
    says = serializers.CharField()


class PlanRow(serializers.Serializer[Any]):
    """What a restore does. Rights that are `lacking` keep all of it from being done."""

    sha256 = serializers.CharField(help_text="The hash of the plan; the yes names it.")
    steps = StepRow(many=True)
    notes = NoteRow(many=True)
    lacking = serializers.ListField(child=serializers.CharField())


class RestoreBody(Body):
    """The plan that was read."""

    plan_sha256 = Text(help_text="The `sha256` of the plan that GET shows at this address.")


class RestoreView(ActorView):
    """A version of one row, to come back to."""

    # A restore is made of the noun's own acts, each asked for at the door as ever.
    acts: ClassVar = {"post": ()}
    model: ClassVar[Any] = None  # Any: a governed model, said where the address is

    @extend_schema(responses={200: PlanRow, **ERASED})
    def get(self, request: Request, pk: str, number: str) -> Response:
        """What restoring the row to this version would do. It changes nothing. People only."""
        del request
        return Response(PlanRow(plan(self._target(pk, number), actor=self.actor)).data)

    @extend_schema(request=RestoreBody, responses={200: PlanRow, **ERASED})
    def post(self, request: Request, pk: str, number: str) -> Response:
        """Do what the plan says, as new versions; 409 `plan_moved` if it is another plan by now. People only."""
        target = self._target(pk, number)
        sent = RestoreBody.read(request, self.actor)
        done: Plan
        done, _ = restore(target, actor=self.actor, shown_sha256=sent.values["plan_sha256"])
        return Response(PlanRow(done).data)

    def _target(self, pk: str, number: str) -> RowTarget:
        if not self.actor.is_person:
            raise NotPermitted(
                "Only people restore what was; an agent's token does not reach it. Propose a change instead."
            )
        return RowTarget(self.model, int(pk), int(number))
