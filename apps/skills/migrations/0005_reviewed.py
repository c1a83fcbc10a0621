"""A skill becomes approved in the words that enough reviewers approved, and is taken back within a minute or not at all."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

REVIEWED = """
DROP TRIGGER move_state ON skills_skill;
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE ON skills_skill FOR EACH ROW
    EXECUTE FUNCTION move_state('status', 'draft', 'draft>approved draft>deprecated approved>deprecated approved>draft');
CREATE FUNCTION keep_reviewed_skill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = 'draft' AND NEW.status = 'approved' AND NOT EXISTS (
        SELECT 1 FROM governance_proposal AS proposal
            WHERE proposal.tenant_id = NEW.tenant_id AND proposal.kind = 'skill.new' AND proposal.state = 'open'
                AND proposal.target_type = 'skills.skill' AND proposal.target_id = NEW.id
                AND coalesce(proposal.edited_content, proposal.content) = jsonb_build_object('name', NEW.name,
                    'title', NEW.title, 'description', NEW.description, 'category', NEW.category, 'body', NEW.body)
                -- The files are part of what was read; words that a reviewer edited have another hash.
                AND (proposal.edited_content IS NOT NULL OR proposal.base_sha256 = OLD.content_sha256)
                AND proposal_approvals(proposal) >= proposal_reviewers(proposal)) THEN
        RAISE EXCEPTION 'A skill is approved in the words that enough reviewers approved.' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status = 'approved' AND NEW.status = 'draft' AND OLD.approved_at < clock_timestamp() - interval '1 minute' THEN
        RAISE EXCEPTION 'A skill approved longer than a minute is not taken back.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_reviewed BEFORE UPDATE OF status ON skills_skill
    FOR EACH ROW EXECUTE FUNCTION keep_reviewed_skill()
"""


class Migration(migrations.Migration):
    """Triggers only."""

    dependencies: ClassVar = [
        ("skills", "0004_attachment_walls"),
        ("governance", "0008_review_walls"),
    ]
    operations: ClassVar = [RoleSQL(REVIEWED)]
