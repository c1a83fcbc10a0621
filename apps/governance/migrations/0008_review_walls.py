"""The wall around reviews: approvals are a journal, and what is applied has the approvals its tier asks for."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

# What belongs to several agents they see together, in a turn of no other customer than theirs.
AGENT_ROWS = """CASE target_type
        WHEN 'memory.customerprofile'
            THEN EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = target_id)
        WHEN 'tenants.tenantsettings' THEN agent_id IS NOT NULL
        ELSE agent_id = app_agent()
    END"""
RIGHTS = f"""
DROP POLICY governance_proposal_agent ON governance_proposal;
CREATE POLICY governance_proposal_agent ON governance_proposal AS RESTRICTIVE TO @agent@
    USING ({AGENT_ROWS}) WITH CHECK ({AGENT_ROWS} AND taint <> 'operator');
CREATE POLICY governance_proposal_agent_insert ON governance_proposal AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK (agent_id = app_agent());
CREATE POLICY governance_proposal_agent_delete ON governance_proposal AS RESTRICTIVE FOR DELETE TO @agent@
    USING (state = 'open' AND agent_id = app_agent() AND approval_count = 0);
CREATE POLICY governance_proposal_operator_delete ON governance_proposal AS RESTRICTIVE FOR DELETE TO @operator@
    USING (state = 'open' AND approval_count = 0);
CREATE POLICY governance_proposal_crossing ON governance_proposal FOR SELECT TO @crossing@ USING (true);
GRANT SELECT (id, tenant_id, state, expires_at) ON governance_proposal TO @crossing@;
GRANT DELETE ON governance_proposal TO @agent@, @operator@;
GRANT INSERT, UPDATE ON governance_proposal TO @worker@;
GRANT UPDATE (base_version, base_content, edited_content, edited_by, edited_by_id, tier, proposers, expires_at,
    approval_count, revision_request) ON governance_proposal TO @agent@;
DROP TRIGGER move_state ON governance_proposal;
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE ON governance_proposal FOR EACH ROW
    EXECUTE FUNCTION move_state('state', 'open', 'open>applied open>rejected open>expired open>quarantined'
        ' quarantined>open rejected>open expired>open applied>open')
"""
# Where the tier asks for several reviewers, whoever proposed or edited the words is none of them.
REVIEWERS = """
CREATE FUNCTION proposal_reviewers(proposal governance_proposal) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN proposal.tier = 'high' THEN coalesce((SELECT settings.high_risk_reviewers
        FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = proposal.tenant_id), 2) ELSE 1 END
