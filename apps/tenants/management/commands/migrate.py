"""Django's migrate, run as the owner of the tables, because the application's own login may not change them."""

from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

# Every database from before the schema was rewritten has applied this migration, and none created since.
FORMER_MIGRATION: Final = ("tenants", "0002_walls")


class Command(migrate.Command):
    """`migrate` on the owner's connection by default."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Add Django's options with another default database."""
        super().add_arguments(parser)
        if "owner" in settings.DATABASES:
            parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse a database of the schema before 0.1.0, before anything in it changes."""
        if FORMER_MIGRATION in MigrationRecorder(connections[options["database"]]).applied_migrations():
            raise CommandError(
                "This database was made by a version before 0.1.0. Its tables cannot be migrated to this version: run"
                " `make clean` if it is the demo's, or use an empty database."
            )
        super().handle(*args, **options)
