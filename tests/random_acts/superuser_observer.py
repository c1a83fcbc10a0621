"""What stands in the tables, read by a superuser on a connection of its own, past every wall of the product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg

# What a prompt carries as prose: the columns that hold it, and which rows let it through. Any change of it is a person's.
APPROVED_TABLES: Mapping[str, tuple[str, str]] = {
    "skills.skill": (
        "name, title, description, category, body, attachments",
        "status = 'approved' AND quarantined_at IS NULL",
    ),
    "personas.persona": ("identity, style, avoid, defaults, goals", "status = 'active'"),
    "personas.personaoverlay": ("text", "true"),
    "personas.identitycard": (
        "line_key, business_name, assigned_name, assigned_title, hours, timezone, signature, locale",
        "true",
    ),
    "personas.standingrule": ("text, position", "status = 'active'"),
    "tenants.agent": ("key, title, contract", "true"),
    "tenants.invokableagent": ("callee_id, role_hint", "true"),
    "memory.agentmemory": ("body", "taint = 'operator'"),
    "memory.memoryblock": ("body", "taint = 'operator'"),
}
# An agent may overwrite what people approved of its memory: that takes bytes away and lets none in.
MEMORY = frozenset({"memory.agentmemory", "memory.memoryblock"})
_AGENT_COLUMN = {"tenants.agent": "id", "tenants.invokableagent": "agent_id"}


class RowKey(NamedTuple):
    """One row."""

    kind: str
    row_id: int


@dataclass(frozen=True)
class ApprovedRow:
    """The approved bytes of one row, and for which agent they are; None is everybody's."""

    tenant_id: int
    agent_id: int | None
    texts: Mapping[str, Any]  # Any: texts, numbers, and lists of files


@dataclass(frozen=True)
class RecordRow:
    """One change record with the words it left."""

    tenant_id: int
    act: str
    subject: RowKey
    role: str
    after: Mapping[str, Any]  # Any: whatever the columns hold


@dataclass(frozen=True)
class OpenProposal:
    """One proposal, as far as its decision goes."""

    tenant_id: int
    state: str
    risk: str
    content_sha256: str
    authors: frozenset[int]


