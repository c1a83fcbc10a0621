-- Functions of memory: what triggers, policies, indexes and the product's own statements call.

-- Trigger: refuses agents and workers that set or change the date of a line that a person approved.
CREATE OR REPLACE FUNCTION refuse_dates_of_approved_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NOT EXISTS (
        SELECT 1 FROM jsonb_each(NEW.line_dates) AS dated
        WHERE OLD.line_dates -> dated.key IS DISTINCT FROM dated.value AND dated.key IN (
            SELECT encode(sha256(convert_to(line, 'UTF8')), 'hex') FROM unnest(split_lines(NEW.approved_body)) AS line)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people set the expiry of approved lines.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Trigger: only operators change the list of approved lines. Where the tenant reviews all memory, an agent cannot change the
-- text and proposes it instead; where the tenant reviews by source, an agent cannot remove an approved line.
CREATE OR REPLACE FUNCTION refuse_unreviewed_memory() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    review text;
    before text := '';
    approved text := '';
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        before := OLD.body;
        approved := OLD.approved_body;
    END IF;
    IF NEW.approved_body <> approved THEN
        RAISE EXCEPTION 'Only people approve lines.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    SELECT memory_review INTO review FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id;
    IF review = 'all' AND NEW.body <> before THEN
        RAISE EXCEPTION 'Memory is reviewed in this tenant; an agent proposes changes to it.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF review = 'tainted' AND TG_OP = 'UPDATE' AND EXISTS (
        SELECT line FROM unnest(split_lines(OLD.approved_body)) AS line
        INTERSECT SELECT line FROM unnest(split_lines(OLD.body)) AS line
        EXCEPT SELECT line FROM unnest(split_lines(NEW.body)) AS line) THEN
        RAISE EXCEPTION 'A line that a person approved stays.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: where the tenant reviews all memory, an agent cannot change a customer profile and proposes the change instead.
CREATE OR REPLACE FUNCTION refuse_unreviewed_profile() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text[] := ARRAY['', ''];
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR NOT pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        before := ARRAY[OLD.preferences, OLD.notes];
    END IF;
    IF ARRAY[NEW.preferences, NEW.notes] <> before
        AND EXISTS (SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND memory_review = 'all') THEN
        RAISE EXCEPTION 'Memory is reviewed in this tenant; an agent proposes changes to it.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: refuses agents and workers that change or remove the date of a line that stays in the profile. A line they add
-- may carry a date.
CREATE OR REPLACE FUNCTION refuse_dates_of_existing_profile_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NOT EXISTS (
        SELECT 1 FROM (
            SELECT unnest(split_lines(OLD.preferences) || split_lines(OLD.notes)) AS line
            INTERSECT SELECT unnest(split_lines(NEW.preferences) || split_lines(NEW.notes))) AS stays
        WHERE OLD.line_dates -> encode(sha256(convert_to(line, 'UTF8')), 'hex')
            IS DISTINCT FROM NEW.line_dates -> encode(sha256(convert_to(line, 'UTF8')), 'hex')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people set the expiry of lines that exist already.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Trigger: refuses an update of a read-only block by anyone but operators. It is a trigger, because a policy would hide the
-- row and Python could then not explain the refusal.
CREATE OR REPLACE FUNCTION refuse_change_of_read_only_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people change a read-only block.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Trigger: refuses agents and workers that write with an operator as source or author. It is a trigger on these columns,
-- because a policy sees only the new row: an agent that only updates the time of the last contact leaves a person's name in
-- place.
CREATE OR REPLACE FUNCTION refuse_text_signed_as_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR (NEW.taint <> 'operator' AND NEW.updated_by = 'agent') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people may write in the name of people.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Trigger: refuses agents and workers that record a line with an operator as source or author.
CREATE OR REPLACE FUNCTION refuse_line_signed_as_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR (NEW.taint <> 'operator' AND NEW.author = 'agent') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people may write in the name of people.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- The lines of a text without surrounding blanks and without empty ones. Python splits texts into lines by the same rule.
CREATE OR REPLACE FUNCTION split_lines(body text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(trimmed), '{}') FROM (
        SELECT btrim(line, E' \t') AS trimmed FROM regexp_split_to_table(body, E'\r\n|\r|\n') AS line) AS lines
    WHERE trimmed <> ''
$$;
