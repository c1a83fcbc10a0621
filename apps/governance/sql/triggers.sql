-- Triggers on the tables of governance.

-- governance_approval: Append-only. A new approval must match the current content of an open proposal.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_approval FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER check_approval BEFORE INSERT ON governance_approval FOR EACH ROW EXECUTE FUNCTION check_approval();

-- governance_auditcheck: Append-only; TRUNCATE is refused too.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_auditcheck FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON governance_auditcheck FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- governance_auditlink: Append-only; TRUNCATE is refused too.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_auditlink FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON governance_auditlink FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- governance_changerecord: Append-only. Each record gets its link in the hash chain at commit and not earlier, because the
-- link's lock would make every other write of the tenant wait. Records about proposals, drafts and escalations notify
-- listening web processes.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_changerecord FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE CONSTRAINT TRIGGER link_at_commit AFTER INSERT
    ON governance_changerecord DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION link_audit_entry('change');
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON governance_changerecord FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER notify_review_change AFTER INSERT
    ON governance_changerecord FOR EACH ROW WHEN (NEW.subject_type IN ('governance.proposal', 'desk.draft', 'desk.escalation')) EXECUTE FUNCTION notify_review_change();

-- governance_changetext: Append-only; TRUNCATE is refused too.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_changetext FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON governance_changetext FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- governance_proposal: A kill switch that freezes learning stops agents and workers from writing content. A new proposal is
-- open and moves only along the listed transitions; stamp_content computes the content hash and refuses to apply the
-- proposal without enough approvals.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF content, base_sha256
    ON governance_proposal FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON governance_proposal FOR EACH ROW
    EXECUTE FUNCTION refuse_illegal_transition('state', 'open', 'open>applied open>rejected open>expired open>quarantined quarantined>open rejected>open expired>open applied>open');
CREATE TRIGGER stamp_content BEFORE INSERT OR UPDATE ON governance_proposal FOR EACH ROW EXECUTE FUNCTION stamp_proposal();
CREATE TRIGGER stamp_version BEFORE UPDATE ON governance_proposal FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- governance_refusal: Append-only. Each refusal gets its link in the hash chain at commit, like a change record.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON governance_refusal FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE CONSTRAINT TRIGGER link_at_commit AFTER INSERT
    ON governance_refusal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION link_audit_entry('refusal');
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON governance_refusal FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The rights change only here, behind the triggers: a trigger can be attached only by a role that may execute its function.
-- The cross-tenant role owns the function because it alone may insert links.
REVOKE ALL ON FUNCTION link_audit_entry() FROM PUBLIC;
ALTER FUNCTION link_audit_entry() OWNER TO @cross_tenant@;

-- The right is taken away only here, behind the trigger: a trigger can be attached only by a role that may execute its
-- function.
REVOKE ALL ON FUNCTION notify_review_change() FROM PUBLIC;
