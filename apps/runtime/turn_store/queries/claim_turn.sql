-- Claims a turn of a conversation, and reads everything that the turn needs before its first model call.
--
-- A turn whose lease ran out is resumed, if only to be ended where a colleague has taken the conversation over. Otherwise the
-- messages that wait and are due begin a new turn. Messages are assigned only while they are locked, so no turn begins for
-- messages that another worker answers. A locked message is waited for, never skipped: the other claim may come to nothing, and a
-- later message would be answered before an earlier one.
--
-- Called by: claim_turn (apps/runtime/turn_store/turn_claim.py), with the advisory lock of the conversation's claim
-- Runs as: worker
-- One statement: the claim and all that it reads are one snapshot and one round trip. From then on only the claimer writes the
--   conversation's own rows.
-- Locks: the resumed turn; the messages of the conversation that no turn has yet (FOR UPDATE, in the order of their ids)
-- Parameters:
--   :conversation       bigint      the conversation to claim a turn of
--   :tenant             bigint      its tenant
--   :only               text        'tenant/agent' of the only agent that this worker serves, '' for every agent
--   :external           boolean     whether the claim is for an external agent
--   :external_patience  interval    how long a message for an external agent may wait before a worker ends its turn
--   :lease              interval    how long the claim lasts without a heartbeat
--   :patience           interval    how long the turn may take from its beginning to its deadline
--   :stops              text[]      kinds of kill switch under which nothing is answered
--   :sending            text[]      kinds of kill switch under which no reply is sent
--   :stopped            text[]      failure codes of a turn that a person or the day's budget held up; it does not age meanwhile
--   :known_parts        text[]      marks of the prompt parts that this process has; their text is left out
--   :known_tools        text[]      sha256 of the tool descriptions that this process has; their text is left out
--   :history            integer     messages of the transcript to read, from its end
--   :examples           integer     corrected drafts and approved examples to read, of each
--   :compared           integer     characters of each message by which examples are chosen
--   :keyword_letters    integer     letters of a word that are compared with an example's keywords
--   :min_word_letters   integer     letters of the shortest word that is compared
--   :own_turns          integer     turns of the conversation whose model calls are read for the prompt cache
--   :others_calls       integer     model calls of other conversations that are read for the prompt cache, of each kind
--   :loop_window        interval    period in which the conversation's turns are counted
--   :role               text        the role whose grants are read
--   :at_template        text        name of a grant's origin: the template of the role
--   :at_tenant          text        name of a grant's origin: the tenant
--   :at_agent           text        name of a grant's origin: the agent
-- Returns: no row if there is nothing to claim, else one row with one JSON object, as text; `TurnContext` and `TurnClaim` parse it.

