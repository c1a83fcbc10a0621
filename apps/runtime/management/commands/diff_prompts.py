"""What two sessions were told differently, and who caused it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.conversations.management.named import actor_named
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.prompt.assembly import assemble
from apps.prompt.differences import Handover, differences, handovers, is_reordered
from apps.prompt.segments import Assembled, NotSegments
from apps.prompt.values import Slot, Source
from apps.runtime.causes import Cause, Window, causes, causes_of_order
from apps.runtime.models import Session
from apps.runtime.preview import told
from apps.runtime.sessions import PrefixChanged, thawed, tools_part
from apps.runtime.tooling import Offer

NOW = "now"
UNEXPLAINED = "no act in between explains it: the product's own words, or the choice by use, changed"
FIRST_ROW = (
    "no act on these words: the contract goes on where something is written about the agent, and the first such row came, or"
    " the last one went"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A prompt with its tools, and for whom it was made."""

    session: Session
    prompt: Assembled

    @property
    def order(self) -> str:
        return ", ".join(part.slot.name.lower() for part in self.prompt.parts)


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
            session = _session(number)
            other = None if options["after"] == NOW else _session(_bare(options["after"], tenant_key))
            before = _frozen(session)
            after = _frozen(other) if other else _now(session, system)
            report = list(_report(before, after, Window.between(session, other, timezone.now())))
        for line in report:
            self.stdout.write(line)


def _report(before: Told, after: Told, window: Window) -> Iterator[str]:
    one, other = before.prompt, after.prompt
    passed = handovers(one, other)
    if one.sha256 == other.sha256:
        owners = ", but not all of their words have the same owners" if passed else ""
        yield f"The two prompts are the same, byte for byte{owners}."
    unlike = list(_unlike(before.session, after.session))
    yield from unlike
    if is_reordered(one, other):
        yield f"@@ The order of the slots changed: {before.order}; then {after.order}"
        yield from _explained(causes_of_order(window), UNEXPLAINED)
    for hunk in differences(one, other):
        yield f"@@ slot {hunk.slot.value} {hunk.slot.name.lower()}"
        grown = hunk.slot is Slot.CONTRACT and not hunk.sources and _is_bare(one) != _is_bare(other)
        otherwise = FIRST_ROW if grown else UNEXPLAINED
        yield from _explained(
            causes(hunk, window), f"{otherwise}, or it follows from the above" if unlike else otherwise
        )
        for sign, lines in (("-", hunk.removed), ("+", hunk.added)):
            yield from (f"{sign} {line.text}" for line in lines)
    yield from _passed_on(passed)


def _unlike(one: Session, other: Session) -> Iterator[str]:
    """What of two conversations makes their prompts differ without any act."""
    if one.agent_id != other.agent_id:
        yield f"They are of two agents: {one.agent.key} and {other.agent.key}."
    if one.conversation.end_user_key != other.conversation.end_user_key:
        yield "They are of two customers."
    if one.conversation.off_the_record != other.conversation.off_the_record:
        yield "One of the two conversations is off the record, so that its agent is offered and told less."


def _is_bare(prompt: Assembled) -> bool:
    """Whether the contract ends with what the agent says about being an AI."""
    [contract] = [part for part in prompt.parts if part.slot is Slot.CONTRACT]
    return contract.segments[-1].template.startswith("disclosure.")


def _explained(why: Iterable[Cause], otherwise: str) -> Iterator[str]:
    said = [
        f"   {cause.act}: {cause.record} v{cause.version}, by {cause.author},"
        f" approved by {cause.approver or 'nobody'}, {cause.at.isoformat(timespec='seconds')}"
        for cause in why
    ]
    yield from said or [f"   {otherwise}"]


def _passed_on(handed_over: Iterable[Handover]) -> Iterator[str]:
    for each in handed_over:
        yield f"@@ slot {each.slot.value} {each.slot.name.lower()}: same words, other owners"
        for sign, sources in (("-", each.before), ("+", each.after)):
            yield from (f"{sign} {_named(source)}" for source in sources or [None])


def _named(source: Source | None) -> str:
    if source is None:
        return "the product, or not recorded"
    field = f".{source.field}" if source.field else ""
    return (
        f"{source.record_type} {source.record_id}{field} v{source.version}, by {source.author or 'unknown'},"
        f" approved by {source.approver or 'nobody'}, {source.taint or 'untainted'}"
    )


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


def _frozen(session: Session) -> Told:
    """The tools are part of what the model is told."""
    try:
        frozen = thawed(session)
    except (PrefixChanged, NotSegments) as refusal:
        raise CommandError(f"The prompt of session {session.pk} cannot be compared. {refusal}") from refusal
    return Told(session, Assembled((frozen.tools, *frozen.assembled.parts)))


def _now(session: Session, system: Actor) -> Told:
    """What a new session of the same conversation would freeze."""
    agent, conversation = session.agent, session.conversation
    given = told(agent, conversation.end_user_key, system=system, off_the_record=conversation.off_the_record)
    tools = tools_part(agent, Offer.of(agent, conversation, knows_agents=bool(given.invokable)))
    return Told(session, Assembled((tools, *assemble(given).parts)))
