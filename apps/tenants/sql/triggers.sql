-- Triggers on the tables of tenants.

-- tenants_agent: After its first conversation an agent keeps its flavour, so it never serves both customers and members.
CREATE TRIGGER refuse_change_of_flavour BEFORE UPDATE OF flavour
    ON tenants_agent FOR EACH ROW WHEN (NEW.flavour <> OLD.flavour) EXECUTE FUNCTION refuse_change_of_flavour();
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_agent FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_agentgrants: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_agentgrants FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_agenttoken: The last use of a token does not raise its version; the columns that people change do.
CREATE TRIGGER stamp_version BEFORE UPDATE OF name, expires_at, revoked_at
    ON tenants_agenttoken FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_endpoint: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_endpoint FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_invokableagent: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_invokableagent FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_memberlimit: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_memberlimit FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_membership: A tenant keeps at least one active admin, and a new membership waits for its person to accept it.
CREATE TRIGGER refuse_removal_of_last_admin BEFORE UPDATE OF is_active, role
    ON tenants_membership FOR EACH ROW WHEN (OLD.is_active AND OLD.role = 'admin' AND NOT (NEW.is_active AND NEW.role = 'admin'))
    EXECUTE FUNCTION refuse_removal_of_last_admin();
CREATE TRIGGER refuse_accepted_new_membership BEFORE INSERT
    ON tenants_membership FOR EACH ROW WHEN (NEW.accepted_at IS NOT NULL) EXECUTE FUNCTION refuse_accepted_new_membership();
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_membership FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_modelprice: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_modelprice FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_staffaccess: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_staffaccess FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_tenantsettings: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_tenantsettings FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_user: A changed user name or address loses its proof. A user stays a person or a service user for good.
CREATE TRIGGER clear_email_verification BEFORE UPDATE OF username, email
    ON tenants_user FOR EACH ROW WHEN (OLD.username <> NEW.username OR OLD.email <> NEW.email) EXECUTE FUNCTION clear_email_verification();
CREATE TRIGGER refuse_change_of_is_service BEFORE UPDATE OF is_service
    ON tenants_user FOR EACH ROW WHEN (OLD.is_service <> NEW.is_service) EXECUTE FUNCTION refuse_change_of_is_service();

-- tenants_user_groups: Nobody mixes roles: an agent's service user is in the group agent alone, a person in one role group
-- at most.
CREATE TRIGGER refuse_mixed_roles BEFORE INSERT OR UPDATE
    ON tenants_user_groups FOR EACH ROW EXECUTE FUNCTION refuse_mixed_roles();

-- The rights change only here, behind the trigger: a trigger can be attached only by a role that may execute its function.
-- The function counts conversations of other members, which row security hides from the admin, so the cross-tenant role owns
-- it.
REVOKE ALL ON FUNCTION refuse_change_of_flavour() FROM PUBLIC;
ALTER FUNCTION refuse_change_of_flavour() OWNER TO @cross_tenant@;
