"""Django's migrate, run as the owner of the tables, since the application's own login may not change them."""

from django.conf import settings
from django.core.management.base import CommandParser
from django.core.management.commands import migrate


class Command(migrate.Command):
    """`migrate` on the owner's connection by default."""

    def add_arguments(self, parser: CommandParser) -> None:
        """The same options with another default database."""
        super().add_arguments(parser)
        if "owner" in settings.DATABASES:
            parser.set_defaults(database="owner")
