"""Creates the database roles of this installation."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.governance.database.migration_operations import role_name
from apps.tenants.database_roles import ensure_roles


class Command(BaseCommand):
    """Needs DATABASE_OWNER_URL, a login that may create roles."""

    help = "Create the database roles (owner, operator, agent, worker, staff, login, cross_tenant). Safe to run again."
    requires_system_checks: tuple[str, ...] = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the roles that were created."""
        default = settings.DATABASES["default"]
        if not settings.DATABASE_OWNER_URL:
            raise CommandError("Set DATABASE_OWNER_URL to a login that may create roles; DATABASE_URL's login cannot.")
        if default["USER"] != role_name("login"):
            raise CommandError(
                f"DATABASE_URL signs in as {default['USER'] or 'nobody'}; it must be {role_name('login')}."
                " Change the URL, or set DATABASE_ROLE_PREFIX."
            )
        made = ensure_roles(settings.DATABASE_OWNER_URL, login_user=default["USER"], login_password=default["PASSWORD"])
        self.stdout.write(f"Roles created: {', '.join(made) or 'none, all existed'}.")
