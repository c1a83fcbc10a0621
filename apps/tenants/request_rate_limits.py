"""The check that a tenant's rate limits do not exceed those of the installation."""

from collections.abc import Mapping

from django.conf import settings

from apps.governance.errors import Invalid
from apps.tenants.models import TenantSettings


def refuse_higher_rate_limit(row: TenantSettings, values: Mapping[str, object]) -> None:
    """Refuse a new limit that exceeds the installation's, where 0 means no limit.

    A limit that is already higher is kept, so that other settings can be changed; the installation's limit applies anyway.
    """
    ceilings = {
        "requests_per_minute": settings.REQUESTS_PER_MINUTE,
        "requests_per_minute_of_tenant": settings.REQUESTS_PER_MINUTE_OF_TENANT,
    }
    errors = {
        name: [f"{value} a minute is above the limit of this installation. Enter {ceiling} or less, or leave it empty."]
        for name, ceiling in ceilings.items()
        if ceiling and isinstance(value := values.get(name), int) and value != getattr(row, name) and value > ceiling
    }
    if errors:
        raise Invalid(" ".join(sentence for each in errors.values() for sentence in each), errors)
