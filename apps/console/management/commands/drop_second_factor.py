"""Removes the second factor of a person who lost the device and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.tenants.accounts.second_factor import remove_second_factor
from apps.tenants.authentication.actor_resolution import people_by_username


class Command(BaseCommand):
    """`manage.py drop_second_factor USERNAME`: for the people who run the installation. Verify first who asks."""

    help = "Remove a person's second factor. Afterwards a password or a login link is enough to sign in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="The name the person signs in with, usually the e-mail address.")

    def handle(self, *args: Any, **options: Any) -> None:
        username = options["username"]
        user = people_by_username(username).first()
        if user is None:
            raise CommandError(f"There is no person with the username {username}.")
        if not remove_second_factor(user):
            raise CommandError(f"{username} has no second factor.")
        self.stdout.write(
            f"{username} is not asked for a code any more. Inform them, and ask them to set up a new second factor."
        )
