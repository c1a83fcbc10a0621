-- Lists the columns of tables and views.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': column ' || attribute.attname || ' ' || format_type(attribute.atttypid, attribute.atttypmod)
       || CASE WHEN attribute.attcollation <> type.typcollation THEN ' collate ' || attribute.attcollation::regcollation::text
          ELSE '' END
       || CASE WHEN attribute.attnotnull THEN ' not null' ELSE '' END
       || CASE attribute.attidentity WHEN 'd' THEN ' identity by default' WHEN 'a' THEN ' identity always' ELSE '' END
       || CASE attribute.attgenerated WHEN '' THEN coalesce(' default ' || pg_get_expr(preset.adbin, preset.adrelid, true), '')
          ELSE ' generated as ' || pg_get_expr(preset.adbin, preset.adrelid, true) END
  FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
       JOIN pg_type AS type ON type.oid = attribute.atttypid
       LEFT JOIN pg_attrdef AS preset ON preset.adrelid = attribute.attrelid AND preset.adnum = attribute.attnum
 WHERE class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
   AND attribute.attnum > 0 AND NOT attribute.attisdropped
