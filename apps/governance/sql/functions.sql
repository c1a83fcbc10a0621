-- Functions of governance: what triggers, policies, indexes and the product's own statements call.

-- The agent that acts in this transaction; NULL for people and workers. Policies and triggers call it. Python sets it, like
-- the customer, the member and the tenant below, for one transaction at a time.
CREATE OR REPLACE FUNCTION app_agent() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT nullif(current_setting('app.agent', true), '')::bigint $$;

-- The key of the customer served in this turn: NULL outside a turn, empty in a turn without a customer. The setting carries
-- a sign before the key, so that the two cases differ.
CREATE OR REPLACE FUNCTION app_customer() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT substr(nullif(current_setting('app.customer', true), ''), 2) $$;

-- False while the turn's customer is unverified (the sign before the key is then '~') and in a member's conversation with an
-- assistant; true otherwise, also outside a turn.
CREATE OR REPLACE FUNCTION app_customer_is_proven() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT left(current_setting('app.customer', true), 1) IS DISTINCT FROM '~' $$;

-- The user id of the person who acts, or of the member served in an assistant's turn; NULL for everyone else. Policies use
-- it for rows that belong to one person.
CREATE OR REPLACE FUNCTION app_member() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT nullif(current_setting('app.member', true), '')::bigint $$;

-- The tenant of this transaction. Nearly every policy compares it with the row; without a tenant it is NULL and no row is
-- visible.
CREATE OR REPLACE FUNCTION app_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT nullif(current_setting('app.tenant', true), '')::bigint $$;