$$;
CREATE FUNCTION proposal_author(proposal governance_proposal, who bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT proposal.edited_by_id IS NOT DISTINCT FROM who OR proposal.proposers @> to_jsonb(who)
$$;
CREATE FUNCTION proposal_approvals(proposal governance_proposal) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(DISTINCT approval.user_id) FROM governance_approval AS approval
        WHERE approval.tenant_id = proposal.tenant_id AND approval.proposal_id = proposal.id
            AND approval.content_sha256 = proposal.content_sha256
            AND (proposal_reviewers(proposal) = 1 OR NOT proposal_author(proposal, approval.user_id))
$$
"""
STAMP = """
CREATE FUNCTION stamp_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    rank CONSTANT text[] := ARRAY['low', 'elevated', 'high'];
    is_person CONSTANT boolean := pg_has_role(current_user, '@operator@'::regrole, 'USAGE');
    is_agent CONSTANT boolean := pg_has_role(current_user, '@agent@'::regrole, 'USAGE')
        AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE');
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.round := 1;
        IF NEW.decided_by <> '' OR NEW.decided_at IS NOT NULL OR NEW.approval_count <> 0 THEN
            RAISE EXCEPTION 'A proposal is born undecided.' USING ERRCODE = 'check_violation';
        END IF;
    ELSE
        NEW.round := OLD.round + CASE WHEN OLD.state <> 'open' AND NEW.state = 'open' THEN 1 ELSE 0 END;
        NEW.decided_at := CASE WHEN NEW.state = 'open' THEN NULL WHEN OLD.state = 'open' THEN clock_timestamp()
            ELSE OLD.decided_at END;
        IF NOT is_person AND (NEW.state, NEW.decided_by) IS DISTINCT FROM (OLD.state, OLD.decided_by)
            AND NOT (OLD.state = 'open' AND NEW.state = 'expired' AND OLD.expires_at <= clock_timestamp()) THEN
            RAISE EXCEPTION 'People decide on proposals; time alone expires them.' USING ERRCODE = 'insufficient_privilege';
        END IF;
        IF is_agent AND array_position(rank, NEW.tier::text) < array_position(rank, OLD.tier::text) THEN
            RAISE EXCEPTION 'An agent does not lower the tier of a proposal.' USING ERRCODE = 'insufficient_privilege';
        END IF;
        IF OLD.state = 'applied' AND NEW.state = 'open' AND OLD.decided_at < clock_timestamp() - interval '1 minute' THEN
            RAISE EXCEPTION 'What is applied longer than a minute is not undone.' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF is_agent THEN
        -- Whatever an agent writes voids what reviewers made of the words before.
        NEW.edited_content := NULL;
        NEW.edited_by := '';
        NEW.edited_by_id := NULL;
        NEW.approval_count := 0;
    END IF;
    NEW.content_sha256 := encode(sha256(convert_to(jsonb_build_array(NEW.kind, NEW.target_type, NEW.target_id,
        NEW.base_sha256, NEW.round, coalesce(NEW.edited_content, NEW.content))::text, 'UTF8')), 'hex');
    IF TG_OP = 'UPDATE' AND OLD.state = 'open' AND NEW.state = 'applied' THEN
        IF proposal_approvals(NEW) < proposal_reviewers(NEW) THEN
            RAISE EXCEPTION 'A proposal is applied when enough reviewers approved what it says: % of the tier % did, % are needed.',
                proposal_approvals(NEW), NEW.tier, proposal_reviewers(NEW) USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER stamp_content BEFORE INSERT OR UPDATE ON governance_proposal
    FOR EACH ROW EXECUTE FUNCTION stamp_proposal()
"""
APPROVALS = Wall(operator="SELECT, INSERT", worker="SELECT", agent="", versioned=False, append_only=True)
CHECK_APPROVAL = """
CREATE FUNCTION check_approval() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    proposal governance_proposal;
BEGIN
    SELECT * INTO proposal FROM governance_proposal AS row WHERE row.tenant_id = NEW.tenant_id AND row.id = NEW.proposal_id;
    IF proposal.state <> 'open' OR proposal.content_sha256 <> NEW.content_sha256 THEN
        RAISE EXCEPTION 'An approval is of what an open proposal says.' USING ERRCODE = 'check_violation';
    END IF;
    IF proposal_reviewers(proposal) > 1 AND proposal_author(proposal, NEW.user_id) THEN
        RAISE EXCEPTION 'At the tier high nobody approves their own words.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_approval BEFORE INSERT ON governance_approval FOR EACH ROW EXECUTE FUNCTION check_approval()
"""
# Rows from before: they get their hash, their tier and their time.
STAND = """
ALTER TABLE governance_proposal NO FORCE ROW LEVEL SECURITY;
ALTER TABLE governance_proposal DISABLE TRIGGER stamp_version;
UPDATE governance_proposal SET
    tier = CASE WHEN kind = 'persona.patch' THEN 'elevated' ELSE tier END,
    expires_at = CASE WHEN state = 'open' THEN now() + interval '30 days' END;
ALTER TABLE governance_proposal ENABLE TRIGGER stamp_version;
ALTER TABLE governance_proposal FORCE ROW LEVEL SECURITY
"""
TERMS = "GRANT UPDATE (high_risk_reviewers, proposal_days, max_open_proposals) ON tenants_tenantsettings TO @operator@"


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("governance", "0007_review"),
        ("memory", "0002_walls"),
    ]
    operations: ClassVar = [
        RoleSQL(RIGHTS),
        ComposeKey("governance_proposal"),
        RaiseWall("governance_approval", APPROVALS),
        ComposeForeignKey("governance_approval", "proposal_id", "governance_proposal"),
        RoleSQL(REVIEWERS),
        RoleSQL(STAMP),
        RoleSQL(CHECK_APPROVAL),
        RoleSQL(STAND),
        RoleSQL(TERMS),
    ]
