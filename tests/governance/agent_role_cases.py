"""What the database refuses an agent's role, as raw SQL, each beside a statement that passes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A statement, who is refused it, and who, or what else, passes."""

    refused: str
    allowed: str = ""
    by: str = "operator"


EVENT = (
    "INSERT INTO conversations_inboundevent (tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,"
    " sent_by, text, text_sha256, received_at, turn_id) VALUES"
    " ({{tenant}}, {{open}}, '{kind}', 'forged', '', '', '{sender}', 'x', 'x', now(), {turn})"
)
RECORD = (
    "INSERT INTO governance_changerecord (tenant_id, act, subject_type, subject_id, subject_label, actor_role,"
    " actor_label, agent_id, version_before, version_after, evidence, taint, text_sha256, created_at) VALUES"
    " ({{tenant}}, 'skill.approve', 'skills.skill', 1, 'x', '{role}', 'x', {{agent}}, 1, 2, '{{{{}}}}', 'agent', 'x', now())"
)
RULE = (
    "INSERT INTO personas_standingrule (tenant_id, agent_id, text, position, status, version, taint, created_at,"
    " updated_at) VALUES ({{tenant}}, {agent}, 'Obey me.', 0, 'active', 1, 'operator', now(), now())"
)
PERSONA_CASES = {
    f"R017 persona {column}": Case(f"UPDATE personas_persona SET {column} = 'changed'")  # noqa: S608  # names beside it
    for column in ("identity", "style", "avoid", "defaults", "goals")
}
CASES = {
    **PERSONA_CASES,
    "R017 persona status": Case("UPDATE personas_persona SET status = 'archived'"),
    "R021 persona create": Case(
        "INSERT INTO personas_persona (tenant_id, agent_id, identity, style, avoid, defaults, goals, status, version,"
        " taint, created_at, updated_at) SELECT tenant_id, agent_id, '', '', '', '', '', 'active', 1, 'agent', now(), now()"
        " FROM personas_persona ON CONFLICT (tenant_id, agent_id) DO UPDATE SET style = 'changed'"
    ),
    "R035 overlay": Case(
        "UPDATE personas_personaoverlay SET text = 'changed'", "SELECT text FROM personas_personaoverlay", by="agent"
    ),
    "R189 identity card": Case(
        "UPDATE personas_identitycard SET business_name = 'Mine'", "SELECT hours FROM personas_identitycard", by="agent"
    ),
    "R052 rule reworded": Case(
        "UPDATE personas_standingrule SET text = 'changed'",
        "SELECT text FROM personas_standingrule WHERE agent_id IS NULL",
        by="agent",
    ),
    "R053 rule retired": Case("UPDATE personas_standingrule SET status = 'retired'"),
    "R188 rule of the organisation laid down": Case(RULE.format(agent="NULL")),
    "R053 rule of its own laid down": Case(RULE.format(agent="{agent}")),
    "R053 rule removed": Case("DELETE FROM personas_standingrule", "SELECT 1 FROM personas_standingrule", by="agent"),
    "R018 skill status": Case(
        "UPDATE skills_skill SET status = 'deprecated' WHERE id = {draft}",
    ),
    "R018 skill approval": Case(
        "UPDATE skills_skill SET status = 'approved', approved_by = 'me', approved_sha256 = content_sha256 WHERE id = {draft}",
    ),
    "Z-3 body of an approved skill": Case(
        "UPDATE skills_skill SET body = 'changed' WHERE id = {approved}",
        "UPDATE skills_skill SET body = 'changed' WHERE id = {draft}",
        by="agent",
    ),
    "Z-3 description of an approved skill": Case(
        "UPDATE skills_skill SET description = 'changed' WHERE id = {approved}",
        "UPDATE skills_skill SET description = 'changed' WHERE id = {draft}",
        by="agent",
    ),
    "R020 approved skill deleted": Case(
        "DELETE FROM skills_skill WHERE id = {approved}", "DELETE FROM skills_skill WHERE id = {draft}", by="agent"
    ),
    "R020 persona deleted": Case("DELETE FROM personas_persona", "SELECT 1 FROM personas_persona", by="agent"),
    "R018 skill authorship": Case(
        "UPDATE skills_skill SET drafted_by = 'operator:1' WHERE id = {draft}",
        "UPDATE skills_skill SET body = 'changed' WHERE id = {draft}",
        by="agent",
    ),
    "change record changed": Case(
        "UPDATE governance_changerecord SET act = 'x'", "SELECT act FROM governance_changerecord"
    ),
    "proposal applied": Case(
        "UPDATE governance_proposal SET state = 'applied', decided_by = 'me'",
        "UPDATE governance_proposal SET content = '{{}}'",
        by="agent",
    ),
    "proposal decided": Case("UPDATE governance_proposal SET decided_by = 'me'"),
    "agent amended": Case("UPDATE tenants_agent SET has_learning = false"),
    "use of a skill rewritten": Case(
        "UPDATE skills_skilluse SET skill_id = 0", "SELECT 1 FROM skills_skilluse", by="agent"
    ),
    "message forged": Case(
        "INSERT INTO conversations_message (tenant_id, conversation_id, position, sender, text, tool_calls, is_reply, created_at)"
        " VALUES ({tenant}, {open}, 99, 'operator', 'I allow it', '[]', false, now())"
    ),
    "R062 session forged": Case(
        "UPDATE runtime_session SET prefix_sha256 = ''", "SELECT 1 FROM runtime_session", by="agent"
    ),
    "R159 read-only block rewritten": Case(
        "UPDATE memory_memoryblock SET body = 'changed' WHERE is_read_only",
        "UPDATE memory_memoryblock SET body = 'changed', taint = 'agent', updated_by = 'agent' WHERE NOT is_read_only",
        by="agent",
    ),
    "R080 line signed as a person's": Case("UPDATE memory_memoryline SET taint = 'operator'"),
    "R087 line of a profile signed as a person's": Case("UPDATE memory_profileline SET taint = 'operator'"),
    "R159 read-only block freed": Case("UPDATE memory_memoryblock SET is_read_only = false"),
    "Z-1 block pinned": Case("UPDATE memory_memoryblock SET is_pinned = true"),
    "block made": Case(
        "INSERT INTO memory_memoryblock (tenant_id, agent_id, label, body, approved_body, is_read_only, is_pinned, updated_by,"
        " line_dates, version, taint, created_at, updated_at) VALUES ({tenant}, {agent}, 'Mine', 'x', '', false, true,"
        " 'agent', '{{}}', 1, 'agent', now(), now())"
    ),
    "R057 another agent's hint": Case("UPDATE tenants_invokableagent SET role_hint = 'changed'"),
    "R057 another agent allowed": Case(
        "INSERT INTO tenants_invokableagent (tenant_id, agent_id, callee_id, role_hint, version, taint, created_at,"
        " updated_at) SELECT tenant_id, callee_id, agent_id, '', 1, 'operator', now(), now() FROM tenants_invokableagent"
    ),
    "Z-11 disclosure": Case("UPDATE tenants_tenantsettings SET ai_disclosure = 'never_volunteer'"),
    "R168 context tier": Case("UPDATE tenants_agent SET context_tier = 4"),
    "event passed off as the owner's": Case(EVENT.format(kind="operator", sender="operator:1", turn="NULL")),
    "event nobody will answer": Case(
        EVENT.format(kind="message", sender="", turn="1"),
        EVENT.format(kind="message", sender="", turn="NULL"),
        by="agent",
    ),
    "record in a person's name": Case(RECORD.format(role="operator"), RECORD.format(role="agent"), by="agent"),
    **{
        f"{table} read": Case(f"SELECT {column} FROM {table}")  # noqa: S608  # names beside it
        for table, column in (
            *(("governance_changerecord", "act"), ("governance_changetext", "before")),
            *(("learning_lesson", "id"), ("learning_lessoncase", "id"), ("learning_learningversion", "id")),
            *(("learning_editcluster", "id"), ("learning_editclustercase", "id"), ("learning_example", "id")),
            *(
                ("review_comment", "id"),
                ("desk_report", "id"),
                ("notifications_notificationpreferences", "id"),
                ("notifications_emailnotification", "id"),
            ),
            ("review_savedfilter", "name"),
            *(("learning_digestrun", "id"), ("learning_extraction", "id"), ("learning_reflection", "id")),
            *(("tenants_agenttoken", "id"), ("tenants_membership", "id"), ("learning_contradiction", "id")),
            *(("learning_tierrun", "id"), ("learning_tierclock", "id")),
            *(("review_bulkdecision", "id"), ("review_bulkitem", "id")),
        )
    },
    "R149 learning version decided": Case("UPDATE learning_learningversion SET status = 'rejected'"),
}
