"""The walls around tools: people say what may be called, workers keep what servers say, agents see nothing of either."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, UniqueInTenant, Wall

SERVERS = Wall(
    operator="SELECT, INSERT, UPDATE (title, url, is_active, timeout_seconds, result_bytes, secret_id)",
    agent="",
    crossing="SELECT (id, tenant_id, is_active)",
)
LISTINGS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (due_at, listed_at, protocol, failure)",
    agent="",
    crossing="SELECT (tenant_id, server_id, due_at)",
    versioned=False,
)
TOOLS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (definition, sha256, flaw, is_listed, seen_at)",
    agent="",
    versioned=False,
)
ALLOWED = Wall(operator="SELECT, INSERT, DELETE, UPDATE (needs_approval, definition, sha256)", agent="")


class Migration(migrations.Migration):
    """Row security, grants, and references that stay within the tenant."""

    dependencies: ClassVar = [
        ("tools", "0001_tables"),
        ("tenants", "0021_walls_of_endpoints"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("tools_toolserver", SERVERS),
        RaiseWall("tools_toollisting", LISTINGS),
        RaiseWall("tools_servertool", TOOLS),
        RaiseWall("tools_agenttool", ALLOWED),
        ComposeKey("tools_toolserver"),
        ComposeKey("tools_servertool"),
        ComposeKey("tools_agenttool"),
        UniqueInTenant("tools_toollisting", "server_id"),
        ComposeForeignKey("tools_toolserver", "secret_id", "tenants_sealedsecret"),
        ComposeForeignKey("tools_toollisting", "server_id", "tools_toolserver"),
        ComposeForeignKey("tools_servertool", "server_id", "tools_toolserver"),
        ComposeForeignKey("tools_agenttool", "agent_id", "tenants_agent"),
        ComposeForeignKey("tools_agenttool", "tool_id", "tools_servertool"),
    ]