-- Appends one link to the tenant's hash chain: the position, the hash of the entry and the hash of the previous link. Only
-- the commit trigger of audit entries calls it, as the cross-tenant role. The lock keeps two commits of one tenant from
-- taking the same position.
CREATE OR REPLACE FUNCTION append_audit_link(kind text, entry jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    link governance_auditlink;
BEGIN
    link.tenant_id := entry ->> 'tenant_id';
    PERFORM pg_advisory_xact_lock(hashtextextended('governance_auditlink ' || link.tenant_id, 0));
    SELECT last.position, last.sha256 INTO link.position, link.previous_sha256
        FROM governance_auditlink AS last WHERE last.tenant_id = link.tenant_id ORDER BY last.position DESC LIMIT 1;
    link.id := nextval('governance_auditlink_id_seq');
    link.position := coalesce(link.position, 0) + 1;
    link.previous_sha256 := coalesce(link.previous_sha256, '');
    link.entry_type := kind;
    link.entry_id := entry ->> 'id';
    link.entry_sha256 := audit_sha256(entry);
    link.created_at := clock_timestamp();
    link.sha256 := audit_sha256(to_jsonb(link));
    INSERT INTO governance_auditlink SELECT link.*;
END $$;
REVOKE ALL ON FUNCTION append_audit_link(text,jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_audit_link(text,jsonb) TO @cross_tenant@;

-- The hash of one audit row: every column that is not NULL, in the order of names, each part with its length in bytes. A
-- nullable column added later therefore changes no old hash. Python computes the same hash when it verifies the chain.
CREATE OR REPLACE FUNCTION audit_sha256(entry jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(sha256(convert_to(string_agg(
        octet_length(key) || ':' || key || octet_length(value) || ':' || value, '' ORDER BY key COLLATE "C"
    ), 'UTF8')), 'hex') FROM jsonb_each_text(entry) WHERE value IS NOT NULL
$$;

-- The words that a change added or removed: the values that differ, the row's name or title, and the reason. The index and
-- the search over changes use it, so that a word in an unchanged long text does not match every change of that row.
CREATE OR REPLACE FUNCTION collect_changed_words(before jsonb, after jsonb, reason text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT reason || coalesce(string_agg(' ' || (changed.word #>> '{}'), '' ORDER BY changed.rank, changed.name), '') FROM (
        SELECT 1 AS rank, each.key AS name, jsonb_path_query(each.value, 'strict $.** ? (@.type() == "string")') AS word
          FROM jsonb_each(after) AS each
         WHERE each.value IS DISTINCT FROM before -> each.key OR each.key IN ('name', 'title', 'label', 'key', 'line_key')
         UNION ALL
        SELECT 2, each.key, jsonb_path_query(each.value, 'strict $.** ? (@.type() == "string")')
          FROM jsonb_each(before) AS each WHERE each.value IS DISTINCT FROM after -> each.key) AS changed
$$;

-- Trigger: refuses an approval unless the proposal is open and in time and its content hash is the approved one. Where a proposal needs
-- several reviewers, it also refuses its proposers and its editor.
CREATE OR REPLACE FUNCTION check_approval() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    proposal governance_proposal;
BEGIN
    SELECT * INTO proposal FROM governance_proposal AS row WHERE row.tenant_id = NEW.tenant_id AND row.id = NEW.proposal_id;
    IF proposal.state <> 'open' OR proposal.expires_at <= now() OR proposal.content_sha256 <> NEW.content_sha256 THEN
        RAISE EXCEPTION 'An approval is for the present content of an open proposal.' USING ERRCODE = 'check_violation';
    END IF;
    IF count_required_reviewers(proposal) > 1 AND is_proposal_author(proposal, NEW.user_id) THEN
        RAISE EXCEPTION 'At high risk nobody approves a proposal they wrote or edited.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Open proposals past their expiry. Only the due-work functions of runtime call it; they run as the cross-tenant role, its
-- owner, and see every tenant.
CREATE OR REPLACE FUNCTION list_due_proposal_expiries()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT proposal.tenant_id, proposal.id, proposal.expires_at FROM governance_proposal AS proposal
        WHERE proposal.state = 'open' AND proposal.expires_at <= now()
$$;
REVOKE ALL ON FUNCTION list_due_proposal_expiries() FROM PUBLIC;
ALTER FUNCTION list_due_proposal_expiries() OWNER TO @cross_tenant@;

-- Trigger at commit: appends the link of a new change record or refusal to the hash chain. SECURITY DEFINER and owned by the
-- cross-tenant role, because no acting role may insert links. The time zone is fixed because times are part of the hash.
CREATE OR REPLACE FUNCTION link_audit_entry() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET TimeZone = 'UTC' AS $$
BEGIN
    PERFORM append_audit_link(TG_ARGV[0], to_jsonb(NEW));
    RETURN NULL;
END $$;

-- Trigger: refuses a row that does not begin in its first state, and every transition that is not listed. Its arguments are
-- the state column, the first state, and the transitions as 'from>to', separated by blanks.
CREATE OR REPLACE FUNCTION refuse_illegal_transition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    after text := to_jsonb(NEW) ->> TG_ARGV[0];
    before text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF after <> TG_ARGV[1] THEN
            RAISE EXCEPTION 'A new row of % is %, not %.', TG_TABLE_NAME, TG_ARGV[1], after
                USING ERRCODE = 'check_violation', CONSTRAINT = 'initial_state';
        END IF;
        RETURN NEW;
    END IF;
    before := to_jsonb(OLD) ->> TG_ARGV[0];
    IF before <> after AND NOT (before || '>' || after = ANY (string_to_array(TG_ARGV[2], ' '))) THEN
        RAISE EXCEPTION 'A row of % does not move from % to %.', TG_TABLE_NAME, before, after
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_transition';
    END IF;
    RETURN NEW;
END $$;

-- How many people approved the current content of a proposal; approvals of earlier content do not count. Where several
-- reviewers are needed, its proposers and its editor do not count either. Triggers compare the result with the number of
-- reviewers needed.
CREATE OR REPLACE FUNCTION count_proposal_approvals(proposal governance_proposal) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(DISTINCT approval.user_id) FROM governance_approval AS approval
        WHERE approval.tenant_id = proposal.tenant_id AND approval.proposal_id = proposal.id
            AND approval.content_sha256 = proposal.content_sha256
            AND (count_required_reviewers(proposal) = 1 OR NOT is_proposal_author(proposal, approval.user_id))
$$;

-- Whether a user is among the proposers of a proposal or edited its content last.
CREATE OR REPLACE FUNCTION is_proposal_author(proposal governance_proposal, user_id bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$
    SELECT proposal.edited_by_id IS NOT DISTINCT FROM user_id OR proposal.proposers @> to_jsonb(user_id)
$$;

-- How many reviewers a proposal needs: at high risk the number in the tenant's settings (2 without settings), otherwise one.
CREATE OR REPLACE FUNCTION count_required_reviewers(proposal governance_proposal) RETURNS integer
    LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN proposal.risk = 'high' THEN coalesce((SELECT settings.high_risk_reviewers
        FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = proposal.tenant_id), 2) ELSE 1 END
$$;

-- Ids of the tenant's change records with evidence that contains one of the given facts, such as a conversation's id. Python
-- calls it to trace a row back to its sources and to print approval receipts. It is SECURITY DEFINER because containment is
-- not leakproof: under row security PostgreSQL would not use the index. The sum keeps the planner away from indexes that
-- begin with the tenant.
CREATE OR REPLACE FUNCTION find_change_records_by_evidence(facts jsonb[]) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode TO 'force_custom_plan' AS $$
    DECLARE
        fact jsonb;
    BEGIN
        FOREACH fact IN ARRAY facts LOOP
            RETURN QUERY SELECT record.id FROM governance_changerecord AS record
                WHERE record.evidence @> fact AND record.evidence <> '{}' AND record.tenant_id + 0 = app_tenant();
        END LOOP;
    END
$$;
REVOKE ALL ON FUNCTION find_change_records_by_evidence(jsonb[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_change_records_by_evidence(jsonb[]) TO @operator@, @staff@, @worker@;
ALTER FUNCTION find_change_records_by_evidence(jsonb[]) OWNER TO @cross_tenant@;

-- Trigger: refuses the statement. Append-only tables attach it to UPDATE, DELETE and TRUNCATE.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only.', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

-- Full-text search in the current tenant: ids and times of matching rows, newest first, at most so many of each kind. The
-- console and the API call it and then read these rows under row security. It is SECURITY DEFINER because text search is not
-- leakproof: under row security PostgreSQL would not use the indexes. It collects at most 2,000 matches of a kind; at 2,000
-- it also searches the newest 2,000 rows and reports the words as common. It leaves out off-the-record conversations,
-- members' conversations with assistants, and changes that carry customers' words.
CREATE OR REPLACE FUNCTION search_rows(query_text text, kinds text[], max_rows integer)
    RETURNS TABLE(kind text, row_id bigint, row_at timestamp with time zone, is_truncated boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode TO 'force_custom_plan' AS $$
    #variable_conflict use_column
    DECLARE
        looked_at CONSTANT integer := 2000;
        sought CONSTANT tsquery := build_search_query(app_tenant(), query_text);
        hits bigint[];
        newest bigint[];
        common boolean;
    BEGIN
        IF coalesce(numnode(sought), 0) = 0 THEN
            RETURN;
        END IF;
        IF 'message' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM conversations_message
                WHERE build_search_vector(tenant_id, text) @@ sought AND sender <> 'tool' AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, sender, text FROM conversations_message
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE build_search_vector(tenant_id, text) @@ sought AND sender <> 'tool';
            END IF;
            RETURN QUERY SELECT 'message', shown.id, shown.created_at, common FROM conversations_message AS shown
                WHERE shown.id = ANY (hits) AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = shown.conversation_id AND NOT thread.off_the_record AND thread.member_user_id IS NULL) ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'skill' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM skills_skill
                WHERE build_search_vector(tenant_id, name || ' ' || title || ' ' || description || ' ' || body) @@ sought AND true AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, name, title, description, body FROM skills_skill
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE build_search_vector(tenant_id, name || ' ' || title || ' ' || description || ' ' || body) @@ sought AND true;
            END IF;
            RETURN QUERY SELECT 'skill', shown.id, shown.updated_at, common FROM skills_skill AS shown
                WHERE shown.id = ANY (hits) AND true ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'memory_line' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM memory_memoryline
                WHERE build_search_vector(tenant_id, text) @@ sought AND true AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, text FROM memory_memoryline
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE build_search_vector(tenant_id, text) @@ sought AND true;
            END IF;
            RETURN QUERY SELECT 'memory_line', shown.id, shown.created_at, common FROM memory_memoryline AS shown
                WHERE shown.id = ANY (hits) AND true ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'memory_block' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM memory_memoryblock
                WHERE build_search_vector(tenant_id, label) @@ sought AND true AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, label FROM memory_memoryblock
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE build_search_vector(tenant_id, label) @@ sought AND true;
            END IF;
            RETURN QUERY SELECT 'memory_block', shown.id, shown.updated_at, common FROM memory_memoryblock AS shown
                WHERE shown.id = ANY (hits) AND true ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'proposal' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM governance_proposal
                WHERE (build_search_vector(tenant_id, target_label || ' ' || rationale)
            || to_tsvector('pg_catalog.simple', coalesce(edited_content, content))) @@ sought AND true AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, target_label, rationale, edited_content, content FROM governance_proposal
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE (build_search_vector(tenant_id, target_label || ' ' || rationale)
            || to_tsvector('pg_catalog.simple', coalesce(edited_content, content))) @@ sought AND true;
            END IF;
            RETURN QUERY SELECT 'proposal', shown.id, shown.created_at, common FROM governance_proposal AS shown
                WHERE shown.id = ANY (hits) AND true ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'profile_line' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id FROM memory_profileline
                WHERE build_search_vector(tenant_id, text) @@ sought AND status = 'active' AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{}') INTO hits FROM (SELECT id, tenant_id, status, source_conversation_id, text FROM memory_profileline
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE build_search_vector(tenant_id, text) @@ sought AND status = 'active';
            END IF;
            RETURN QUERY SELECT 'profile_line', shown.id, shown.created_at, common FROM memory_profileline AS shown
                WHERE shown.id = ANY (hits) AND NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = shown.source_conversation_id AND thread.off_the_record) ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
        IF 'change' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.record_id), '{}') INTO hits FROM (SELECT record_id FROM governance_changetext
                WHERE build_search_vector(tenant_id, collect_changed_words(before, after, reason)) @@ sought AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                newest := ARRAY(SELECT record.id FROM governance_changerecord AS record
                    WHERE record.tenant_id = app_tenant() ORDER BY record.id DESC LIMIT looked_at);
                SELECT hits || coalesce(array_agg(hit.record_id), '{}') INTO hits FROM (SELECT record_id, tenant_id, before, after, reason
                    FROM governance_changetext WHERE record_id = ANY (newest) OFFSET 0) AS hit WHERE build_search_vector(tenant_id, collect_changed_words(before, after, reason)) @@ sought;
            END IF;
            RETURN QUERY SELECT 'change', shown.id, shown.created_at, common FROM governance_changerecord AS shown
                WHERE shown.id = ANY (hits) AND shown.subject_type NOT IN ('conversations.conversation', 'desk.draft', 'desk.escalation', 'memory.customerprofile', 'notebook.note', 'personas.memberoverlay', 'tools.toolapproval', 'desk.report')
                AND NOT (shown.version_before = 0 AND shown.subject_type IN ('governance.proposal', 'memory.agentmemory', 'memory.memoryblock', 'skills.skill'))
                AND NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = CASE jsonb_typeof(shown.evidence -> 'conversation_id')
                        WHEN 'number' THEN (shown.evidence ->> 'conversation_id')::bigint END
                    AND (thread.off_the_record OR thread.member_user_id IS NOT NULL)) ORDER BY shown.id DESC LIMIT max_rows;
        END IF;
    END
$$;
REVOKE ALL ON FUNCTION search_rows(text,text[],integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_rows(text,text[],integer) TO @operator@, @staff@;
ALTER FUNCTION search_rows(text,text[],integer) OWNER TO @cross_tenant@;

-- Turns search input into a text search query. Without quotation marks, a word of three letters or more also matches longer
-- words that begin with it. The tenant's own word is added, so that an index returns rows of this tenant only.
CREATE OR REPLACE FUNCTION build_search_query(for_tenant_id bigint, query_text text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN numnode(plain) = 0 THEN plain ELSE
        (CASE WHEN strpos(query_text, '"') > 0 THEN plain
            ELSE regexp_replace(regexp_replace(plain::text, '(''([^'']|'''')+'')', '\1:*', 'g'),
                '(^|[ !(])(''([^'' ]|''''){1,2}''):\*', '\1\2', 'g')::tsquery END)
        && ('''tenant ' || for_tenant_id::text || '''')::tsquery END
    FROM (SELECT websearch_to_tsquery('pg_catalog.simple', query_text) AS plain) AS parsed
$$;

-- Trigger: computes the content hash that reviewers approve, the round, and the time of the decision. It refuses a decision
-- by anyone but operators, except the expiry of an overdue proposal; a lower risk set by an agent; an undo more than a
-- minute after the proposal was applied; and applying without enough approvals of this content. A write by an agent discards
-- the reviewers' edits, because they were edits of the earlier content.
CREATE OR REPLACE FUNCTION stamp_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    rank CONSTANT text[] := ARRAY['low', 'elevated', 'high'];
    is_person CONSTANT boolean := pg_has_role(current_user, '@operator@'::regrole, 'USAGE');
    is_agent CONSTANT boolean := pg_has_role(current_user, '@agent@'::regrole, 'USAGE')
        AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE');
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.round := 1;
        IF NEW.decided_by <> '' OR NEW.decided_at IS NOT NULL OR NEW.approval_count <> 0 THEN
            RAISE EXCEPTION 'A new proposal is open.' USING ERRCODE = 'check_violation';
        END IF;
    ELSE
        NEW.round := OLD.round + CASE WHEN OLD.state <> 'open' AND NEW.state = 'open' THEN 1 ELSE 0 END;
        NEW.decided_at := CASE WHEN NEW.state = 'open' THEN NULL WHEN OLD.state = 'open' THEN clock_timestamp()
            ELSE OLD.decided_at END;
        IF NOT is_person AND (NEW.state, NEW.decided_by) IS DISTINCT FROM (OLD.state, OLD.decided_by)
            AND NOT (OLD.state = 'open' AND NEW.state = 'expired' AND OLD.expires_at <= clock_timestamp()) THEN
            RAISE EXCEPTION 'Only people decide on proposals; a proposal expires only when its time is over.' USING ERRCODE = 'insufficient_privilege';
        END IF;
        IF is_agent AND array_position(rank, NEW.risk::text) < array_position(rank, OLD.risk::text) THEN
            RAISE EXCEPTION 'An agent may not lower the risk of a proposal.' USING ERRCODE = 'insufficient_privilege';
        END IF;
        IF OLD.state = 'applied' AND NEW.state = 'open' AND OLD.decided_at < clock_timestamp() - interval '1 minute' THEN
            RAISE EXCEPTION 'A proposal cannot be undone more than a minute after it was applied.' USING ERRCODE = 'check_violation';
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
        IF count_proposal_approvals(NEW) < count_required_reviewers(NEW) THEN
            RAISE EXCEPTION 'A proposal is applied once enough reviewers have approved its content: % of risk % have approved, % are needed.',
                count_proposal_approvals(NEW), NEW.risk, count_required_reviewers(NEW) USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;

-- Trigger: raises the version and sets the time of the update. Python refuses a write that read an earlier version.
CREATE OR REPLACE FUNCTION stamp_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

-- Trigger: notifies listening web processes that proposals, drafts or escalations of a tenant changed; the payload is the
-- tenant's id. PostgreSQL delivers it at commit and lets such commits through one at a time, so no other change records
-- notify.
CREATE OR REPLACE FUNCTION notify_review_change() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM pg_notify('preceptor_review', NEW.tenant_id::text);
    RETURN NULL;
END $$;

-- The text search vector of a text: its first 100,000 characters without stemming, and one more word made of the tenant's
-- id. That word contains a blank, so no text can produce it; it lets one index find the rows of one tenant.
CREATE OR REPLACE FUNCTION build_search_vector(for_tenant_id bigint, content text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('pg_catalog.simple', left(content, 100000)) || array_to_tsvector(ARRAY['tenant ' || for_tenant_id::text])
$$;
