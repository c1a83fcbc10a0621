"""What has to hold after every step; each check says in words what does not."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from django.apps import apps
from django.db import connection

from apps.governance.actors import PEOPLE, Actor
from apps.governance.audit.hash_chain import verify_chain
from apps.governance.audit.log_reader import chain_entries, unlinked_entries
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act, RowEffect
from apps.governance.refusal_log import RECORDED_REFUSALS
from apps.tenants.authentication.actor_resolution import system_actor
from tests.random_acts.session_prefix_check import flaws_of_session
from tests.random_acts.superuser_observer import MEMORY, ApprovedRow, OpenProposal, RecordRow, RowKey, SuperuserObserver
from tests.random_acts.two_tenants import SYSTEM, ActingTenant, is_person
from tests.support.database.catalog import tenant_tables

HIGH_RISK = "high"


@dataclass
class ActStep:
    """One thing that was tried, and how it ended. `refusals` is None where a worker may have been refused on the way."""

    name: str
    actor: Actor | None = None
    must_refuse: str = ""
    refusal: GovernanceError | None = None
    leaked: str = ""
    refusals: bool = True


@dataclass
class ObservedState:
    """What stood after a step."""

    approved: dict[RowKey, ApprovedRow]
    records: int
    refusals: dict[int, int]
    sessions: dict[int, str]
    proposals: dict[int, OpenProposal]
    heads: dict[int, dict[int, list[str]]] = field(default_factory=dict)


def observe(observer: SuperuserObserver) -> ObservedState:
    """Everything, at once."""
    return ObservedState(
        observer.approved(),
        observer.last_record(),
        observer.refusals(),
        observer.sessions(),
        observer.proposals(),
    )


@dataclass
class StepComparison:
    """One step between what stood before and what stands after."""

    step: ActStep
    before: ObservedState
    after: ObservedState
    observer: SuperuserObserver
    sides: tuple[ActingTenant, ActingTenant]
    number: int
    records: list[RecordRow]


Check = Callable[[StepComparison], Iterator[str]]


def check_outcome(seen: StepComparison) -> Iterator[str]:
    """Whoever may not was refused; and a refusal leaves nothing but its own record."""
    step = seen.step
    if step.must_refuse and step.refusal is None:
        yield f"{step.name} was done, though {step.must_refuse}"
    if step.leaked:
        yield step.leaked
    if step.refusal is not None and seen.records:
        yield f"{step.name} was refused ({step.refusal}) and changed {seen.records[0].subject} all the same"


def check_approved_bytes(seen: StepComparison) -> Iterator[str]:
    """(a) Bytes become approved, or stop being it, by a record of a person alone."""
    before, after = seen.before.approved, seen.after.approved
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        written = [record for record in seen.records if record.subject == key]
        if new is None and key.kind in MEMORY and written:
            continue
        if not any(_is_approval(record, new) for record in written):
            roles = ", ".join(f"{record.act} by {record.role}" for record in written) or "no record at all"
            yield f"the approved bytes of {key.kind} {key.row_id} changed with {roles}"


def _is_approval(record: RecordRow, new: ApprovedRow | None) -> bool:
    """A person's, or the installation's own where the policy lets it make the row."""
    makes = POLICY[Act(record.act)].does is RowEffect.MAKES and record.role == SYSTEM
    texts_match = new is None or all(record.after.get(name) == text for name, text in new.texts.items())
    return (is_person(record.role) or makes) and texts_match


def check_new_sessions(seen: StepComparison) -> Iterator[str]:
    """(b) Every byte of a session that opened has an owner who may stand there."""
    for session_id in sorted(seen.after.sessions.keys() - seen.before.sessions.keys()):
        approved = [*seen.before.approved.items(), *seen.after.approved.items()]
        yield from flaws_of_session(session_id, seen.observer, seen.sides, approved)


def check_audit_chain(seen: StepComparison) -> Iterator[str]:
    """(c) The product's own verification finds the chain whole, and where it was when we looked last."""
    for side in seen.sides:
        with acting_as(system_actor(side.tenant_id)):
            anchors = seen.before.heads.get(side.tenant_id, {})
            verified = verify_chain((linked for linked, _ in chain_entries(side.tenant_id)), anchors)
            findings = [*verified.findings, *unlinked_entries(side.tenant_id)]
        seen.after.heads[side.tenant_id] = {verified.position: [verified.sha256]}
        yield from (f"{finding.row} was {finding.kind.value}. {finding.detail}" for finding in findings)


