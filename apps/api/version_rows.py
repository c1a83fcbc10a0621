"""How a version of a governed row is shown, wherever it is."""

from typing import Any

from rest_framework import serializers


class VersionRow(serializers.Serializer[Any]):
    """One version. Its values are null where they were erased."""

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
