"""Compares the prompts of two sessions and names the causes of each difference."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict
from apps.prompt.prompt_diff import OwnerChange
from apps.prompt.prompt_input import TextProvenance
from apps.runtime.explain.prompt_diff import UNEXPLAINED, PromptDiff, diff_sessions
from apps.runtime.explain.prompt_diff_causes import ChangeCause
from apps.runtime.models import Session
from apps.tenants.management.command_arguments import command_actor

NOW = "now"


class Command(BaseCommand):
    """Prints hunks in the order of the slots, each with the acts that caused it."""

    help = (
        "Compare the frozen prompts of two sessions, or of a session and a new one opened now. SESSION is the id of a"
        " session; the first one names its tenant: acme/12. Exits 0 whether they differ or not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Two sessions."""
        parser.add_argument("before", metavar="SESSION", help="acme/12, or 12 with --tenant acme.")
        parser.add_argument("after", metavar="SESSION|now", help="Another session of the same tenant, or the word now.")
        parser.add_argument("--tenant", metavar="KEY", help="The tenant's key, unless SESSION contains it.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the difference; nothing is stored."""
        in_session, _, number = options["before"].rpartition("/")
        tenant_key = in_session or options["tenant"]
        if not tenant_key:
            raise CommandError(
                "Name the tenant of the session: diff_prompts acme/12 now, or diff_prompts 12 now --tenant acme."
            )
        system = command_actor(tenant_key)
        with acting_as(system):
            session = _find_session(number)
            other = None if options["after"] == NOW else _find_session(_session_number(options["after"], tenant_key))
            try:
                found = diff_sessions(session, other, system=system, now=timezone.now())
            except Conflict as refusal:
                raise CommandError(str(refusal)) from refusal
        for line in _report(found):
            self.stdout.write(line)


def _report(found: PromptDiff) -> Iterator[str]:
    if found.is_same:
        owners = ", but parts of their text have different owners" if found.owner_changes else ""
        yield f"The two prompts are the same, byte for byte{owners}."
    yield from found.other_differences
    if found.reordered:
        before, after = (", ".join(names) for names in (found.reordered.before, found.reordered.after))
        yield f"@@ The order of the slots changed: {before}; then {after}"
        yield from _cause_lines(found.reordered.causes, UNEXPLAINED)
    for each in found.hunks:
        yield f"@@ slot {each.hunk.slot.value} {each.hunk.slot.name.lower()}"
        yield from _cause_lines(each.causes, each.explanation)
        for sign, lines in (("-", each.hunk.removed), ("+", each.hunk.added)):
            yield from (f"{sign} {line.text}" for line in lines)
    yield from _owner_change_lines(found.owner_changes)


def _cause_lines(why: Iterable[ChangeCause], otherwise: str) -> Iterator[str]:
    lines = [
        f"   {cause.act}: {cause.record_type} {cause.record_id} v{cause.version}, by {cause.author},"
        f" approved by {cause.approver or 'nobody'}, {cause.at.isoformat(timespec='seconds')}"
        for cause in why
    ]
    yield from lines or [f"   {otherwise}"]


def _owner_change_lines(handed_over: Iterable[OwnerChange]) -> Iterator[str]:
    for each in handed_over:
        yield f"@@ slot {each.slot.value} {each.slot.name.lower()}: same text, different owners"
        for sign, sources in (("-", each.before), ("+", each.after)):
            yield from (f"{sign} {_describe_source(source)}" for source in sources or [None])


def _describe_source(source: TextProvenance | None) -> str:
    if source is None:
        return "the product, or not recorded"
    field = f".{source.field}" if source.field else ""
    return (
        f"{source.record_type} {source.record_id}{field} v{source.version}, by {source.author or 'unknown'},"
        f" approved by {source.approver or 'nobody'}, {source.taint or 'untainted'}"
    )


def _session_number(word: str, tenant_key: str) -> str:
    in_session, _, number = word.rpartition("/")
    if in_session and in_session != tenant_key:
        raise CommandError("Both sessions must be of one tenant.")
    return number


def _find_session(number: str) -> Session:
    if not number.isdecimal():
        raise CommandError(f"“{number}” is not a session id. The console lists them under Sessions.")
    session = Session.objects.filter(pk=int(number)).select_related("tools", "agent", "conversation").first()
    if session is None:
        raise CommandError(f"The tenant has no session {number}.")
    return session
