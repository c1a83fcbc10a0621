"""An agent may ask which tools of others it may call, by name, and nothing else of that list."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Of the one agent whose hands these are; for anybody else there is none. What else there is it does not learn.
OWN = """
GRANT SELECT (tenant_id, agent_id, tool_id, definition) ON tools_agenttool TO @crossing@;
GRANT SELECT (tenant_id, id, called, name) ON tools_servertool TO @crossing@;
CREATE POLICY tools_agenttool_crossing ON tools_agenttool TO @crossing@ USING (true) WITH CHECK (true);
CREATE POLICY tools_servertool_crossing ON tools_servertool TO @crossing@ USING (true) WITH CHECK (true);
CREATE FUNCTION own_tools() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT named.name), '{}')
      FROM tools_agenttool AS mine JOIN tools_servertool AS listed ON listed.tenant_id = mine.tenant_id AND listed.id = mine.tool_id
     CROSS JOIN LATERAL (VALUES (listed.called::text), (listed.name::text), (mine.definition ->> 'name')) AS named (name)
     WHERE mine.tenant_id = app_tenant() AND mine.agent_id = app_agent() AND named.name IS NOT NULL
$$;
REVOKE ALL ON FUNCTION own_tools() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION own_tools() TO @agent@;
ALTER FUNCTION own_tools() OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """One function."""

    dependencies: ClassVar = [
        ("tools", "0004_walls_of_approvals"),
    ]
    operations: ClassVar = [RoleSQL(OWN)]
