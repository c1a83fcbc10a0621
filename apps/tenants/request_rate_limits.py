"""How often a tenant may let anybody ask: no more often than the installation."""

from collections.abc import Mapping

from django.conf import settings

from apps.governance.errors import Invalid
from apps.tenants.models import TenantSettings


def refuse_higher_rate_limit(row: TenantSettings, values: Mapping[str, object]) -> None:
    """Refuse a new limit above the installation's, which itself has none where it says 0.

    One that stands already may stand: the installation's holds all the same, and other settings can still be changed.
    """
    ceilings = {
        "requests_per_minute": settings.REQUESTS_PER_MINUTE,
        "requests_per_minute_of_tenant": settings.REQUESTS_PER_MINUTE_OF_TENANT,
    }
    errors = {
        name: [f"{value} a minute is more than this installation takes. Enter {ceiling} or less, or leave it empty."]
        for name, ceiling in ceilings.items()
        if ceiling and isinstance(value := values.get(name), int) and value != getattr(row, name) and value > ceiling
    }
    if errors:
        raise Invalid(" ".join(sentence for each in errors.values() for sentence in each), errors)
