"""Which records name a conversation or a proposal in their evidence is looked up by index, in the tenant at hand alone."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Containment is not leakproof, so under row security no index would serve it: the function asks past it, and tells ids. The sum
# keeps the plan off the keys that begin with the tenant.
NAMING = """
CREATE INDEX change_by_evidence ON governance_changerecord USING gin (evidence jsonb_path_ops) WHERE evidence <> '{}';
GRANT SELECT (id, tenant_id, evidence) ON governance_changerecord TO @crossing@;
CREATE POLICY governance_changerecord_crossing ON governance_changerecord FOR SELECT TO @crossing@ USING (true);
CREATE FUNCTION records_naming(facts jsonb[]) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    DECLARE
        fact jsonb;
    BEGIN
        FOREACH fact IN ARRAY facts LOOP
            RETURN QUERY SELECT record.id FROM governance_changerecord AS record
                WHERE record.evidence @> fact AND record.evidence <> '{}' AND record.tenant_id + 0 = app_tenant();
        END LOOP;
    END
$$;
REVOKE ALL ON FUNCTION records_naming(jsonb[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION records_naming(jsonb[]) TO @operator@, @worker@, @staff@;
ALTER FUNCTION records_naming(jsonb[]) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """An index, rights of the crossing, and a function."""

    dependencies: ClassVar = [("governance", "0016_by_state")]
    operations: ClassVar = [RoleSQL(NAMING)]
