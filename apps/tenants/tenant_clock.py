"""A moment as people say it: by their tenant's clock, unless they name an offset."""

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
    """By which clock the actor's tenant lives."""
    with acting_as(actor):
        settings = TenantSettings.objects.visible_to(actor).first() or TenantSettings()
    return ZoneInfo(settings.timezone)


def parse_moment(text: str, zone: ZoneInfo, now: datetime) -> datetime:
    """The moment of the past that was meant; refused where it is none."""
    try:
        moment = parse_datetime(text.strip())
    except ValueError as refusal:
        raise _invalid_moment(f"{text}: there is no such moment ({refusal}). {MOMENT_EXAMPLE}") from refusal
    if moment is None:
        raise _invalid_moment(f"{text} is no time. {MOMENT_EXAMPLE}")
    try:
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(now.tzinfo)
    except OverflowError as refusal:
        raise _invalid_moment(f"{text}: there is no such moment. {MOMENT_EXAMPLE}") from refusal
    if moment > now:
        raise _invalid_moment(
            f"{text} lies in the future; nobody knows yet what will be then. Name a moment of the past."
        )
    return moment


def _invalid_moment(sentence: str) -> Invalid:
    return Invalid(sentence, {AT_PARAMETER: [sentence]})
