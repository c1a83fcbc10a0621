"""Browser sessions: one row for each signed-in browser, which the person can see and end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac

# The minimum time between two writes that record a session's use.
SEEN_INTERVAL: Final = timedelta(minutes=5)
DEVICE_CHARACTERS: Final = 200
_BEGUN, _SEEN, _DEVICE, _ADDRESS = "created_at", "last_seen_at", "device", "ip_address"


class BrowserSession(AbstractBaseSession):
    """A Django session with extra columns that are shown to the person. Only the login's database role can read it."""

    user = models.ForeignKey("tenants.User", null=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    device = models.CharField(max_length=DEVICE_CHARACTERS, default="")
    ip_address = models.CharField(max_length=45, default="")

    def __str__(self) -> str:
        return f"Session of #{self.user_id}"

    @classmethod
    def get_session_store_class(cls) -> "type[SessionStore]":
        """Return the class that stores sessions."""
        return SessionStore


class SessionStore(DatabaseSessions):
    """Django's database sessions with the extra columns."""

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        """Return the session model."""
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        """Build the row to save, with the extra columns."""
        row: Any = super().create_model_instance(data)  # Any: typed as Django's own session
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.created_at, row.last_seen_at = _parse_moment(data.get(_BEGUN)), _parse_moment(data.get(_SEEN))
        row.device, row.ip_address = data.get(_DEVICE, ""), data.get(_ADDRESS, "")
        written: BrowserSession = row
        return written


@dataclass(frozen=True, slots=True)
class SignedInBrowser:
    """One browser in which a person is signed in."""

    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    device: str
    ip_address: str
    is_this_one: bool


def note_seen(session: SessionBase, *, device: str, ip_address: str) -> None:
    """Record the use of a session and its address, and delete expired sessions."""
    now = timezone.now()
    last = _parse_moment(session.get(_SEEN))
    if last is not None and now - last < SEEN_INTERVAL:
        return
    session.setdefault(_BEGUN, now.isoformat())
    session[_SEEN] = now.isoformat()
    session[_DEVICE], session[_ADDRESS] = device[:DEVICE_CHARACTERS].replace("\x00", ""), ip_address[:45]
    SessionStore.clear_expired()


def signed_in_browsers(user_id: int, session: SessionBase) -> list[SignedInBrowser]:
    """Return the browsers in which a person is signed in, most recently used first."""
    rows = _live_sessions(user_id).order_by(F("last_seen_at").desc(nulls_last=True))
    return [
        SignedInBrowser(
            name=_public_session_name(row.session_key),
            created_at=row.created_at,
            last_seen_at=row.last_seen_at,
            device=row.device,
            ip_address=row.ip_address,
            is_this_one=row.session_key == session.session_key,
        )
        for row in rows
    ]


def end_session(user_id: int, name: str) -> bool:
    """End the person's session with this public name, and return whether there was one."""
    keys = [row.session_key for row in _live_sessions(user_id) if _public_session_name(row.session_key) == name]
    ended, _ = BrowserSession.objects.filter(pk__in=keys).delete()
    return bool(ended)


def end_other_sessions(user_id: int, session: SessionBase) -> int:
    """End all other sessions of a person, and return their number."""
    ended, _ = _live_sessions(user_id).exclude(pk=session.session_key).delete()
    return ended


def _live_sessions(user_id: int) -> models.QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(user_id=user_id, expire_date__gt=timezone.now())


def _public_session_name(session_key: str) -> str:
    """Return the public name of a session. The session key itself must stay secret, since it would sign in anyone who has it."""
    return salted_hmac("apps.tenants.session_store", session_key, algorithm="sha256").hexdigest()[:32]


def _parse_moment(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
