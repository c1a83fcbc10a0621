"""What servers say of their tools, kept as the workers read it: the journal's one writer. Nobody vouches for a word of it."""

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
# Whoever failed is asked again so much later.
RETRY_AFTER: Final = timedelta(minutes=5)

# Two sweeps at once ask a server once.
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

# Whoever keeps a listing and whoever moves the server come one after the other: the later one sees what the earlier did.
LOCK_LISTING_SQL: Final = """
INSERT INTO tools_toollisting (tenant_id, server_id, due_at, protocol_version, failure)
VALUES (app_tenant(), %(server)s, statement_timestamp(), '', '')
    ON CONFLICT (tenant_id, server_id) DO UPDATE SET due_at = excluded.due_at
RETURNING server_id
"""

# What was said elsewhere is not what this address says.
UNLIST_TOOLS_SQL: Final = """
UPDATE tools_servertool SET is_listed = false, updated_at = statement_timestamp()
 WHERE tenant_id = app_tenant() AND server_id = %(server)s AND is_listed
RETURNING id
"""

STORE_LISTING_SQL: Final = load_query("apps/tools/queries/store_listing.sql")


@dataclass(frozen=True, slots=True)
class QueriedServer:
    """A server as it was when it was asked."""

    pk: int
    key: str
    version: int


@dataclass(frozen=True, slots=True)
class ListingChanges:
    """How much a server offers, and what of it is otherwise than when it was asked last."""

    tools: int
    new: int
    changed: int
    gone: int
    unfit: int


def check_refresh_allowed(server_id: int, *, actor: Actor) -> ToolServer:
    """The server that is about to be asked what it offers, if this actor may have it asked."""
    authorize(actor, Act.TOOL_SERVER_REFRESH, actor.tenant_id)
    with recording_refusals(actor, Act.TOOL_SERVER_REFRESH), acting_as(actor):
        server = ToolServer.objects.visible_to(actor).filter(pk=server_id).first()
        if server is None:
            raise NotVisible("There is no such tool server.")
    return server


def claim_listing(server_id: int, *, actor: Actor) -> bool:
    """Whether it is this worker that asks the server; false where another does, or nothing is due."""
    return bool(execute_as(actor, CLAIM_LISTING_SQL, {"server": server_id, "again": RETRY_AFTER}))


def record_listing_failure(server: QueriedServer, failure: str, *, actor: Actor) -> bool:
    """The server could not be asked; what it said before stands. False, and nothing is noted, where it changed meanwhile."""
    with acting_as(actor):
        if stands := _is_unchanged(server, actor):
            execute_as(actor, RECORD_FAILURE_SQL, {"server": server.pk, "again": RETRY_AFTER, "failure": failure})
    return stands


def unlist_tools(server_id: int, *, actor: Actor) -> None:
    """The server's address leads to another by now: none of its tools is offered before that one was asked."""
    with acting_as(actor):
        for statement in (LOCK_LISTING_SQL, UNLIST_TOOLS_SQL):
            execute_as(actor, statement, {"server": server_id})


def store_tool_listing(
    server: QueriedServer, listing: ToolServerListing, fresh: timedelta, *, actor: Actor
) -> ListingChanges | None:
    """Keep what the server says now. What it left out is listed no more. None, and nothing is kept, where it changed meanwhile."""
    rows = json.dumps(list(_tool_rows(server.key, listing.tools).values()))
    given = {"server": server.pk, "tools": rows, "fresh": fresh, "protocol_version": listing.protocol[:20]}
    with acting_as(actor):
        if not _is_unchanged(server, actor):
            return None
        return ListingChanges(*map(int, execute_as(actor, STORE_LISTING_SQL, given)[0]))


def _is_unchanged(server: QueriedServer, actor: Actor) -> bool:
    """Whether it is still the server that was asked: neither another address nor other headers. If not, it is due at once."""
    execute_as(actor, LOCK_LISTING_SQL, {"server": server.pk})
    return ToolServer.objects.visible_to(actor).filter(pk=server.pk, version=server.version).exists()


def _tool_rows(server_key: str, tools: Sequence[ListedTool]) -> Mapping[str, Mapping[str, Any]]:
    """By the name each would be called by: two that would be called the same are one, the first."""
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
        return {**row, "validation_error": "Its name is too long, or no text."}
    try:
        definition = define_tool(server_key, tool)
    except UnfitToolError as flaw:
        return {**row, "validation_error": str(flaw)}
    return {**row, "definition": definition.stored, "sha256": definition.sha256, "validation_error": ""}
