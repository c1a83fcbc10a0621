"""What commands about the whole database ask first."""

from django.conf import settings
from django.core.management.base import CommandError


def require_owner_url() -> None:
    """Refused without the address of who owns the database."""
    if not settings.DATABASE_OWNER_URL:
        raise CommandError(
            "Set DATABASE_OWNER_URL to a login that sees all rows, or run it through `make manage`; DATABASE_URL's login does not."
        )