WITH thread AS (
    -- The conversation, if a turn of it may be claimed at all.
    SELECT
        thread.id,
        thread.tenant_id,
        thread.taken_over_at,
        thread.agent_id,
        agent.has_learning AND (thread.member_user_id IS NULL OR thread.channel = 'playground') AS has_learning
    FROM conversations_conversation AS thread
    JOIN tenants_agent AS agent ON agent.id = thread.agent_id AND agent.tenant_id = thread.tenant_id
    JOIN tenants_tenant AS tenant ON tenant.id = thread.tenant_id
    WHERE thread.id = :conversation
      AND :only IN ('', tenant.key || '/' || agent.key)
      AND NOT is_kill_switch_on(:stops, thread.tenant_id, thread.id)
      -- For an external agent a worker only ends a turn: one that nobody reported in time, or that a colleague answers by now.
      AND (thread.has_external_agent = :external OR thread.has_external_agent AND (
          thread.taken_over_at IS NOT NULL
          OR EXISTS (
              SELECT 1
              FROM runtime_turn AS turn
              WHERE turn.tenant_id = thread.tenant_id
                AND turn.conversation_id = thread.id
                AND turn.status = 'running'
                AND turn.deadline_at <= statement_timestamp()
          )
          OR EXISTS (
              SELECT 1
              FROM conversations_inboundevent AS event
              WHERE event.tenant_id = thread.tenant_id
                AND event.conversation_id = thread.id
                AND event.turn_id IS NULL
                AND event.due_at <= statement_timestamp() - :external_patience::interval
          )
      ))
), resumed_turn AS (
    -- A turn that is under way and that no worker holds any more.
    UPDATE runtime_turn AS turn
    SET fence = turn.fence + 1,
        attempts = turn.attempts + 1,
        crashes = turn.crashes + CASE WHEN turn.is_released THEN 0 ELSE 1 END,
        is_released = false,
        lease_until = statement_timestamp() + :lease::interval,
        step_started_at = statement_timestamp(),
        -- A turn that an operator or the day's budget held up has not aged meanwhile.
        deadline_at = turn.deadline_at + CASE
            WHEN turn.failure_code = ANY(:stopped) THEN statement_timestamp() - turn.lease_until
            ELSE interval '0'
        END
    FROM thread
    WHERE turn.tenant_id = thread.tenant_id
      AND turn.conversation_id = thread.id
      AND turn.status = 'running'
      AND turn.lease_until <= statement_timestamp()
      AND (
          turn.run_at <= statement_timestamp()
          OR :external
          OR is_turn_woken_by_settings(turn.tenant_id, turn.is_released, turn.failure_code, turn.lease_until)
      )
    RETURNING turn.*
), waiting_event AS (
    -- The messages that no turn answers yet.
    SELECT event.id, event.due_at
    FROM conversations_inboundevent AS event
    JOIN thread ON event.tenant_id = thread.tenant_id AND event.conversation_id = thread.id
    WHERE event.turn_id IS NULL
    ORDER BY event.id
    FOR UPDATE OF event
), new_turn AS (
    -- Nobody answers by hand, no turn is under way, and a message is due.
    INSERT INTO runtime_turn (
        tenant_id, conversation_id, status, outcome, round, fence, attempts, crashes, failed_calls, is_released,
        lease_until, run_at, deadline_at, current_step, step_started_at, started_at, failure_code, failure, learning_version_id
    )
    SELECT
        thread.tenant_id, thread.id, 'running', '', 1, 1, 1, 0, 0, false,
        statement_timestamp() + :lease::interval, statement_timestamp(), statement_timestamp() + :patience::interval, 1,
        statement_timestamp(), statement_timestamp(), '', '',
        -- The conversation's first turn pins the learning version that is active then, if any; later turns read that one (R146).
        CASE
            WHEN NOT thread.has_learning THEN NULL
            WHEN first_turn.id IS NOT NULL THEN first_turn.learning_version_id
            ELSE (
                SELECT version.id
                FROM learning_learningversion AS version
                WHERE version.tenant_id = thread.tenant_id
                  AND version.agent_id = thread.agent_id
                  AND version.status = 'active'
            )
        END
    FROM thread
    LEFT JOIN LATERAL (
        SELECT turn.id, turn.learning_version_id
        FROM runtime_turn AS turn
        WHERE turn.tenant_id = thread.tenant_id
          AND turn.conversation_id = thread.id
          AND turn.session_id IS NOT NULL
        ORDER BY turn.id
        LIMIT 1
    ) AS first_turn ON true
    WHERE thread.taken_over_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM resumed_turn)
      AND (
          (SELECT min(due_at) FROM waiting_event) <= statement_timestamp()
          OR :external AND EXISTS (SELECT 1 FROM waiting_event)
      )
    ON CONFLICT (tenant_id, conversation_id) WHERE status = 'running' DO NOTHING
    RETURNING *
), claimed_turn AS (
    SELECT * FROM resumed_turn
    UNION ALL
    SELECT * FROM new_turn
), assigned_event AS (
    -- A turn takes the waiting messages as long as it has asked no model.
    UPDATE conversations_inboundevent AS event
    SET turn_id = claimed_turn.id
    FROM claimed_turn, waiting_event
    WHERE event.id = waiting_event.id
      AND claimed_turn.session_id IS NULL
      AND NOT EXISTS (
          SELECT 1
          FROM runtime_modelcall AS call
          WHERE call.tenant_id = claimed_turn.tenant_id AND call.turn_id = claimed_turn.id
      )
    RETURNING event.*
), session AS (
    -- The session that a resumed turn runs in, else the conversation's latest, which may have ended.
    SELECT session.*
    FROM claimed_turn
    JOIN runtime_session AS session
      ON session.tenant_id = claimed_turn.tenant_id AND session.conversation_id = claimed_turn.conversation_id
    ORDER BY session.id = claimed_turn.session_id DESC NULLS LAST, session.id DESC
    LIMIT 1
), session_part AS (
    -- The parts of its prompt, the tools first. A part is known again by its mark.
    SELECT
        place.position,
        part.*,
        part.id || ':' || md5(concat(part.slot, part.sha256, part.text, part.segments)) AS mark
    FROM (
        SELECT tenant_id, position, part_id
        FROM runtime_sessionpart
        WHERE (tenant_id, session_id) = (SELECT tenant_id, id FROM session)
        UNION ALL
        SELECT tenant_id, -1, tools_id FROM session
    ) AS place
    JOIN runtime_snapshotpart AS part ON part.tenant_id = place.tenant_id AND part.id = place.part_id
), own_call AS MATERIALIZED (
    -- The conversation's model calls of the last hour: no provider keeps a prompt in its cache for longer.
    SELECT
        call.requested_at,
        call.agent_prefix_sha256,
        call.workspace_prefix_sha256,
        -- include: apps/runtime/turn_store/queries/fragments/cache_trace.sql
        AS trace,
        turn.session_id IS NOT NULL AS is_kept,
        json_build_object(
            'session', turn.session_id,
            'status', turn.status,
            'is_stand_in', call.is_stand_in,
            'requested_at', call.requested_at,
            'cache_entries', call.cache_entries,
            'cache_ledger', call.cache_ledger
        ) AS details
    FROM (
        SELECT turn.*
        FROM claimed_turn
        JOIN runtime_turn AS turn
          ON turn.tenant_id = claimed_turn.tenant_id AND turn.conversation_id = claimed_turn.conversation_id
        ORDER BY turn.id DESC
        LIMIT :own_turns
    ) AS turn
    JOIN runtime_modelcall AS call ON call.tenant_id = turn.tenant_id AND call.turn_id = turn.id
    WHERE call.requested_at > statement_timestamp() - interval '1 hour'
), prefix AS (
    -- The prompt of the latest of them; other conversations are looked up by it.
    SELECT agent_prefix_sha256, workspace_prefix_sha256
    FROM own_call
    ORDER BY requested_at DESC
    LIMIT 1
)
SELECT json_build_object(
    'now', statement_timestamp(),
    'turn', to_json(turn),
    'conversation', to_json(thread),
    -- As text: this process keeps parsed agents by it.
    'agent', to_json(agent)::text,
    'events', (
        SELECT json_agg(to_json(event) ORDER BY event.id)
        FROM (
            SELECT * FROM assigned_event
            UNION ALL
            SELECT *
            FROM conversations_inboundevent AS earlier
            WHERE earlier.tenant_id = turn.tenant_id AND earlier.turn_id = turn.id
        ) AS event
    ),

    -- What an earlier worker journaled of this round.
    'calls', CASE WHEN turn.attempts > 1 THEN (
        SELECT json_agg(json_build_object(
            'step', call.step,
            'user_turn', call.user_turn,
            'assistant_message', call.assistant_message,
            'text', call.text,
            'stop_reason', call.stop_reason
        ) ORDER BY call.step)
        FROM runtime_modelcall AS call
        WHERE call.tenant_id = turn.tenant_id AND call.turn_id = turn.id AND call.round = turn.round
    ) END,
    'tools', CASE WHEN turn.attempts > 1 THEN (
        SELECT json_agg(json_build_object(
            'step', tool.step,
            'position', tool.position,
            'call_id', tool.call_id,
            'name', tool.name,
            'arguments', tool.arguments,
            'repeat_safety', tool.repeat_safety,
            'state', tool.state,
            'result', tool.result,
            'is_error', tool.is_error
        ))
        FROM runtime_toolstep AS tool
        WHERE tool.tenant_id = turn.tenant_id AND tool.turn_id = turn.id AND tool.round = turn.round
    ) END,

    -- The session, its prompt, and when it was used last.
    'session', (SELECT to_json(session) FROM session),
    'has_quarantined_text',
    -- include: apps/runtime/turn_store/queries/fragments/has_quarantined_text.sql
    ,
    'last_turn_at', (
        SELECT previous.finished_at
        FROM session
        JOIN runtime_turn AS previous ON previous.tenant_id = session.tenant_id AND previous.session_id = session.id
        WHERE previous.finished_at IS NOT NULL
        ORDER BY previous.id DESC
        LIMIT 1
    ),
    'parts', (
        SELECT json_agg(json_build_object(
            'position', position,
            'id', id,
            'mark', mark,
            'slot', slot,
            'sha256', sha256,
            'text', CASE WHEN mark <> ALL (:known_parts) THEN text END,
            'segments', CASE WHEN mark <> ALL (:known_parts) THEN segments END
        ) ORDER BY position)
        FROM session_part
    ),

    -- Grants of the agent, settings of the tenant, and how replies are sent.
    'grants', (
        SELECT json_agg(json_build_array(granted.origin, granted.agent_id, granted.names))
        FROM (
            -- include: apps/tenants/authentication/queries/fragments/role_grants.sql
        ) AS granted (origin, agent_id, names)
    ),
    'settings', (
        SELECT json_build_object('timezone', timezone, 'is_customer_proof_required', is_customer_proof_required)
        FROM tenants_tenantsettings
        WHERE tenant_id = :tenant
    ),
    'send_rules', (
        SELECT json_agg(json_build_array(rule.send_mode, rule.channel, rule.skill_id) ORDER BY rule.id)
        FROM desk_sendrule AS rule
        WHERE rule.tenant_id = :tenant AND rule.agent_id = agent.id
    ),
    'is_sending_paused', is_kill_switch_on(:sending, thread.tenant_id, thread.id),
    -- Turns that were answered before; none where nothing may be learned.
    'answered_turns', CASE WHEN agent.has_learning AND (thread.channel = 'playground' OR NOT thread.off_the_record) THEN (
        SELECT count(*)
        FROM runtime_turn AS answered
        WHERE answered.tenant_id = :tenant AND answered.conversation_id = thread.id AND answered.status = 'done'
    ) ELSE 0 END,
    'open_escalations', (
        SELECT count(*)
        FROM desk_escalation AS escalation
        WHERE escalation.tenant_id = :tenant AND escalation.conversation_id = thread.id AND escalation.status = 'open'
    ),

    -- The agent that delegated to this one, and what answering it cost so far: other turns, and what these set aside in turn.
    'calling_agent', (
        SELECT json_build_object(
            'agent_id', caller.id,
            'version', caller.version,
            'title', caller.title,
            'spent_micro_usd', (
                SELECT coalesce(sum(call.cost_micro_usd), 0)::bigint
                FROM runtime_turn AS other
                JOIN runtime_modelcall AS call ON call.tenant_id = other.tenant_id AND call.turn_id = other.id
                WHERE other.tenant_id = :tenant AND other.conversation_id = thread.id AND other.id <> turn.id
            ) + (
                SELECT coalesce(sum(below.budget_micro_usd), 0)::bigint
                FROM conversations_conversation AS below
                WHERE below.tenant_id = :tenant AND below.parent_id = thread.id AND below.delegating_turn_id <> turn.id
            )
        )
        FROM conversations_conversation AS above
        JOIN tenants_agent AS caller ON caller.tenant_id = above.tenant_id AND caller.id = above.agent_id
        WHERE above.tenant_id = :tenant AND above.id = thread.parent_id
    ),

    -- Learning: the version that the conversation is pinned to; the text of one that was withdrawn and leaves the history; what
    -- people sent in the place of drafts for this customer alone (R145, R146, R164).
    'learning', (
        SELECT json_build_object(
            'id', version.id,
            'version', version.version,
            'body', version.body,
            'approver', version.approved_by,
            'taint', version.taint
        )
        FROM learning_learningversion AS version
        WHERE version.tenant_id = :tenant
          AND version.id = turn.learning_version_id
          AND version.status IN ('active', 'retired')
          AND agent.has_learning
    ),
    'withdrawn_learning', (
        SELECT version.body
        FROM learning_learningversion AS version
        WHERE version.tenant_id = :tenant
          AND version.status = 'withdrawn'
          AND version.id = (
              SELECT first_turn.learning_version_id
              FROM runtime_turn AS first_turn
              WHERE first_turn.tenant_id = :tenant
                AND first_turn.conversation_id = thread.id
                AND first_turn.session_id IS NOT NULL
              ORDER BY first_turn.id
              LIMIT 1
          )
    ),
    'corrected_drafts', CASE WHEN agent.has_learning AND thread.end_user_key <> '' THEN (
        SELECT json_agg(json_build_object(
            'id', past.id,
            'version', past.version,
            'draft', past.text,
            'sent', past.sent_text,
            'by', past.decided_by
        ) ORDER BY past.id)
        FROM (
            SELECT draft.*
            FROM conversations_conversation AS other
            JOIN desk_draft AS draft ON draft.tenant_id = other.tenant_id AND draft.conversation_id = other.id
            WHERE other.tenant_id = :tenant
              AND other.end_user_key = thread.end_user_key
              AND other.end_user_key <> ''
              AND other.agent_id = thread.agent_id
              AND NOT other.off_the_record
              AND other.quarantined_at IS NULL
              AND draft.status = 'sent_edited'
            ORDER BY draft.id DESC
            LIMIT :examples
        ) AS past
    ) END,
    -- Examples that people keep for every customer, where the agent's page asks for them: first the one whose situation has most
    -- words of what was just written, and of equals the latest (Z-12).
    'bank_examples', CASE
        WHEN agent.has_learning
         AND agent.has_examples
         AND (thread.member_user_id IS NULL OR thread.channel = 'playground')
        THEN (
            SELECT json_agg(json_build_object(
                'id', kept.id,
                'version', kept.version,
                'situation', kept.situation,
                'draft', kept.draft,
                'correction', kept.correction,
                'by', kept.approved_by,
                'taint', kept.taint
            ) ORDER BY kept.shared DESC, kept.id DESC)
            FROM (
                SELECT example.*, count(written.word) AS shared
                FROM learning_example AS example
                LEFT JOIN LATERAL jsonb_array_elements_text(example.keywords) AS keyword (word) ON true
                LEFT JOIN (
                    SELECT DISTINCT left(matched.words[1], :keyword_letters::integer) AS word
                    FROM (
                        SELECT text FROM assigned_event
                        UNION ALL
                        SELECT text
                        FROM conversations_inboundevent AS earlier
                        WHERE earlier.tenant_id = turn.tenant_id AND earlier.turn_id = turn.id
                    ) AS event
                    CROSS JOIN LATERAL regexp_matches(
                        lower(left(event.text, :compared)),
                        format('[[:alnum:]]{%s,}', :min_word_letters::integer),
                        'g'
                    ) AS matched (words)
                ) AS written ON written.word = keyword.word
                WHERE example.tenant_id = :tenant
                  AND example.agent_id = agent.id
                  AND example.status = 'approved'
                  AND example.lesson_id NOT IN (SELECT list_quarantined_lessons())
                GROUP BY example.id
                ORDER BY shared DESC, example.id DESC
                LIMIT :examples
            ) AS kept
        )
    END,

    -- The transcript. Of a long conversation only the end is replayed, and only that much is read.
    'message_count', (
        SELECT count(*)
        FROM conversations_message AS message
        WHERE message.tenant_id = :tenant AND message.conversation_id = thread.id AND message.api_message IS NOT NULL
    ),
    'history', (
        SELECT json_agg(json_build_array(recent.api_message, recent.calls) ORDER BY recent.position)
        FROM (
            SELECT
                message.api_message,
                message.position,
                -- Tool results are stored once, with the calls in the row before.
                CASE WHEN message.sender = 'tool' THEN (
                    SELECT called.tool_calls
                    FROM conversations_message AS called
                    WHERE called.tenant_id = message.tenant_id
                      AND called.conversation_id = message.conversation_id
                      AND called.position = message.position - 1
                ) END AS calls
            FROM conversations_message AS message
            WHERE message.tenant_id = :tenant AND message.conversation_id = thread.id AND message.api_message IS NOT NULL
            ORDER BY message.position DESC
            LIMIT :history
        ) AS recent
    ),

    -- The model: the agent's own endpoint with its sealed key, the tenant's present prices, and which models fail there.
    'endpoint', (
        SELECT json_build_object('id', endpoint.id, 'base_url', endpoint.base_url, 'ciphertext', secret.ciphertext)
        FROM tenants_endpoint AS endpoint
        LEFT JOIN tenants_sealedsecret AS secret ON secret.tenant_id = endpoint.tenant_id AND secret.id = endpoint.secret_id
        WHERE endpoint.tenant_id = agent.tenant_id AND endpoint.id = agent.endpoint_id
    ),
    'prices', (
        SELECT json_object_agg(price.model, json_build_array(
            price.input_micro_usd,
            price.output_micro_usd,
            price.cache_read_micro_usd,
            price.cache_write_5m_micro_usd,
            price.cache_write_1h_micro_usd
        ))
        FROM (
            SELECT DISTINCT ON (model) *
            FROM tenants_modelprice
            WHERE tenant_id = :tenant AND valid_from <= statement_timestamp()
            ORDER BY model, valid_from DESC
        ) AS price
    ),
    'circuit_breakers', (
        SELECT json_object_agg(breaker.model, to_json(breaker))
        FROM runtime_circuitbreaker AS breaker
        WHERE breaker.endpoint_id = coalesce(agent.endpoint_id, 0) AND breaker.state <> 'closed'
    ),

    -- Tools of tool servers: those that the agent may call, that are in use, and that are still described as they were allowed;
    -- and the calls of them that a person approved.
    'server_tools', (
        SELECT json_agg(json_build_object(
            'id', allowed.id,
            'sha256', allowed.sha256,
            'needs_approval', allowed.needs_approval,
            'definition', CASE WHEN allowed.sha256 <> ALL (:known_tools) THEN allowed.definition END,
            'name', tool.name,
            'url', server.url,
            'timeout_seconds', server.timeout_seconds,
            'max_result_bytes', server.max_result_bytes,
            'ciphertext', secret.ciphertext
        ) ORDER BY allowed.id)
        FROM tools_agenttool AS allowed
        JOIN tools_servertool AS tool
          ON tool.tenant_id = allowed.tenant_id
         AND tool.id = allowed.tool_id
         AND tool.sha256 = allowed.sha256
         AND tool.is_listed
         AND tool.validation_error = ''
        JOIN tools_toolserver AS server
          ON server.tenant_id = tool.tenant_id AND server.id = tool.server_id AND server.is_active
        LEFT JOIN tenants_sealedsecret AS secret ON secret.tenant_id = server.tenant_id AND secret.id = server.secret_id
        WHERE allowed.tenant_id = agent.tenant_id AND allowed.agent_id = agent.id
    ),
    'approved_calls', (
        SELECT json_object_agg(approval.call_sha256, approval.id)
        FROM tools_toolapproval AS approval
        WHERE approval.tenant_id = agent.tenant_id
          AND approval.conversation_id = thread.id
          AND approval.status = 'approved'
    ),

    -- What earlier calls left in the prompt cache: of this conversation, and of others whose prompts begin with the same bytes.
    'earlier_calls', json_build_object(
        'own', (SELECT json_agg(trace) FROM own_call),
        'previous', (SELECT details FROM own_call WHERE is_kept ORDER BY requested_at DESC LIMIT 1),
        'agent_prefix_sha256', (SELECT agent_prefix_sha256 FROM prefix),
        'workspace_prefix_sha256', (SELECT workspace_prefix_sha256 FROM prefix),
        -- include: apps/runtime/turn_store/queries/fragments/calls_with_prefix.sql
    ),

    -- Money and loops: what is left of the day's budget, what this turn cost so far and set aside for agents that it asked, and how
    -- many turns the conversation had lately beside it.
    'day_left_micro_usd',
    -- include: apps/runtime/turn_store/queries/fragments/day_budget_left.sql
    ,
    'turn_cost_micro_usd', (
        SELECT coalesce(sum(call.cost_micro_usd), 0)::bigint
        FROM runtime_modelcall AS call
        WHERE call.tenant_id = turn.tenant_id AND call.turn_id = turn.id
    ),
    'set_aside_micro_usd', (
        SELECT coalesce(sum(below.budget_micro_usd), 0)::bigint
        FROM conversations_conversation AS below
        WHERE below.tenant_id = turn.tenant_id
          AND below.parent_id = turn.conversation_id
          AND below.delegating_turn_id = turn.id
    ),
    'other_recent_turns', (
        SELECT count(*)
        FROM runtime_turn AS other
        WHERE other.tenant_id = turn.tenant_id
          AND other.conversation_id = turn.conversation_id
          AND other.id <> turn.id
          AND other.started_at > statement_timestamp() - :loop_window::interval
    )
)::text
FROM claimed_turn AS turn
JOIN conversations_conversation AS thread ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
JOIN tenants_agent AS agent ON agent.tenant_id = thread.tenant_id AND agent.id = thread.agent_id
