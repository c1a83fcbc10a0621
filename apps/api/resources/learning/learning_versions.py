"""Learning versions: what agents learned from corrections, and what came of each digest. People decide (R144, R149)."""

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.policy.policy_table import Act
from apps.learning.digest.models import DigestRun
from apps.learning.lessons.actions import (
    activate_version,
    reject_version,
    restore_version,
    retire_version,
    withdraw_version,
)
from apps.learning.lessons.models import LearningVersion


class LearningVersionSerializer(RowSerializer[LearningVersion]):
    """A list of bullets, the lessons it rests on, and who said yes to it."""

    agent_key = agent_key()
    previous_version_id = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="It may be pruned by now."
    )
    lesson_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = LearningVersion
        fields = (
            *("id", "agent_key", "number", "previous_version_id", "body", "change_summary", "lesson_ids", "status"),
            *("approved_by", "approved_at", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class DigestRunSerializer(RowSerializer[DigestRun]):
    """What came of one digest."""

    agent_key = agent_key()
    learning_version_id = serializers.IntegerField(read_only=True, allow_null=True)
    reasons = serializers.ListField(child=serializers.CharField(), read_only=True)
    lesson_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    unknown_lesson_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = DigestRun
        fields = (
            *(
                "id",
                "agent_key",
                "verdict",
                "reasons",
                "lesson_ids",
                "unknown_lesson_ids",
                "learning_version_id",
                "model",
            ),
            *("is_stand_in", "input_tokens", "output_tokens", "cost_micro_usd", "created_at"),
        )
        read_only_fields = fields


class LearningVersionFilters(AgentFilters):
    """By agent and state."""

    status = ChoiceFilter(choices=LearningVersion.Status.choices)


class DigestRunFilters(AgentFilters):
    """By agent and verdict."""

    verdict = ChoiceFilter(choices=DigestRun.Verdict.choices)


class LearningVersionView(RowViewSet[LearningVersion]):
    """Versions of what agents learned; people read and decide, agents read the active one in their turns alone."""

    acts: ClassVar = {
        "activate": (Act.LEARNING_VERSION_ACTIVATE,),
        "reject": (Act.LEARNING_VERSION_REJECT,),
        "retire": (Act.LEARNING_VERSION_RETIRE,),
        "restore": (Act.LEARNING_VERSION_RESTORE,),
        "withdraw": (Act.LEARNING_VERSION_WITHDRAW,),
    }
    queryset = LearningVersion.objects.none()
    serializer_class = LearningVersionSerializer
    filterset_class = LearningVersionFilters
    for_people = True

    def get_queryset(self) -> QuerySet[LearningVersion]:
        """All of them, for a reviewer."""
        return LearningVersion.objects.visible_to(self.actor).select_related("agent")

    activate = decision_action(
        "activate",
        Act.LEARNING_VERSION_ACTIVATE,
        activate_version,
        LearningVersionSerializer,
        "Let conversations that begin from now on read it; the one they read until now retires.",
    )
    reject = decision_action(
        "reject", Act.LEARNING_VERSION_REJECT, reject_version, LearningVersionSerializer, "Let nobody read it."
    )
    retire = decision_action(
        "retire",
        Act.LEARNING_VERSION_RETIRE,
        retire_version,
        LearningVersionSerializer,
        "Let conversations that begin from now on do without it.",
    )
    restore = decision_action(
        "restore",
        Act.LEARNING_VERSION_RESTORE,
        restore_version,
        LearningVersionSerializer,
        "Take up a retired one again.",
    )
    withdraw = decision_action(
        "withdraw",
        Act.LEARNING_VERSION_WITHDRAW,
        withdraw_version,
        LearningVersionSerializer,
        "Let no turn read it any more, of conversations that began with it either; `reason` is required.",
    )


class DigestRunView(RowViewSet[DigestRun]):
    """Runs of the digest, those that made nothing included."""

    queryset = DigestRun.objects.none()
    serializer_class = DigestRunSerializer
    filterset_class = DigestRunFilters
    for_people = True

    def get_queryset(self) -> QuerySet[DigestRun]:
        """All of them, for a reviewer."""
        return DigestRun.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
