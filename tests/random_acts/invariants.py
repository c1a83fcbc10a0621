"""What has to hold after every step; each check says in words what does not."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from django.apps import apps
from django.db import connection

from apps.governance.actors import PEOPLE, Actor
from apps.governance.audit.hash_chain import verify
from apps.governance.audit.log_reader import entries_beside, linked_entries
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import GovernanceError
from apps.governance.models import Governed
from apps.governance.policy.table import POLICY, Act, Does
from apps.governance.refusal_log import RECORDED
from apps.tenants.authentication.actor_resolution import system_actor
from tests.random_acts.session_prefix_check import flaws_of_session
from tests.random_acts.superuser_observer import MEMORY, Approved, Key, Observer, Record, Waiting
from tests.random_acts.two_tenants import SYSTEM, Side, is_person
from tests.support.database.catalog import tenant_tables

HIGH = "high"


@dataclass
class Step:
    """One thing that was tried, and how it ended. `refusals` is None where a worker may have been refused on the way."""

    name: str
    actor: Actor | None = None
    must_refuse: str = ""
    refusal: GovernanceError | None = None
    leaked: str = ""
    refusals: bool = True


@dataclass
class Seen:
    """What stood after a step."""

    approved: dict[Key, Approved]
    records: int
    refusals: dict[int, int]
    sessions: dict[int, str]
    proposals: dict[int, Waiting]
    heads: dict[int, dict[int, list[str]]] = field(default_factory=dict)


def look(observer: Observer) -> Seen:
    """Everything, at once."""
    return Seen(
        observer.approved(),
        observer.last_record(),
        observer.refusals(),
        observer.sessions(),
        observer.proposals(),
    )


@dataclass
class Look:
    """One step between what stood before and what stands after."""

    step: Step
    before: Seen
    after: Seen
    observer: Observer
    sides: tuple[Side, Side]
    number: int
    records: list[Record]


Check = Callable[[Look], Iterator[str]]


def ended_as_it_had_to(seen: Look) -> Iterator[str]:
    """Whoever may not was refused; and a refusal leaves nothing but its own record."""
    step = seen.step
    if step.must_refuse and step.refusal is None:
        yield f"{step.name} was done, though {step.must_refuse}"
    if step.leaked:
        yield step.leaked
    if step.refusal is not None and seen.records:
        yield f"{step.name} was refused ({step.refusal}) and changed {seen.records[0].subject} all the same"


def approved_bytes(seen: Look) -> Iterator[str]:
    """(a) Bytes become approved, or stop being it, by a record of a person alone."""
    before, after = seen.before.approved, seen.after.approved
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        written = [record for record in seen.records if record.subject == key]
        if new is None and key.kind in MEMORY and written:
            continue
        if not any(_lets_through(record, new) for record in written):
            roles = ", ".join(f"{record.act} by {record.role}" for record in written) or "no record at all"
            yield f"the approved bytes of {key.kind} {key.row_id} changed with {roles}"


def _lets_through(record: Record, new: Approved | None) -> bool:
    """A person's, or the installation's own where the policy lets it make the row."""
    makes = POLICY[Act(record.act)].does is Does.MAKES and record.role == SYSTEM
    said = new is None or all(record.after.get(name) == text for name, text in new.texts.items())
    return (is_person(record.role) or makes) and said


def new_sessions(seen: Look) -> Iterator[str]:
    """(b) Every byte of a session that opened has an owner who may stand there."""
    for session_id in sorted(seen.after.sessions.keys() - seen.before.sessions.keys()):
        approved = [*seen.before.approved.items(), *seen.after.approved.items()]
        yield from flaws_of_session(session_id, seen.observer, seen.sides, approved)


def books(seen: Look) -> Iterator[str]:
    """(c) The product's own verification finds the chain whole, and where it was when we looked last."""
    for side in seen.sides:
        with acting(system_actor(side.tenant_id)):
            anchors = seen.before.heads.get(side.tenant_id, {})
            verified = verify((linked for linked, _ in linked_entries(side.tenant_id)), anchors)
            findings = [*verified.findings, *entries_beside(side.tenant_id)]
        seen.after.heads[side.tenant_id] = {verified.position: [verified.sha256]}
        yield from (f"{finding.row} was {finding.kind.value}. {finding.detail}" for finding in findings)


