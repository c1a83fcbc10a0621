"""A mail server on loopback that keeps its messages, or refuses them, and people who are notified by it."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email import message_from_string
from email.message import Message

from django.db.models.functions import Now
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.notifications.email_delivery import notify_person
from apps.notifications.models import NotificationPreferences
from apps.notifications.notification_store import (
    begin_notification,
    claim_preferences,
    own_preferences,
    set_preferences,
)
from apps.notifications.rules import NotificationKind
from apps.notifications.smtp import MailServer, mail_server
from tests.support.worlds.world import World


class SmtpServer(socketserver.ThreadingTCPServer):
    """The messages that arrived, and the response to the name of a recipient."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SmtpHandler)
        self.letters: list[Message] = []
        self.to: list[str] = []
        self.answer = "250 Yes"

    @property
    def server(self) -> MailServer:
        found = mail_server(f"smtp://127.0.0.1:{self.server_address[1]}", "preceptor@example.com")
        assert found is not None
        return found

    @property
    def ids(self) -> list[str]:
        return [letter["Message-ID"] for letter in self.letters]


class _SmtpHandler(socketserver.StreamRequestHandler):
    """One SMTP session, as far as a client needs it (RFC 5321)."""

    server: SmtpServer

    def handle(self) -> None:
        self._send_line("220 mail.example.com")
        for line in self.rfile:
            word = line.decode().strip()
            if word.upper() == "QUIT":
                return self._send_line("221 Bye")
            self._handle_command(word)
        return None

    def _handle_command(self, word: str) -> None:
        if word.upper().startswith("RCPT"):
            self.server.to.append(word.partition("<")[2].partition(">")[0])
            self._send_line(self.server.answer)
        elif word.upper() == "DATA":
            self._send_line("354 Go on")
            lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
            self.server.letters.append(message_from_string("".join(lines)))
            self._send_line("250 Taken")
        else:
            self._send_line("250 Yes")

    def _send_line(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def run_smtp_server() -> Iterator[SmtpServer]:
    with SmtpServer() as box:
        threading.Thread(target=box.serve_forever, daemon=True).start()
        yield box
        box.shutdown()


def text_of(letter: Message) -> str:
    """Return the text of a message, decoded."""
    payload = letter.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


def make_preferences(world: World, actor: Actor | None = None, **values: object) -> NotificationPreferences:
    """Make the preferences of a person, the operator unless another is named; kinds that are not given are off."""
    actor = actor or world.operator
    plain = {
        **{kind.value: "never" for kind in NotificationKind},
        "digest_hour": 8,
        "quiet_start_hour": None,
        "quiet_end_hour": None,
    }
    set_preferences(actor=actor, values={**plain, "timezone": "", **values})
    with acting_as(actor):
        return own_preferences(actor)


def make_check_due(world: World, terms: NotificationPreferences) -> None:
    """Make the next check due, and the lease on the preferences expire."""
    with acting_as(world.system):
        NotificationPreferences.objects.filter(pk=terms.pk).update(next_check_at=Now(), lease_until=Now())


def run_check(world: World, terms: NotificationPreferences, later: timedelta = timedelta()) -> None:
    """Run one check, as if so much later."""
    make_check_due(world, terms)
    notify_person(world.tenant.pk, terms.pk, now=timezone.now() + later)


def make_notice(world: World) -> NotificationPreferences:
    """Make a person with a message on its way."""
    terms = make_preferences(world, escalations="at-once")
    make_check_due(world, terms)
    held = claim_preferences(terms.pk, actor=world.system)
    assert held is not None
    begin_notification(held, None, {}, is_digest=False, actor=world.system)
    return terms
