-- Functions of skills: what triggers, policies, indexes and the product's own statements call.

-- Trigger: refuses two files of a skill with the same name; case and Unicode compatibility forms make no difference.
CREATE OR REPLACE FUNCTION refuse_duplicate_file_names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(DISTINCT lower(normalize(value ->> 'name', NFKC))) FROM jsonb_array_elements(NEW.attachments))
        < jsonb_array_length(NEW.attachments) THEN
        RAISE EXCEPTION 'Two files of a skill may not have the same name.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: refuses to change or delete a skill in quarantine. Only its release passes, and only if nothing else changes.
CREATE OR REPLACE FUNCTION refuse_change_of_quarantined_skill() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- Everything else stays as it was: words, files, state, owner and signatures.
    released CONSTANT text[] := ARRAY['quarantined_at', 'quarantined_by', 'quarantine_reason', 'version', 'updated_at'];
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.quarantined_at IS NULL AND to_jsonb(NEW) - released = to_jsonb(OLD) - released THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'This skill is in quarantine (%). Release it before you decide on it.', OLD.quarantine_reason
        USING ERRCODE = 'check_violation';
END $$;

-- Trigger: refuses to approve a draft unless an open proposal with these texts has enough approvals; unless a reviewer
-- edited the texts, the files must be the proposed ones too. It also refuses to undo an approval after more than a minute, and to
-- make a rejected draft, or a deprecated skill that keeps its approval, a draft again.
CREATE OR REPLACE FUNCTION refuse_unreviewed_skill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = 'draft' AND NEW.status = 'approved' AND NOT EXISTS (
        SELECT 1 FROM governance_proposal AS proposal
            WHERE proposal.tenant_id = NEW.tenant_id AND proposal.kind = 'skill.new' AND proposal.state = 'open'
                AND proposal.target_type = 'skills.skill' AND proposal.target_id = NEW.id
                AND coalesce(proposal.edited_content, proposal.content) = jsonb_build_object('name', NEW.name,
                    'title', NEW.title, 'description', NEW.description, 'category', NEW.category, 'body', NEW.body)
                -- The files are part of what was read; words that a reviewer edited have another hash.
                AND (proposal.edited_content IS NOT NULL OR proposal.base_sha256 = OLD.content_sha256)
                AND count_proposal_approvals(proposal) >= count_required_reviewers(proposal)) THEN
        RAISE EXCEPTION 'A skill is approved with the content that enough reviewers approved.' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status = 'approved' AND NEW.status = 'draft' AND OLD.approved_at < clock_timestamp() - interval '1 minute' THEN
        RAISE EXCEPTION 'An approval of a skill cannot be undone after a minute.' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status = 'deprecated' AND NEW.status = 'draft' AND (OLD.approved_by = '' OR NEW.approved_by <> '') THEN
        RAISE EXCEPTION 'Only a skill that was approved becomes a draft again, and its approval ends.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: refuses an agent's attempt to give a skill a more trusted source. A draft that contains a customer's words stays
-- marked as such.
CREATE OR REPLACE FUNCTION refuse_lowering_of_skill_taint() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    joined CONSTANT text[] := ARRAY['operator', 'agent', 'tool', 'customer', 'import'];
BEGIN
    IF pg_has_role(current_user, '@agent@'::regrole, 'USAGE')
        AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        AND array_position(joined, NEW.taint::text) < array_position(joined, OLD.taint::text) THEN
        RAISE EXCEPTION 'An agent may not give a draft a more trusted source.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: computes the content hash that people approve, from name, title, description, body, files and the front matter of
-- an imported skill. It refuses incomplete file entries, files outside the tenant's own storage prefix, and a new skill that
-- claims an approval.
CREATE OR REPLACE FUNCTION stamp_skill_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    file jsonb;
    files text := '';
    kept text := '';
BEGIN
    IF jsonb_typeof(NEW.attachments) <> 'array' THEN
        RAISE EXCEPTION 'The files of a skill must be a list.' USING ERRCODE = 'check_violation';
    END IF;
    FOR file IN SELECT value FROM jsonb_array_elements(NEW.attachments) WITH ORDINALITY ORDER BY ordinality LOOP
        IF coalesce(file ->> 'name', '') = '' OR coalesce(file ->> 'media_type', '') = ''
            OR coalesce(file ->> 'sha256', '') !~ '^[0-9a-f]{64}$'
            OR NOT coalesce(starts_with(file ->> 'key', NEW.tenant_id || '/'), false)
            OR coalesce(file ->> 'key', '') ~ '[.][.]'
            OR coalesce(jsonb_typeof(file -> 'size_bytes'), '') <> 'number' THEN
            RAISE EXCEPTION 'A file of this skill belongs to another tenant or is not complete.' USING ERRCODE = 'check_violation';
        END IF;
        files := concat(files, octet_length(file ->> 'name'), ':', file ->> 'name',
            octet_length(file ->> 'media_type'), ':', file ->> 'media_type', '64:', file ->> 'sha256');
    END LOOP;
    IF NEW.front_matter <> '' THEN
        kept := concat(octet_length(NEW.front_matter), ':', NEW.front_matter);
    END IF;
    NEW.content_sha256 := encode(sha256(convert_to(concat(
        octet_length(NEW.name), ':', NEW.name, octet_length(NEW.title), ':', NEW.title,
        octet_length(NEW.description), ':', NEW.description, octet_length(NEW.body), ':', NEW.body, files, kept),
        'UTF8')), 'hex');
    IF TG_OP = 'INSERT' AND (NEW.approved_by <> '' OR NEW.approved_sha256 <> '') THEN
        RAISE EXCEPTION 'A new skill is not approved.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
