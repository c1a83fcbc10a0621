"""Prints a link that signs a person in once."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.console.accounts.login_links import LIFETIME_SECONDS, login_link_path
from apps.tenants.authentication.actor_resolution import people_by_username


class Command(BaseCommand):
    """`manage.py login_link USERNAME`: the link expires with its first use, or after fifteen minutes."""

    help = "Print a one-time login link for a person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="The name the person signs in with, usually the e-mail address.")

    def handle(self, *args: Any, **options: Any) -> None:
        username = options["username"]
        user = people_by_username(username).filter(is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active person with the username {username}.")
        self.stdout.write(f"{settings.ENV.console_url.rstrip('/')}{login_link_path(user)}")
        self.stderr.write(f"The link works once, within {LIFETIME_SECONDS // 60} minutes.")
