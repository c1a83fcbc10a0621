"""The ledger beside what is noted of a customer: whose words each line is, in the commit of the act that wrote it (R087).

What an agent notes is the customer's, whatever it makes of it. A person who writes one of the two texts answers for its lines.
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
    """Bring the ledger up to what stands there now; `before` is what stood there, text by text.

    `instead` says which line of a text its writer put in the place of which.
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
    """Say in the ledger what was said of lines that stood already."""
    _save_line_dates(profile, _active_lines(profile))


def _save_line_dates(profile: CustomerProfile, stands: Iterable[ProfileLine]) -> None:
    ProfileLine.objects.bulk_update(apply_line_dates(stands, profile.line_dates, profile.version), DATE_FIELDS)


def _active_lines(profile: CustomerProfile) -> list[ProfileLine]:
    return list(lines_of_profile(profile).filter(status=ProfileLine.Status.ACTIVE))


def lines_of_profile(profile: CustomerProfile) -> QuerySet[ProfileLine]:
    """Every line that stands or stood in what is noted of a customer, the latest first."""
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
    """The lines that stand once one of the texts is written."""
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