def other_tenants(seen: Look) -> Iterator[str]:
    """(d) Nobody sees a row of the other tenant: one actor a step, every table by SQL, one noun by the ORM."""
    side = seen.sides[seen.number % 2]
    bot = side.world.bot
    actors = (side.world.operator, bot, side.world.system, bot.serving("http:ann"), side.world.admin)
    actor = actors[seen.number // 2 % len(actors)]
    with acting(actor):
        for table, rows in _foreign(actor):
            yield f"{rows} rows of another tenant in {table} were seen by {actor.label}"
        models = [model for model in apps.get_models() if issubclass(model, Governed)]
        model = models[seen.number % len(models)]
        if (
            _readable(model._meta.db_table, "tenant_id")
            and model._base_manager.exclude(tenant_id=actor.tenant_id).exists()
        ):
            yield f"{model.__name__} of another tenant were read by {actor.label}"


def _foreign(actor: Actor) -> Iterator[tuple[str, int]]:
    readable = [table for table in tenant_tables() if _readable(table.name, table.column)]
    parts = (
        f"SELECT '{table.name}', count(*) FROM {table.name} WHERE {table.column} <> {actor.tenant_id}"  # noqa: S608
        for table in readable
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        yield from ((str(name), int(rows)) for name, rows in cursor.fetchall() if rows)


def _readable(table: str, column: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_column_privilege(%s, %s, 'SELECT')", [table, column])
        return bool(cursor.fetchone()[0])


def running_sessions(seen: Look) -> Iterator[str]:
    """(e) What was frozen stays to the byte."""
    for session_id, digest in seen.before.sessions.items():
        if seen.after.sessions.get(session_id) != digest:
            yield f"session {session_id} is no longer what it was frozen as"


def proposals(seen: Look) -> Iterator[str]:
    """(f) One open proposal per target and kind, of agents and of people; what was applied had the people its risk asks for."""
    for tenant_id, kind, target_id, what, number in seen.observer.open_twice():
        yield f"{number} open proposals of tenant {tenant_id} for {what} of {kind} {target_id}"
    for proposal_id, now in seen.after.proposals.items():
        then = seen.before.proposals.get(proposal_id)
        if now.state == "applied" and (then is None or then.state != "applied"):
            yield from _unapproved(proposal_id, now, seen)


def _unapproved(proposal_id: int, now: Waiting, seen: Look) -> Iterator[str]:
    said_yes = seen.observer.approvers(proposal_id, now.content_sha256)
    needed = seen.observer.reviewers_needed(now.tenant_id) if now.risk == HIGH else 1
    counted = said_yes - now.authors if needed > 1 else said_yes
    if strangers := said_yes - seen.observer.people(now.tenant_id):
        yield f"proposal {proposal_id} was approved by {sorted(strangers)}, who are no people of its tenant"
    if len(counted) < needed:
        yield f"proposal {proposal_id} of {now.risk} risk was applied with {len(counted)} of {needed} reviewers"
    if seen.step.actor is None or seen.step.actor.role not in PEOPLE:
        yield f"proposal {proposal_id} was applied by {seen.step.name}"


def refusals(seen: Look) -> Iterator[str]:
    """(g) A refused attempt of the recorded kinds stands in the books of whoever tried, once; nothing else does."""
    if not seen.step.refusals:
        return
    kept = isinstance(seen.step.refusal, RECORDED)
    for tenant_id, number in seen.after.refusals.items():
        mine = kept and seen.step.actor is not None and seen.step.actor.tenant_id == tenant_id
        if number - seen.before.refusals[tenant_id] != mine:
            more = number - seen.before.refusals[tenant_id]
            yield f"{more} refusals of tenant {tenant_id} were kept for {seen.step.name} ({seen.step.refusal!r})"


CHECKS: Mapping[str, Check] = {
    "outcome": ended_as_it_had_to,
    "approved bytes": approved_bytes,
    "new sessions": new_sessions,
    "audit chain": books,
    "other tenants": other_tenants,
    "running sessions": running_sessions,
    "proposals": proposals,
    "refusals": refusals,
}
