-- Functions of switches: what triggers, policies, indexes and the product's own statements call.

-- Returns true if a kill switch of one of these kinds is on for the conversation, or a person has taken it over. Workers
-- call it within the statement that writes, so no reply is sent after the switch is on. An empty list of kinds gives false:
-- a worker passes it to end a turn that was given up or taken over.
CREATE OR REPLACE FUNCTION is_conversation_stopped(kinds text[], for_tenant_id bigint, for_conversation_id bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT cardinality(kinds) > 0 AND (is_kill_switch_on(kinds, for_tenant_id, for_conversation_id) OR EXISTS (
        SELECT 1 FROM conversations_conversation AS thread
        WHERE thread.tenant_id = for_tenant_id AND thread.id = for_conversation_id AND thread.taken_over_at IS NOT NULL))
$$;
REVOKE ALL ON FUNCTION is_conversation_stopped(text[],bigint,bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_conversation_stopped(text[],bigint,bigint) TO @worker@;

-- Returns true if a kill switch of one of these kinds is on for the conversation, by its tenant, agent and channel. Workers
-- call it in their statements with their own rights, and the functions that collect due work call it as the cross-tenant
-- role, so the tenant is an argument.
CREATE OR REPLACE FUNCTION is_kill_switch_on(kinds text[], for_tenant_id bigint, for_conversation_id bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM kill_switches_killswitch AS switch JOIN conversations_conversation AS thread
            ON thread.tenant_id = switch.tenant_id AND thread.id = for_conversation_id
        WHERE switch.tenant_id = for_tenant_id AND switch.status = 'on' AND switch.kind = ANY (kinds)
            AND (switch.agent_id IS NULL OR switch.agent_id = thread.agent_id)
            AND switch.channel IN ('', thread.channel))
$$;
REVOKE ALL ON FUNCTION is_kill_switch_on(text[],bigint,bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_kill_switch_on(text[],bigint,bigint) TO @worker@;
ALTER FUNCTION is_kill_switch_on(text[],bigint,bigint) OWNER TO @cross_tenant@;

-- Returns true if a kill switch freezes learning for this agent or for all agents of the tenant. A switch for one channel
-- does not count, because learned rows carry no channel: Python checks those. Row security limits it to the tenant.
CREATE OR REPLACE FUNCTION is_learning_frozen(for_agent_id bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM kill_switches_killswitch AS switch WHERE switch.kind = 'freeze-learning' AND switch.status = 'on'
        AND switch.channel = '' AND (switch.agent_id IS NULL OR switch.agent_id = for_agent_id))
$$;

-- Trigger function that refuses writes of agents and workers to learned content while learning is frozen. People may still
-- write, to correct learned content. It is attached to skills, memory, notes, proposals, learning versions and edit
-- clusters.
CREATE OR REPLACE FUNCTION refuse_frozen_learning() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (pg_has_role(current_user, '@agent@'::regrole, 'USAGE') OR pg_has_role(current_user, '@worker@'::regrole, 'USAGE'))
        AND is_learning_frozen(coalesce((to_jsonb(NEW) ->> 'agent_id')::bigint, app_agent())) THEN
        RAISE EXCEPTION 'Learning is frozen by an operator for now. Nothing was written; go on without it.'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'stopped_by_kill_switch';
    END IF;
    RETURN NEW;
END $$;
