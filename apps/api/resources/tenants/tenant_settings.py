"""The settings of a tenant for all its agents: one row, which people read and admins change."""

from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField

from apps.api.framework.row_actions import decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import FilterSet
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.policy.policy_table import POLICY, Act
from apps.tenants.actions import amend_settings
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import TenantSettings

SETTING_FIELDS: Final = POLICY[Act.SETTINGS_AMEND].fields


class TenantSettingsSerializer(RowSerializer[TenantSettings]):
    """The settings of the tenant, and whether a signing key is stored."""

    has_proof_key = BooleanField(read_only=True)

    class Meta:
        model = TenantSettings
        fields = ("id", *SETTING_FIELDS, "has_proof_key", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class UpdateTenantSettingsBody(RequestBody):
    """New values of settings."""

    acts = (Act.SETTINGS_AMEND,)
    shown = frozenset(TenantSettingsSerializer.Meta.fields)
    whole = ("timezone", "pii_patterns")

    timezone = StrictTextField(required=False, help_text="Such as Europe/Berlin.")
    ai_disclosure = StrictTextField(required=False, help_text="`always`, `on_request` or `never_volunteer`.")
    slot_order = StrictTextField(required=False, help_text="`persona_first` or `contract_first`.")
    memory_review = StrictTextField(required=False, help_text="`off`, `tainted` or `all`.")
    learning_apply_mode = StrictTextField(required=False, help_text="`approval` or `auto`.")
    pii_patterns = StrictTextField(
        required=False, help_text="Formats of your own numbers, one per line, such as policy-number: POL-######."
    )
    is_second_factor_required = StrictBooleanField(required=False)
    high_risk_reviewers = StrictIntegerField(required=False, help_text="1 or 2.")
    proposal_days = StrictIntegerField(required=False)
    max_open_proposals = StrictIntegerField(required=False)
    is_customer_proof_required = StrictBooleanField(required=False)
    messages_per_minute = StrictIntegerField(required=False)
    messages_per_day = StrictIntegerField(required=False)
    day_budget_micro_usd = StrictIntegerField(required=False, allow_null=True, help_text="Null: no budget.")
    requests_per_minute = StrictIntegerField(
        required=False, allow_null=True, help_text="Null: the limit of the installation."
    )
    requests_per_minute_of_tenant = StrictIntegerField(
        required=False, allow_null=True, help_text="The same limit for all agents and members together."
    )
    version = StrictIntegerField(required=False, help_text="The version of the settings that was read.")


class RotateProofKeyBody(RequestBody):
    """A new signing key."""

    about = frozenset({"version", "keep_former"})

    key = StrictTextField(
        help_text="32 characters or more, drawn at random; stored encrypted, never returned. Empty: the tenant has no key."
    )
    keep_former = StrictBooleanField(
        required=False, help_text="False: signatures of the present key are no longer valid."
    )
    version = StrictIntegerField(required=False, help_text="The version of the settings that was read.")


class SettingsFilters(FilterSet):
    """No filters: there is one row."""


class SettingsView(VersionedViewSet[TenantSettings]):
    """The settings of the tenant; admins change them."""

    acts: ClassVar = {
        "partial_update": (Act.SETTINGS_AMEND,),
        "rotate-proof-key": (Act.SETTINGS_ROTATE_PROOF_KEY,),
    }
    queryset = TenantSettings.objects.none()
    serializer_class = TenantSettingsSerializer
    filterset_class = SettingsFilters
    for_people = True

    def get_queryset(self) -> QuerySet[TenantSettings]:
        """Return the rows of the tenant."""
        return TenantSettings.objects.visible_to(self.actor)

    @extend_schema(request=UpdateTenantSettingsBody, responses=TenantSettingsSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change settings of all agents.

        Open sessions keep the prompt they started with; budgets, limits and times apply at once.
        """
        row = self.get_object()
        sent = UpdateTenantSettingsBody.read(request, self.actor, row)
        amend_settings(row, actor=self.actor, read_at=sent.read_at, **sent.only(*SETTING_FIELDS))
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=UpdateTenantSettingsBody, responses=TenantSettingsSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every text."""
        return self.partial_update(request, pk)

    rotate_proof_key = decision_action(
        "rotate-proof-key",
        Act.SETTINGS_ROTATE_PROOF_KEY,
        rotate_proof_key,
        TenantSettingsSerializer,
        "Replace the key that signs customers. The former key stays valid until the next change.",
        RotateProofKeyBody,
    )