def check_other_tenants(seen: StepComparison) -> Iterator[str]:
    """(d) Nobody sees a row of the other tenant: one actor a step, every table by SQL, one noun by the ORM."""
    side = seen.sides[seen.number % 2]
    bot = side.world.bot
    actors = (side.world.operator, bot, side.world.system, bot.serving("http:ann"), side.world.admin)
    actor = actors[seen.number // 2 % len(actors)]
    with acting_as(actor):
        for table, rows in _foreign_row_counts(actor):
            yield f"{rows} rows of another tenant in {table} were seen by {actor.label}"
        models = [model for model in apps.get_models() if issubclass(model, Governed)]
        model = models[seen.number % len(models)]
        if (
            _is_readable(model._meta.db_table, "tenant_id")
            and model._base_manager.exclude(tenant_id=actor.tenant_id).exists()
        ):
            yield f"{model.__name__} of another tenant were read by {actor.label}"


def _foreign_row_counts(actor: Actor) -> Iterator[tuple[str, int]]:
    readable = [table for table in tenant_tables() if _is_readable(table.name, table.column)]
    parts = (
        f"SELECT '{table.name}', count(*) FROM {table.name} WHERE {table.column} <> {actor.tenant_id}"  # noqa: S608
        for table in readable
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        yield from ((str(name), int(rows)) for name, rows in cursor.fetchall() if rows)


def _is_readable(table: str, column: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_column_privilege(%s, %s, 'SELECT')", [table, column])
        return bool(cursor.fetchone()[0])


def check_running_sessions(seen: StepComparison) -> Iterator[str]:
    """(e) What was frozen stays to the byte."""
    for session_id, digest in seen.before.sessions.items():
        if seen.after.sessions.get(session_id) != digest:
            yield f"session {session_id} is no longer what it was frozen as"


def check_proposals(seen: StepComparison) -> Iterator[str]:
    """(f) One open proposal per target and kind, of agents and of people; what was applied had the people its risk asks for."""
    for tenant_id, kind, target_id, what, number in seen.observer.open_twice():
        yield f"{number} open proposals of tenant {tenant_id} for {what} of {kind} {target_id}"
    for proposal_id, now in seen.after.proposals.items():
        then = seen.before.proposals.get(proposal_id)
        if now.state == "applied" and (then is None or then.state != "applied"):
            yield from _missing_approvals(proposal_id, now, seen)


def _missing_approvals(proposal_id: int, now: OpenProposal, seen: StepComparison) -> Iterator[str]:
    said_yes = seen.observer.approvers(proposal_id, now.content_sha256)
    needed = seen.observer.reviewers_needed(now.tenant_id) if now.risk == HIGH_RISK else 1
    counted = said_yes - now.authors if needed > 1 else said_yes
    if strangers := said_yes - seen.observer.people(now.tenant_id):
        yield f"proposal {proposal_id} was approved by {sorted(strangers)}, who are no people of its tenant"
    if len(counted) < needed:
        yield f"proposal {proposal_id} of {now.risk} risk was applied with {len(counted)} of {needed} reviewers"
    if seen.step.actor is None or seen.step.actor.role not in PEOPLE:
        yield f"proposal {proposal_id} was applied by {seen.step.name}"


def check_refusals(seen: StepComparison) -> Iterator[str]:
    """(g) A refused attempt of the recorded kinds stands in the books of whoever tried, once; nothing else does."""
    if not seen.step.refusals:
        return
    kept = isinstance(seen.step.refusal, RECORDED_REFUSALS)
    for tenant_id, number in seen.after.refusals.items():
        mine = kept and seen.step.actor is not None and seen.step.actor.tenant_id == tenant_id
        if number - seen.before.refusals[tenant_id] != mine:
            more = number - seen.before.refusals[tenant_id]
            yield f"{more} refusals of tenant {tenant_id} were kept for {seen.step.name} ({seen.step.refusal!r})"


CHECKS: Mapping[str, Check] = {
    "outcome": check_outcome,
    "approved bytes": check_approved_bytes,
    "new sessions": check_new_sessions,
    "audit chain": check_audit_chain,
    "other tenants": check_other_tenants,
    "running sessions": check_running_sessions,
    "proposals": check_proposals,
    "refusals": check_refusals,
}
