"""The check that the owner's database URL is set, for commands about the whole database."""

from django.conf import settings
from django.core.management.base import CommandError


def require_owner_url() -> None:
    """Refuse the command without DATABASE_OWNER_URL."""
    if not settings.DATABASE_OWNER_URL:
        raise CommandError(
            "Set DATABASE_OWNER_URL to a login that sees all rows, or run it through `make manage`. DATABASE_URL's login cannot."
        )
