"""Learning versions: what agents learned from corrections, and the runs of the digest. People decide (R144, R149)."""

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.request_bodies import ReasonedDecisionBody, StrictIntegerField
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
from apps.learning.lessons.version_copies import VersionCopy, copies_of, versions_of_agents, withdrawn_bullets_in

MAX_STAYING: Final = 100


class WithdrawVersionBody(ReasonedDecisionBody):
    """The reason of a withdrawal, and the versions with the same bullets that are not withdrawn with it."""

    staying_version_ids = serializers.ListField(
        child=StrictIntegerField(),
        required=False,
        max_length=MAX_STAYING,
        help_text="The ids of those `copies` that stay as they are. The others are withdrawn, or rejected if pending.",
    )


class SharedBulletSerializer(serializers.Serializer[Any]):
    """A bullet of one version that repeats a bullet of another one."""

    bullet = serializers.CharField()
    original = serializers.CharField(help_text="The bullet of the other version.")
    is_reworded = serializers.BooleanField(help_text="Whether the words differ.")


class VersionCopySerializer(serializers.Serializer[VersionCopy]):
    """Another version of the agent, and the bullets in common."""

    learning_version_id = serializers.IntegerField(source="version.pk")
    number = serializers.IntegerField(source="version.number")
    status = serializers.CharField(source="version.status")
    bullets = SharedBulletSerializer(many=True, source="shared")


class LearningVersionSerializer(RowSerializer[LearningVersion]):
    """A list of bullets, its lessons, who approved it, and the versions with the same bullets."""

    agent_key = agent_key()
    previous_version_id = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="The version before it, which may have been deleted since."
    )
    lesson_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    copies = serializers.SerializerMethodField(
        help_text="The versions that agents read or could read, and that repeat a bullet of this one, word for word or nearly so."
        " They are withdrawn or rejected with it, unless `staying_version_ids` names them. Empty for a version that was never"
        " active."
    )
    withdrawn_originals = serializers.SerializerMethodField(
        help_text="The withdrawn versions of which this one repeats a bullet. Empty if this version is rejected or withdrawn."
    )

    class Meta:
        model = LearningVersion
        fields = (
            *("id", "agent_key", "number", "previous_version_id", "body", "change_summary", "lesson_ids", "status"),
            *("approved_by", "approved_at", "copies", "withdrawn_originals", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields

    @extend_schema_field(VersionCopySerializer(many=True))
    def get_copies(self, version: LearningVersion) -> list[dict[str, Any]]:
        """Return the versions that a withdrawal takes along."""
        return [dict(VersionCopySerializer(each).data) for each in copies_of(version, self._versions_of(version))]

    @extend_schema_field(VersionCopySerializer(many=True))
    def get_withdrawn_originals(self, version: LearningVersion) -> list[dict[str, Any]]:
        """Return the withdrawn versions whose bullets are in this one."""
        found = withdrawn_bullets_in(version, self._versions_of(version))
        return [dict(VersionCopySerializer(each).data) for each in found]

    def _versions_of(self, version: LearningVersion) -> list[LearningVersion]:
        """Return the versions of a version's agent; one query reads those of a whole page."""
        if self._by_agent is None:
            page: Any = getattr(self.parent, "instance", None) or [version]
            self._by_agent = versions_of_agents({row.agent_id for row in page})
        return self._by_agent[version.agent_id]

    _by_agent: dict[int, list[LearningVersion]] | None = None


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
    # Other rows change them.
    counted = ("copies", "withdrawn_originals")

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
        "Withdraw the version from all turns, also those of conversations that began with it. Its `copies` are withdrawn with it,"
        " or rejected if they are pending, except those in `staying_version_ids`.",
        WithdrawVersionBody,
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
