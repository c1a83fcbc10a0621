-- Triggers on the tables of skills.

-- skills_skill: A kill switch that freezes learning stops agents and workers from writing texts and files, and a skill in
-- quarantine changes only by its release. A new skill is an unapproved draft; it becomes approved only with the content that
-- reviewers approved. Agents cannot make its source more trusted, and its files have different names.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF name, title, description, category, body, attachments
    ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER keep_names_apart BEFORE INSERT OR UPDATE OF attachments
    ON skills_skill FOR EACH ROW WHEN (jsonb_typeof(NEW.attachments) = 'array') EXECUTE FUNCTION keep_file_names_apart();
CREATE TRIGGER keep_quarantined BEFORE UPDATE OR DELETE
    ON skills_skill FOR EACH ROW WHEN (OLD.quarantined_at IS NOT NULL) EXECUTE FUNCTION keep_quarantined();
CREATE TRIGGER keep_reviewed BEFORE UPDATE OF status ON skills_skill FOR EACH ROW EXECUTE FUNCTION keep_reviewed_skill();
CREATE TRIGGER keep_whose_words BEFORE UPDATE OF taint ON skills_skill FOR EACH ROW EXECUTE FUNCTION keep_whose_words();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON skills_skill FOR EACH ROW EXECUTE FUNCTION move_state('status', 'draft', 'draft>approved draft>deprecated approved>deprecated approved>draft');
CREATE TRIGGER stamp_content BEFORE INSERT OR UPDATE ON skills_skill FOR EACH ROW EXECUTE FUNCTION stamp_skill_content();
CREATE TRIGGER stamp_version BEFORE UPDATE ON skills_skill FOR EACH ROW EXECUTE FUNCTION stamp_version();
