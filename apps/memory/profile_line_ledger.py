"""The ledger of profile lines: the source of each line, written in the transaction of the act that writes the text (R087).

The source of an agent's note is the customer, however the agent words it. A person who writes one of the two texts vouches for
its lines.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Taint
from apps.memory.line_ledger import DATE_FIELDS, END_FIELDS, apply_line_dates, end_lines
from apps.memory.models import AGENT, CustomerProfile, ProfileLine
from apps.prompt.memory_lines.line_diff import LineDiff, diff_lines, distinct_lines, line_sha256


def update_profile_ledger(
    profile: CustomerProfile,
    before: Mapping[str, str],
    *,
    actor: Actor,
    words_of: Taint | None = None,
    evidence: Mapping[str, Any] | None = None,
    instead: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Update the ledger to match the current texts.

    `before` holds the previous text of each field, and `instead` maps a line of a field to the line it replaces.
    """
    with acting_as(actor):
        changed = {
            field: text
            for field, text in before.items()
            if distinct_lines(text) != distinct_lines(getattr(profile, field))
        }
        has_dates = bool(profile.line_dates) or actor.is_person
        stands = _active_lines(profile) if changed or has_dates else []
        for field, text in changed.items():
            diff = diff_lines(text, getattr(profile, field), (instead or {}).get(field))
            stands = _update_text_lines(profile, stands, field, diff, actor=actor, words_of=words_of, evidence=evidence)
        if has_dates:
            _save_line_dates(profile, stands)


def sync_profile_line_dates(profile: CustomerProfile) -> None:
    """Copy the stored dates of a profile's lines into the ledger."""
    _save_line_dates(profile, _active_lines(profile))


def _save_line_dates(profile: CustomerProfile, stands: Iterable[ProfileLine]) -> None:
    ProfileLine.objects.bulk_update(apply_line_dates(stands, profile.line_dates, profile.version), DATE_FIELDS)


def _active_lines(profile: CustomerProfile) -> list[ProfileLine]:
    return list(lines_of_profile(profile).filter(status=ProfileLine.Status.ACTIVE))


def lines_of_profile(profile: CustomerProfile) -> QuerySet[ProfileLine]:
    """Return every line that is or once was in a customer's profile, newest first."""
    return ProfileLine.objects.filter(tenant_id=profile.tenant_id, profile_id=profile.pk)


def _update_text_lines(
    profile: CustomerProfile,
    stands: Sequence[ProfileLine],
    field: str,
    diff: LineDiff,
    *,
    actor: Actor,
    words_of: Taint | None,
    evidence: Mapping[str, Any] | None,
) -> list[ProfileLine]:
    """Record a change of one field in the ledger, and return the profile's active lines after it."""
    others = [line for line in stands if line.field != field]
    standing = {line.sha256: line for line in stands if line.field == field}
    owner = (words_of or Taint.OPERATOR) if actor.is_person else Taint.CUSTOMER
    source = (evidence or {}).get("conversation_id")
    new = [_new_line(profile, field, text, owner, actor, source) for text in diff.added]
    made = {line.sha256: line for line in ProfileLine.objects.bulk_create(new)}
    gone = [standing.pop(sha256) for sha256 in map(line_sha256, diff.removed) if sha256 in standing]
    followed_by = {line_sha256(old): made.get(line_sha256(new)) for old, new in diff.replaced}
    ProfileLine.objects.bulk_update(end_lines(gone, followed_by, profile.version), END_FIELDS)
    if owner == Taint.OPERATOR:
        vouched = [line for line in standing.values() if line.taint != owner]
        for line in vouched:
            line.taint, line.author, line.last_version = owner, actor.label, profile.version
        ProfileLine.objects.bulk_update(vouched, ["taint", "author", "last_version"])
    return [*others, *standing.values(), *new]


def _new_line(
    profile: CustomerProfile, field: str, text: str, owner: Taint, actor: Actor, source: int | None
) -> ProfileLine:
    return ProfileLine(
        tenant_id=profile.tenant_id,
        profile_id=profile.pk,
        field=field,
        sha256=line_sha256(text),
        text=text,
        author=actor.label if owner == Taint.OPERATOR else AGENT,
        taint=owner,
        source_conversation_id=source,
        first_version=profile.version,
        last_version=profile.version,
    )
