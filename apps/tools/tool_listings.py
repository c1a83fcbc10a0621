"""Stored lists of the servers' tools, as workers fetched them.

Only this module writes them. The descriptions are not verified.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.llm.mcp_client.tool_server import ListedTool, ToolServerListing
from apps.tools.models import ToolServer
from apps.tools.tool_limits import TOOLS_PER_SERVER, UnfitToolError, define_tool, qualified_tool_name

NAME_CHARACTERS: Final = 200
# The delay before a server that failed is queried again.
RETRY_AFTER: Final = timedelta(minutes=5)

# Of two concurrent sweeps, only one queries a server.
CLAIM_LISTING_SQL: Final = """
INSERT INTO tools_toollisting AS listing (tenant_id, server_id, due_at, protocol_version, failure)
SELECT tenant_id, id, statement_timestamp() + %(again)s::interval, '', '' FROM tools_toolserver
 WHERE tenant_id = app_tenant() AND id = %(server)s AND is_active
    ON CONFLICT (tenant_id, server_id) DO UPDATE SET due_at = excluded.due_at WHERE listing.due_at <= statement_timestamp()
RETURNING server_id
"""

RECORD_FAILURE_SQL: Final = """
INSERT INTO tools_toollisting (tenant_id, server_id, due_at, protocol_version, failure)
VALUES (app_tenant(), %(server)s, statement_timestamp() + %(again)s::interval, '', %(failure)s)
    ON CONFLICT (tenant_id, server_id) DO UPDATE SET due_at = excluded.due_at, failure = excluded.failure
RETURNING server_id
"""

# Storing a list and changing the server's address exclude each other, so the later one sees the result of the earlier one.
LOCK_LISTING_SQL: Final = """
INSERT INTO tools_toollisting (tenant_id, server_id, due_at, protocol_version, failure)
VALUES (app_tenant(), %(server)s, statement_timestamp(), '', '')
    ON CONFLICT (tenant_id, server_id) DO UPDATE SET due_at = excluded.due_at
RETURNING server_id
"""

# Tools listed by the previous address are not offered under the new one.
UNLIST_TOOLS_SQL: Final = """
UPDATE tools_servertool SET is_listed = false, updated_at = statement_timestamp()
 WHERE tenant_id = app_tenant() AND server_id = %(server)s AND is_listed
RETURNING id
"""

STORE_LISTING_SQL: Final = load_query("apps/tools/queries/store_listing.sql")


@dataclass(frozen=True, slots=True)
class QueriedServer:
    """A server as it was when its tools were queried."""

    pk: int
    key: str
    version: int


@dataclass(frozen=True, slots=True)
class ListingChanges:
    """The number of tools that a server offers, and the changes since the last refresh."""

    tools: int
    new: int
    changed: int
    gone: int
    unfit: int


def check_refresh_allowed(server_id: int, *, actor: Actor) -> ToolServer:
    """Return the server to refresh. Raises a refusal unless the actor may refresh it."""
    authorize(actor, Act.TOOL_SERVER_REFRESH, actor.tenant_id)
    with recording_refusals(actor, Act.TOOL_SERVER_REFRESH), acting_as(actor):
        server = ToolServer.objects.visible_to(actor).filter(pk=server_id).first()
        if server is None:
            raise NotVisible("There is no such tool server.")
    return server


def claim_listing(server_id: int, *, actor: Actor) -> bool:
    """Claim the refresh for this worker; false if another worker has claimed it or no refresh is due."""
    return bool(execute_as(actor, CLAIM_LISTING_SQL, {"server": server_id, "again": RETRY_AFTER}))


def record_listing_failure(server: QueriedServer, failure: str, *, actor: Actor) -> bool:
    """Record a failed refresh, and keep the previous list. Returns false and records nothing if the server changed meanwhile."""
    with acting_as(actor):
        if stands := _is_unchanged(server, actor):
            execute_as(actor, RECORD_FAILURE_SQL, {"server": server.pk, "again": RETRY_AFTER, "failure": failure})
    return stands


def unlist_tools(server_id: int, *, actor: Actor) -> None:
    """Unlist a server's tools after its address changed, until the new address has been queried."""
    with acting_as(actor):
        for statement in (LOCK_LISTING_SQL, UNLIST_TOOLS_SQL):
            execute_as(actor, statement, {"server": server_id})


def store_tool_listing(
    server: QueriedServer, listing: ToolServerListing, fresh: timedelta, *, actor: Actor
) -> ListingChanges | None:
    """Store the server's current tools, and unlist stored tools that are missing.

    Returns None and stores nothing if the server changed meanwhile.
    """
    rows = json.dumps(list(_tool_rows(server.key, listing.tools).values()))
    given = {"server": server.pk, "tools": rows, "fresh": fresh, "protocol_version": listing.protocol[:20]}
    with acting_as(actor):
        if not _is_unchanged(server, actor):
            return None
        return ListingChanges(*map(int, execute_as(actor, STORE_LISTING_SQL, given)[0]))


def _is_unchanged(server: QueriedServer, actor: Actor) -> bool:
    """Whether the server's address and headers are unchanged since it was queried. If not, a refresh is already due."""
    execute_as(actor, LOCK_LISTING_SQL, {"server": server.pk})
    return ToolServer.objects.visible_to(actor).filter(pk=server.pk, version=server.version).exists()


def _tool_rows(server_key: str, tools: Sequence[ListedTool]) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows by the name that a model would call. If two tools get the same name, only the first is kept."""
    rows: dict[str, Mapping[str, Any]] = {}
    for tool in tools[:TOOLS_PER_SERVER]:
        name = tool.name[:NAME_CHARACTERS].replace("\x00", "")
        rows.setdefault(qualified_tool_name(server_key, name), _tool_row(server_key, tool, name))
    return rows


def _tool_row(server_key: str, tool: ListedTool, name: str) -> Mapping[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "qualified_name": qualified_tool_name(server_key, name),
        "definition": None,
        "sha256": "",
    }
    if name != tool.name:
        return {**row, "validation_error": "Its name is too long, or not a text."}
    try:
        definition = define_tool(server_key, tool)
    except UnfitToolError as flaw:
        return {**row, "validation_error": str(flaw)}
    return {**row, "definition": definition.stored, "sha256": definition.sha256, "validation_error": ""}
