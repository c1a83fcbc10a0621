-- Triggers on the tables of skills.

-- skills_skill: A kill switch that freezes learning stops agents and workers from writing texts and files, and a skill in
-- quarantine changes only by its release. A new skill is an unapproved draft; it becomes approved only with the content that
-- reviewers approved. Agents cannot make its source more trusted, and its files have different names.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF name, title, description, category, body, attachments
    ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_duplicate_file_names BEFORE INSERT OR UPDATE OF attachments
    ON skills_skill FOR EACH ROW WHEN (jsonb_typeof(NEW.attachments) = 'array') EXECUTE FUNCTION refuse_duplicate_file_names();
CREATE TRIGGER refuse_change_of_quarantined_skill BEFORE UPDATE OR DELETE
    ON skills_skill FOR EACH ROW WHEN (OLD.quarantined_at IS NOT NULL) EXECUTE FUNCTION refuse_change_of_quarantined_skill();
CREATE TRIGGER refuse_unreviewed_skill BEFORE UPDATE OF status ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_unreviewed_skill();
CREATE TRIGGER refuse_lowering_of_skill_taint BEFORE UPDATE OF taint ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_lowering_of_skill_taint();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'draft', 'draft>approved draft>deprecated approved>deprecated approved>draft deprecated>draft');
CREATE TRIGGER stamp_content BEFORE INSERT OR UPDATE ON skills_skill FOR EACH ROW EXECUTE FUNCTION stamp_skill_content();
CREATE TRIGGER stamp_version BEFORE UPDATE ON skills_skill FOR EACH ROW EXECUTE FUNCTION stamp_version();
