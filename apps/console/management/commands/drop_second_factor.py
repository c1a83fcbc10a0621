"""Ask a person for no codes any more, who lost the device and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.tenants.accounts.second_factor import remove_second_factor
from apps.tenants.authentication.actor_resolution import people_by_username


class Command(BaseCommand):
    """`manage.py drop_second_factor USERNAME`: for whoever runs the installation, and is sure who asks."""

    help = "Remove a person's second factor. Their password or a login link is enough then."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        username = options["username"]
        user = people_by_username(username).first()
        if user is None:
            raise CommandError(f"There is no person called {username}.")
        if not remove_second_factor(user):
            raise CommandError(f"{username} has no second factor.")
        self.stdout.write(f"{username} is asked for no code any more. Tell them, and let them set up a new one.")
