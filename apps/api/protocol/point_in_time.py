"""Rows at a past moment (`as_of`): queries for the latest change record of each row, and the serializer of a version.

Only people may read rows at a past moment. The values come from the latest change record at that moment.
"""

from typing import Any, Final, cast

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import QueryDict
from django.utils import timezone
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from apps.governance.actors import Actor
from apps.governance.audit.row_history import version_of
from apps.governance.errors import Invalid, NotPermitted, NotVisible, TextErased
from apps.governance.models import ChangeRecord, Governed
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import AT_PARAMETER, parse_moment, zone_of


class RowVersionSerializer(serializers.Serializer[Any]):
    """One version of a row. Erased values are null."""

    version = serializers.IntegerField(source="number")
    change_record_id = serializers.IntegerField(source="record_id")
    act = serializers.CharField()
    by = serializers.CharField(help_text="Who made the change, as labels name people, agents and the system.")
    role = serializers.CharField()
    created_at = serializers.DateTimeField()
    taint = serializers.CharField()
    reason = serializers.CharField()
    is_erased = serializers.BooleanField()
    values = serializers.DictField(allow_null=True, source="own_values")


AS_OF: Final = "as_of"
AGENT_PARAMETER: Final = "agent_key"


def records_as_of(rows: QuerySet[Any], request: Request, actor: Actor) -> QuerySet[ChangeRecord]:
    """Return the latest change record of each row at the moment, newest first. Rows that did not exist then are left out."""
    moment = _read_moment(request, actor)
    kind = cast("type[Governed]", rows.model)._meta.label_lower
    known = ChangeRecord.objects.filter(tenant_id=actor.tenant_id, subject_type=kind, created_at__lte=moment)
    seen = known.filter(subject_id__in=rows.order_by().values("pk"))
    latest = known.filter(subject_id=OuterRef("subject_id")).order_by("-id").values("pk")[:1]
    return _filter_by_agent(seen, request.query_params, rows).filter(pk=Subquery(latest), version_after__gt=0)


def row_as_of(rows: QuerySet[Any], row: Governed, request: Request, actor: Actor) -> dict[str, Any]:
    """Return the values of one row at the moment. Refuses if the row did not exist then, or if its text was erased."""
    record = records_as_of(rows.filter(pk=row.pk), request, actor).select_related("text").first()
    if record is None:
        raise NotVisible(f"This {row._meta.verbose_name} did not exist then.")
    if not hasattr(record, "text"):
        raise TextErased(f"The text of version {record.version_after} was erased. Ask for another moment.")
    return past_values(record)


def past_values(record: ChangeRecord) -> dict[str, Any]:
    """Return the row's values after the change."""
    return {"id": record.subject_id, **RowVersionSerializer(version_of(record)).data}


def _read_moment(request: Request, actor: Actor) -> Any:  # Any: an aware datetime
    if not actor.is_person:
        raise NotPermitted("Only people may read past versions of rows. An agent's token cannot.")
    # A plus sign that was not URL-encoded arrives as a space.
    moment_text = request.query_params[AS_OF].strip().replace(" ", "+")
    try:
        return parse_moment(moment_text, zone_of(actor), timezone.now())
    except Invalid as refusal:
        raise ValidationError({AS_OF: refusal.fields[AT_PARAMETER]}) from refusal


def _filter_by_agent(records: QuerySet[ChangeRecord], query: QueryDict, rows: QuerySet[Any]) -> QuerySet[ChangeRecord]:
    key = query.get(AGENT_PARAMETER)
    if key is None:
        return records
    if not any(field.name == "agent" for field in rows.model._meta.fields):
        raise ValidationError({AGENT_PARAMETER: ["These rows belong to no agent. Leave this parameter out."]})
    agents = Agent.objects.filter(key=key).values("pk")
    return records.filter(subject_id__in=rows.order_by().filter(agent_id__in=agents).values("pk"))