class SuperuserObserver:
    """Reads everything of two tenants, and nothing of those that stood before."""

    def __init__(self, connection: "psycopg.Connection[Any]", tenant_ids: Sequence[int]) -> None:
        self.connection = connection
        self.tenant_ids = list(tenant_ids)

    def ask(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """Rows of a statement of ours."""
        return self.connection.execute(statement.encode(), params or None).fetchall()

    def approved(self) -> dict[RowKey, ApprovedRow]:
        """Every row whose bytes a prompt may carry as prose."""
        found: dict[RowKey, ApprovedRow] = {}
        for kind, (columns, condition) in APPROVED_TABLES.items():
            owner = _AGENT_COLUMN.get(kind, "agent_id")
            named = ", ".join(f"'{name}', {name}" for name in columns.split(", "))
            rows = self.ask(
                f"SELECT id, tenant_id, {owner}, jsonb_build_object({named}) FROM {kind.replace('.', '_')}"  # noqa: S608
                f" WHERE tenant_id = ANY(%s) AND {condition}",
                self.tenant_ids,
            )
            found |= {RowKey(kind, row_id): ApprovedRow(*rest) for row_id, *rest in rows}
        return found

    def records_after(self, record_id: int) -> list[RecordRow]:
        """What was written into the books since."""
        rows = self.ask(
            "SELECT record.tenant_id, act, subject_type, subject_id, actor_role, words.after"
            " FROM governance_changerecord AS record JOIN governance_changetext AS words ON words.record_id = record.id"
            " WHERE record.tenant_id = ANY(%s) AND record.id > %s ORDER BY record.id",
            self.tenant_ids,
            record_id,
        )
        return [RecordRow(tenant, act, RowKey(kind, row), role, after) for tenant, act, kind, row, role, after in rows]

    def last_record(self) -> int:
        """The newest change record of anybody."""
        return int(self.ask("SELECT coalesce(max(id), 0) FROM governance_changerecord")[0][0])

    def refusals(self) -> dict[int, int]:
        """How many refused attempts each tenant's books hold."""
        rows = self.ask(
            "SELECT tenant_id, count(*) FROM governance_refusal WHERE tenant_id = ANY(%s) GROUP BY 1", self.tenant_ids
        )
        return dict.fromkeys(self.tenant_ids, 0) | {tenant: int(number) for tenant, number in rows}

    def sessions(self) -> dict[int, str]:
        """Each frozen session with the hash of its bytes, tools and owners included."""
        rows = self.ask(
            "SELECT session.id, md5(tools.text || session.prefix_sha256 || string_agg(part.text || part.segments::text,"
            " '|' ORDER BY place.position)) FROM runtime_session AS session"
            " JOIN runtime_snapshotpart AS tools ON tools.id = session.tools_id"
            " JOIN runtime_sessionpart AS place ON place.session_id = session.id"
            " JOIN runtime_snapshotpart AS part ON part.id = place.part_id"
            " WHERE session.tenant_id = ANY(%s) GROUP BY session.id, tools.text, session.prefix_sha256",
            self.tenant_ids,
        )
        return {int(session): str(digest) for session, digest in rows}

    def proposals(self) -> dict[int, OpenProposal]:
        """Every proposal."""
        rows = self.ask(
            "SELECT id, tenant_id, state, risk, content_sha256, proposers, edited_by_id FROM governance_proposal"
            " WHERE tenant_id = ANY(%s)",
            self.tenant_ids,
        )
        return {
            int(row): OpenProposal(tenant, state, risk, sha256, frozenset({*proposers, *({editor} - {None})}))
            for row, tenant, state, risk, sha256, proposers, editor in rows
        }

    def open_twice(self) -> list[tuple[Any, ...]]:
        """Targets with two open proposals of one kind: of agents there is one, and of people for everybody another."""
        return self.ask(
            "SELECT tenant_id, target_type, target_id, kind, count(*) FROM governance_proposal WHERE state = 'open'"
            " AND tenant_id = ANY(%s) GROUP BY 1, 2, 3, 4, agent_id IS NULL HAVING count(*) > 1",
            self.tenant_ids,
        )

    def approvers(self, proposal_id: int, content_sha256: str) -> set[int]:
        """Who said yes to these bytes."""
        rows = self.ask(
            "SELECT user_id FROM governance_approval WHERE proposal_id = %s AND content_sha256 = %s",
            proposal_id,
            content_sha256,
        )
        return {int(user) for (user,) in rows}

    def people(self, tenant_id: int) -> set[int]:
        """Who is, or was, a member of the tenant."""
        rows = self.ask(
            "SELECT user_id FROM tenants_membership WHERE tenant_id = %s AND role IN ('operator', 'admin')", tenant_id
        )
        return {int(user) for (user,) in rows}

    def reviewers_needed(self, tenant_id: int) -> int:
        """How many the tenant asks for at high risk."""
        rows = self.ask("SELECT high_risk_reviewers FROM tenants_tenantsettings WHERE tenant_id = %s", tenant_id)
        return int(rows[0][0])

    def version_stood(self, tenant_id: int, subject: RowKey, version: int) -> bool:
        """Whether the tenant's books know this version of the row, and the row is there."""
        rows = self.ask(
            f"SELECT 1 FROM {subject.kind.replace('.', '_')} AS row WHERE row.id = %s AND row.tenant_id = %s"  # noqa: S608
            " AND EXISTS (SELECT 1 FROM governance_changerecord AS record WHERE record.tenant_id = row.tenant_id"
            " AND record.subject_type = %s AND record.subject_id = row.id AND record.version_after = %s)",
            subject.row_id,
            tenant_id,
            subject.kind,
            version,
        )
        return bool(rows)

    def remembered(self, tenant_id: int, agent_id: int, customer: str) -> str:
        """All that was ever written into the agent's memory, or about this customer."""
        rows = self.ask(
            "SELECT words.after::text FROM governance_changerecord AS record"
            " JOIN governance_changetext AS words ON words.record_id = record.id WHERE record.tenant_id = %s AND ("
            " (subject_type IN ('memory.agentmemory', 'memory.memoryblock') AND (words.after ->> 'agent_id')::bigint = %s)"
            " OR (subject_type = 'memory.customerprofile' AND words.after ->> 'end_user_key' = %s))",
            tenant_id,
            agent_id,
            customer,
        )
        return "\n".join(text for (text,) in rows)
