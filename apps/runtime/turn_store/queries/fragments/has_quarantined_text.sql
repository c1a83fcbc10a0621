-- Whether the prompt of a session contains text that a person has quarantined since: a skill, or lines of memory, of a block or
-- of a customer's profile.
--
-- The person who takes lines out of a row is a proposer of the quarantined proposal. A proposal of the agent alone has never been
-- in the row, so no session ends for it. The lines are not compared with the prompt, because a prompt escapes and shortens them.
--
-- Included as a condition where there are a row `thread` (tenant_id, agent_id), and the relations `session` (snapshot_at) and
-- `session_part` (segments).
EXISTS (
    SELECT 1
    FROM skills_skill AS skill
    JOIN session_part AS part ON list_part_owners(part.segments) @> ARRAY['skills.skill ' || skill.id]
    WHERE skill.tenant_id = thread.tenant_id AND skill.agent_id = thread.agent_id AND skill.quarantined_at IS NOT NULL
) OR EXISTS (
    SELECT 1
    FROM governance_proposal AS proposal
    JOIN session ON session.snapshot_at < proposal.decided_at
    JOIN session_part AS part
      ON list_part_owners(part.segments) @> ARRAY[proposal.target_type || ' ' || proposal.target_id]
    WHERE proposal.tenant_id = thread.tenant_id
      AND proposal.state = 'quarantined'
      AND proposal.target_type IN ('memory.agentmemory', 'memory.memoryblock', 'memory.customerprofile')
      AND proposal.proposers @> to_jsonb(proposal.decided_by_id)
)
