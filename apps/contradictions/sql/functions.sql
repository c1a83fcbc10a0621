-- Functions of contradictions: what triggers, policies, indexes and the product's own statements call.

-- Returns the agents without a finished check for contradictions since 03:00 by the tenant's clock, and at any time those
-- with a check that a person requested. Agents under a lease are left out.
CREATE OR REPLACE FUNCTION due_of_contradiction()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, (tonight.day + time '03:00') AT TIME ZONE tonight.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '3 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS tonight JOIN tenants_agent AS agent ON agent.tenant_id = tonight.tenant_id
        WHERE NOT EXISTS (
            SELECT 1 FROM contradictions_contradictionlook AS held WHERE held.tenant_id = agent.tenant_id
                AND held.agent_id = agent.id AND (held.lease_until > statement_timestamp()
                    OR (held.night >= tonight.day AND held.asked_at IS NULL)))
$$;
REVOKE ALL ON FUNCTION due_of_contradiction() FROM PUBLIC;
ALTER FUNCTION due_of_contradiction() OWNER TO @crossing@;

-- Trigger function that refuses a change of status by anybody but a person, with two exceptions for workers: they mark a
-- contradiction as gone, and return it to the status that a person left it in when the same lines appear again.
CREATE OR REPLACE FUNCTION hold_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NEW.status = OLD.status OR NEW.status = 'gone'
        OR (OLD.status = 'gone' AND (NEW.status = 'dismissed') = (OLD.decided_by <> '')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people dismiss a contradiction, or open it again.' USING ERRCODE = 'insufficient_privilege';
END $$;
