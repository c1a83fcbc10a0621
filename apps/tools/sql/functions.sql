-- Functions of tools: what triggers, policies, indexes and the product's own statements call.

-- Active tool servers with a tool list that is due for a refresh; a server without a list is due at once. Only the due-work
-- functions of runtime call it; they run as the cross-tenant role, its owner, and see every tenant.
CREATE OR REPLACE FUNCTION list_due_tool_listings()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT server.tenant_id, server.id, coalesce(listing.due_at, '-infinity') FROM tools_toolserver AS server
        LEFT JOIN tools_toollisting AS listing ON listing.tenant_id = server.tenant_id AND listing.server_id = server.id
        WHERE server.is_active AND coalesce(listing.due_at, '-infinity') <= statement_timestamp()
$$;
REVOKE ALL ON FUNCTION list_due_tool_listings() FROM PUBLIC;
ALTER FUNCTION list_due_tool_listings() OWNER TO @cross_tenant@;

-- Names of the server tools that the acting agent may call. The check for contradictions calls it when an agent writes
-- memory. SECURITY DEFINER and owned by the cross-tenant role, because agents read none of these tables and learn of no
-- other tools.
CREATE OR REPLACE FUNCTION list_agent_tool_names() RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT named.name), '{}')
      FROM tools_agenttool AS mine JOIN tools_servertool AS listed ON listed.tenant_id = mine.tenant_id AND listed.id = mine.tool_id
     CROSS JOIN LATERAL (VALUES (listed.qualified_name::text), (listed.name::text), (mine.definition ->> 'name')) AS named (name)
     WHERE mine.tenant_id = app_tenant() AND mine.agent_id = app_agent() AND named.name IS NOT NULL
$$;
REVOKE ALL ON FUNCTION list_agent_tool_names() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_agent_tool_names() TO @agent@;
ALTER FUNCTION list_agent_tool_names() OWNER TO @cross_tenant@;
