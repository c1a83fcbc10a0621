"""Parsing of moments that people write: in the tenant's time zone, unless they give an offset."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_datetime

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.tenants.models import TenantSettings

AT_PARAMETER: Final = "at"
MOMENT_EXAMPLE: Final = "Write it like 2026-05-09T14:34 or 2026-05-09T14:34+02:00."


def zone_of(actor: Actor) -> ZoneInfo:
    """Return the time zone of the actor's tenant."""
    with acting_as(actor):
        settings = TenantSettings.objects.visible_to(actor).first() or TenantSettings()
    return ZoneInfo(settings.timezone)


def parse_moment(text: str, zone: ZoneInfo, now: datetime) -> datetime:
    """Parse a moment in the past. Raises `Invalid` for anything else."""
    try:
        moment = parse_datetime(text.strip())
    except ValueError as refusal:
        raise _invalid_moment(f"{text}: there is no such moment ({refusal}). {MOMENT_EXAMPLE}") from refusal
    if moment is None:
        raise _invalid_moment(f"{text} is not a date and time. {MOMENT_EXAMPLE}")
    try:
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(now.tzinfo)
    except OverflowError as refusal:
        raise _invalid_moment(f"{text}: there is no such moment. {MOMENT_EXAMPLE}") from refusal
    if moment > now:
        raise _invalid_moment(f"{text} is in the future. Enter a moment in the past.")
    return moment


def _invalid_moment(sentence: str) -> Invalid:
    return Invalid(sentence, {AT_PARAMETER: [sentence]})
