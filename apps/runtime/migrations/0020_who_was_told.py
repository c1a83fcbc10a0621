"""Which sessions carried a row: looked up by the owners of a part, by the sessions of a part, and by the pinned version of a turn."""

import django.db.models.deletion
from django.db import migrations, models

from apps.governance.database import RoleSQL

# Containment is not leakproof, so under row security no index would serve it: the function asks past it, for one tenant.
OWNERS = """
CREATE FUNCTION part_owners(segments jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT (owner ->> 0) || ' ' || (owner ->> 1)), '{}')
      FROM jsonb_array_elements(segments -> 'owners') AS owner WHERE jsonb_typeof(owner) = 'array'
$$;
CREATE INDEX part_by_owner ON runtime_snapshotpart USING gin (part_owners(segments));
GRANT SELECT (id, tenant_id, segments) ON runtime_snapshotpart TO @crossing@;
CREATE POLICY runtime_snapshotpart_crossing ON runtime_snapshotpart TO @crossing@ USING (true) WITH CHECK (true);
CREATE FUNCTION parts_carrying(kind text, record_id bigint, most integer) RETURNS TABLE (part_id bigint, versions integer[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS MATERIALIZED (
        SELECT part.id, part.segments FROM runtime_snapshotpart AS part
         WHERE part.tenant_id = app_tenant() AND part_owners(part.segments) @> ARRAY[kind || ' ' || record_id]
    ), latest AS (SELECT * FROM found ORDER BY id DESC LIMIT most)
    SELECT latest.id, array_agg(DISTINCT (owner ->> 2)::integer)
      FROM latest CROSS JOIN LATERAL jsonb_array_elements(latest.segments -> 'owners') AS owner
     WHERE owner ->> 0 = kind AND owner ->> 1 = record_id::text
     GROUP BY latest.id
$$;
REVOKE ALL ON FUNCTION parts_carrying(text, bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION parts_carrying(text, bigint, integer) TO @operator@, @worker@, @staff@;
ALTER FUNCTION parts_carrying(text, bigint, integer) OWNER TO @crossing@
"""
# Row security would ask of each place whether its session is seen, most cheaply by reading all sessions there are. Whoever asks
# joins these with the sessions they see.
SESSIONS = """
GRANT SELECT (tenant_id, session_id, part_id) ON runtime_sessionpart TO @crossing@;
CREATE POLICY runtime_sessionpart_crossing ON runtime_sessionpart TO @crossing@ USING (true) WITH CHECK (true);
CREATE FUNCTION sessions_of_parts(parts bigint[], most integer) RETURNS TABLE (session_id bigint, part_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT place.session_id, told.id FROM unnest(parts) AS told (id) CROSS JOIN LATERAL (
           SELECT runtime_sessionpart.session_id FROM runtime_sessionpart
            WHERE runtime_sessionpart.tenant_id = app_tenant() AND runtime_sessionpart.part_id = told.id
            ORDER BY runtime_sessionpart.session_id DESC LIMIT most) AS place
     ORDER BY place.session_id DESC LIMIT most
$$;
REVOKE ALL ON FUNCTION sessions_of_parts(bigint[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sessions_of_parts(bigint[], integer) TO @operator@, @worker@, @staff@;
ALTER FUNCTION sessions_of_parts(bigint[], integer) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """Three indexes and two functions."""

    dependencies = [
        ("runtime", "0019_by_time"),
    ]

    operations = [
        migrations.AlterField(
            model_name="sessionpart",
            name="part",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="runtime.snapshotpart",
            ),
        ),
        migrations.AddIndex(
            model_name="sessionpart",
            index=models.Index(fields=["part", "session"], name="session_of_part"),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("learning_version_id__isnull", False)),
                fields=["tenant", "learning_version_id", "id"],
                name="turn_of_learning_version",
            ),
        ),
        RoleSQL(OWNERS),
        RoleSQL(SESSIONS),
    ]
