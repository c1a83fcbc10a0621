"""Learning versions: what agents learned from corrections, and the runs of the digest. People decide (R144, R149)."""

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
    """A list of bullets, its lessons, and who approved it."""

    agent_key = agent_key()
    previous_version_id = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="The version before it, which may have been deleted since."
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
    """One run of the digest, and its result."""

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
    """Filter by agent and state."""

    status = ChoiceFilter(choices=LearningVersion.Status.choices)


class DigestRunFilters(AgentFilters):
    """Filter by agent and verdict."""

    verdict = ChoiceFilter(choices=DigestRun.Verdict.choices)


class LearningVersionView(RowViewSet[LearningVersion]):
    """Learning versions of the tenant. People read and decide; agents read the active version only in their turns."""

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
        """Return every row; the view is for people only."""
        return LearningVersion.objects.visible_to(self.actor).select_related("agent")

    activate = decision_action(
        "activate",
        Act.LEARNING_VERSION_ACTIVATE,
        activate_version,
        LearningVersionSerializer,
        "Activate the version for new conversations. The version that was active retires.",
    )
    reject = decision_action(
        "reject",
        Act.LEARNING_VERSION_REJECT,
        reject_version,
        LearningVersionSerializer,
        "Reject the version: no conversation uses it.",
    )
    retire = decision_action(
        "retire",
        Act.LEARNING_VERSION_RETIRE,
        retire_version,
        LearningVersionSerializer,
        "Retire the version: new conversations do not use it.",
    )
    restore = decision_action(
        "restore",
        Act.LEARNING_VERSION_RESTORE,
        restore_version,
        LearningVersionSerializer,
        "Activate a retired version again.",
    )
    withdraw = decision_action(
        "withdraw",
        Act.LEARNING_VERSION_WITHDRAW,
        withdraw_version,
        LearningVersionSerializer,
        "Withdraw the version from all turns, also those of conversations that began with it. `reason` is required.",
    )


class DigestRunView(RowViewSet[DigestRun]):
    """Runs of the digest, including those without a result."""

    queryset = DigestRun.objects.none()
    serializer_class = DigestRunSerializer
    filterset_class = DigestRunFilters
    for_people = True

    def get_queryset(self) -> QuerySet[DigestRun]:
        """Return every row; the view is for people only."""
        return DigestRun.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
