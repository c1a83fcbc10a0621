"""The outgoing mail server, and the delivery of one message to it."""

import smtplib
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

# Timeout of each step of the SMTP dialogue, in seconds.
STEP_SECONDS: Final = 15
SCHEME_PORTS: Final = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """The installation's mail server, and the sender of its messages."""

    host: str
    port: int
    user: str
    password: str
    scheme: str
    sender: str


@dataclass(frozen=True, slots=True)
class SendFailure:
    """A failed delivery. The server's reply may quote an address, so only the kind of failure is kept."""

    said: str
    is_final: bool = False


def mail_server(url: str, sender: str) -> MailServer | None:
    """Parse `EMAIL_URL`; None if it is empty. Raises ValueError with the flaw, without the password."""
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in SCHEME_PORTS or not parts.hostname:
        raise ValueError(
            "EMAIL_URL must be smtp://host, smtp+tls://user:password@host:587 or smtps://user:password@host."
        )
    if "@" not in sender:
        raise ValueError("EMAIL_FROM must be an address such as preceptor@example.com. It is required with EMAIL_URL.")
    port = parts.port or SCHEME_PORTS[parts.scheme]
    return MailServer(
        parts.hostname, port, unquote(parts.username or ""), unquote(parts.password or ""), parts.scheme, sender
    )


def send(server: MailServer, to: str, subject: str, text: str, *, message_id: str, own_page: str) -> SendFailure | None:
    """Deliver one message to the server. None means that the server accepted it."""
    headers = {"Message-ID": message_id, "Auto-Submitted": "auto-generated", "List-Unsubscribe": f"<{own_page}>"}
    message = EmailMessage(subject, text, server.sender, [to], headers=headers, connection=_connection(server))
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as refusal:
        return SendFailure("address refused", is_final=all(code >= 500 for code, _ in refusal.recipients.values()))
    except smtplib.SMTPAuthenticationError:
        return SendFailure("password of the mail server refused")
    except smtplib.SMTPResponseException as refusal:
        return SendFailure(f"answered {refusal.smtp_code}", is_final=refusal.smtp_code >= 500)
    except (smtplib.SMTPException, OSError):
        return SendFailure("mail server not reached")
    return None


def _connection(server: MailServer) -> EmailBackend:
    return EmailBackend(
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        use_tls=server.scheme == "smtp+tls",
        use_ssl=server.scheme == "smtps",
        timeout=STEP_SECONDS,
    )
