-- Functions of notebook: what triggers, policies, indexes and the product's own statements call.

-- Open scratch notes without a change for seven days; Python has the same limit and checks it again before it drops one.
-- Only the due-work functions of runtime call it; they run as the cross-tenant role, its owner, and see every tenant.
CREATE OR REPLACE FUNCTION list_due_scratch_notes()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT note.tenant_id, note.id, note.updated_at FROM notebook_note AS note
        WHERE note.kind = 'scratch' AND note.status = 'open' AND note.updated_at <= statement_timestamp() - interval '7 days'
$$;
REVOKE ALL ON FUNCTION list_due_scratch_notes() FROM PUBLIC;
ALTER FUNCTION list_due_scratch_notes() OWNER TO @cross_tenant@;

-- Trigger: refuses to change the content of a note that is done or dropped.
CREATE OR REPLACE FUNCTION refuse_change_of_closed_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A note that is done or dropped cannot be changed. Write another note.' USING ERRCODE = 'check_violation';
END $$;

-- Trigger: refuses agents and workers that write a note with an operator as source or author.
CREATE OR REPLACE FUNCTION refuse_note_signed_as_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR (NEW.taint <> 'operator' AND NEW.author LIKE 'agent:%') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people may write in the name of people.' USING ERRCODE = 'insufficient_privilege';
END $$;
