"""What two sessions were told differently, and who caused it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.conversations.management.named import actor_named
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.prompt.assembly import assemble
from apps.prompt.differences import Hunk, differences
from apps.prompt.segments import Assembled
from apps.runtime.causes import Cause, Window, causes
from apps.runtime.models import Session
from apps.runtime.preview import told
from apps.runtime.sessions import Frozen, thawed, tools_part

NOW = "now"


class Command(BaseCommand):
    """Hunks in the order of the slots, each with the acts between the two that explain it."""

    help = (
        "Compare the frozen prompts of two sessions, or of a session and what a new one would freeze now. SESSION is the"
        " number of a session, the first one with its tenant: acme/12. Exits 0 whether they differ or not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Two prompts."""
        parser.add_argument("before", metavar="SESSION", help="acme/12, or 12 with --tenant acme.")
        parser.add_argument("after", metavar="SESSION|now", help="Another session of the same tenant, or the word now.")
        parser.add_argument("--tenant", metavar="KEY", help="The tenant's key, unless SESSION says it.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the difference; nothing is stored."""
        del args
        in_session, _, number = options["before"].rpartition("/")
        tenant_key = in_session or options["tenant"]
        if not tenant_key:
            raise CommandError(
                "Say whose session it is: diff_prompts acme/12 now, or diff_prompts 12 now --tenant acme."
            )
        system = actor_named(tenant_key)
        with acting(system):
            before = _session(number)
            after = None if options["after"] == NOW else _session(_bare(options["after"], tenant_key))
            hunks = differences(_whole(thawed(before)), _after(before, after, system))
            window = Window.between(before, after, timezone.now())
            explained = [(hunk, causes(hunk, window)) for hunk in hunks]
        if not explained:
            self.stdout.write("The two prompts are the same, byte for byte.")
        for hunk, why in explained:
            self._show(hunk, why)

    def _show(self, hunk: Hunk, why: tuple[Cause, ...]) -> None:
        self.stdout.write(f"@@ slot {hunk.slot.value} {hunk.slot.name.lower()}")
        for cause in why:
            self.stdout.write(
                f"   {cause.act}: {cause.record} v{cause.version}, by {cause.author},"
                f" approved by {cause.approver or 'nobody'}, {cause.at.isoformat(timespec='seconds')}"
            )
        if not why:
            self.stdout.write("   no act in between: the product's own words, or the choice by use, changed")
        for sign, lines in (("-", hunk.removed), ("+", hunk.added)):
            for line in lines:
                self.stdout.write(f"{sign} {line.text}")


def _bare(word: str, tenant_key: str) -> str:
    in_session, _, number = word.rpartition("/")
    if in_session and in_session != tenant_key:
        raise CommandError("Both sessions have to be of one tenant; nobody sees two tenants at once.")
    return number


def _session(number: str) -> Session:
    if not number.isdecimal():
        raise CommandError(f"“{number}” is no session's number. The console lists them under Sessions.")
    session = Session.objects.filter(pk=int(number)).select_related("tools", "agent", "conversation").first()
    if session is None:
        raise CommandError(f"The tenant has no session {number}.")
    return session


def _after(before: Session, after: Session | None, system: Actor) -> Assembled:
    if after is not None:
        return _whole(thawed(after))
    agent, conversation = before.agent, before.conversation
    tools = tools_part(agent, off_the_record=conversation.off_the_record)
    return Assembled((tools, *assemble(told(agent, conversation.end_user_key, system=system)).parts))


def _whole(frozen: Frozen) -> Assembled:
    """The tools are part of what the model is told."""
    return Assembled((frozen.tools, *frozen.assembled.parts))
