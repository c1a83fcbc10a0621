-- Stores what a tool server says of its tools, and counts what changed. Tools that it left out are listed no more.
--
-- Called by: store_tool_listing (apps/tools/tool_listings.py), with the listing locked
-- Runs as: worker
-- One statement: the counts compare what is stored with what was stored before it.
-- Locks: the rows of the server's tools that change
-- Parameters:
--   :server            bigint    the tool server
--   :tools             jsonb     its tools, a list of {name, qualified_name, definition, sha256, validation_error}
--   :fresh             interval  how long from now until it is asked again
--   :protocol_version  text      the version of the protocol that it speaks
-- Returns: one row:
--   tools    bigint  tools that it offers
--   new      bigint  those of them that were unknown
--   changed  bigint  those that are described in another way than before
--   gone     bigint  listed tools that it left out
--   unfit    bigint  tools that no agent can be allowed, for how they are described

WITH offered_tool AS (
    SELECT *
    FROM jsonb_to_recordset(:tools::jsonb)
        AS tool (name text, qualified_name text, definition jsonb, sha256 text, validation_error text)
    -- The tool that had a qualified name first keeps it.
    WHERE NOT EXISTS (
        SELECT 1
        FROM tools_servertool AS other
        WHERE other.tenant_id = app_tenant()
          AND other.qualified_name = tool.qualified_name
          AND other.name <> tool.name
    )
), previous_tool AS (
    SELECT name, sha256, is_listed
    FROM tools_servertool
    WHERE tenant_id = app_tenant() AND server_id = :server
), stored_tool AS (
    INSERT INTO tools_servertool AS tool (
        tenant_id, server_id, name, qualified_name, definition, sha256, validation_error, is_listed
    )
    SELECT app_tenant(), :server, name, qualified_name, definition, sha256, validation_error, true
    FROM offered_tool
    ON CONFLICT (tenant_id, server_id, name) DO UPDATE
    SET definition = excluded.definition,
        sha256 = excluded.sha256,
        validation_error = excluded.validation_error,
        is_listed = true,
        updated_at = statement_timestamp()
    WHERE (tool.sha256, tool.validation_error, tool.is_listed)
        IS DISTINCT FROM (excluded.sha256, excluded.validation_error, true)
), unlisted_tool AS (
    UPDATE tools_servertool AS tool
    SET is_listed = false,
        updated_at = statement_timestamp()
    WHERE tool.tenant_id = app_tenant()
      AND tool.server_id = :server
      AND tool.is_listed
      AND NOT EXISTS (SELECT 1 FROM offered_tool WHERE offered_tool.name = tool.name)
), listing AS (
    INSERT INTO tools_toollisting (tenant_id, server_id, due_at, listed_at, protocol_version, failure)
    VALUES (
        app_tenant(), :server, statement_timestamp() + :fresh::interval, statement_timestamp(), :protocol_version, ''
    )
    ON CONFLICT (tenant_id, server_id) DO UPDATE
    SET due_at = excluded.due_at,
        listed_at = excluded.listed_at,
        protocol_version = excluded.protocol_version,
        failure = ''
)
SELECT
    (SELECT count(*) FROM offered_tool) AS tools,
    (
        SELECT count(*)
        FROM offered_tool
        WHERE NOT EXISTS (SELECT 1 FROM previous_tool WHERE previous_tool.name = offered_tool.name)
    ) AS new,
    (
        SELECT count(*)
        FROM offered_tool
        JOIN previous_tool
          ON previous_tool.name = offered_tool.name AND previous_tool.sha256 <> offered_tool.sha256
    ) AS changed,
    (
        SELECT count(*)
        FROM previous_tool
        WHERE previous_tool.is_listed
          AND NOT EXISTS (SELECT 1 FROM offered_tool WHERE offered_tool.name = previous_tool.name)
    ) AS gone,
    (SELECT count(*) FROM offered_tool WHERE validation_error <> '') AS unfit
