"""Whose words a row carries, by raw SQL: only people sign as people, and what was made for one agent stays with it."""

import pytest

from tests.governance.agent_role_cases import EVENT, Case
from tests.governance.database.test_agent_role import run_case
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.worlds.filled_world import Filled

pytestmark = [pytest.mark.kernel, pytest.mark.django_db, pytest.mark.usefixtures("beside_filled")]


PROFILE = (
    "INSERT INTO memory_customerprofile (tenant_id, end_user_key, preferences, notes, last_seen_at, updated_by, version,"
    " taint, created_at, updated_at) VALUES ({{tenant}}, 'http:new', '', '', now(), '{author}', 1, 'agent', now(), now())"
)
CASES = {
    "memory passed off as a person's": Case(
        "UPDATE memory_agentmemory SET taint = 'operator'", "UPDATE memory_agentmemory SET taint = 'agent'", by="agent"
    ),
    "memory in a person's name": Case(
        "UPDATE memory_agentmemory SET updated_by = 'operator:99'",
        "UPDATE memory_agentmemory SET updated_by = 'agent'",
        by="agent",
    ),
    "profile passed off as a person's": Case(
        "UPDATE memory_customerprofile SET taint = 'operator'",
        "UPDATE memory_customerprofile SET taint = 'agent'",
        by="agent",
    ),
    "profile in a person's name": Case(
        "UPDATE memory_customerprofile SET updated_by = 'operator:99'",
        "UPDATE memory_customerprofile SET updated_by = 'agent'",
        by="agent",
    ),
    "block in a person's name": Case(
        "UPDATE memory_memoryblock SET taint = 'agent', updated_by = 'operator:99' WHERE NOT is_read_only",
        "UPDATE memory_memoryblock SET taint = 'agent', updated_by = 'agent' WHERE NOT is_read_only",
        by="agent",
    ),
    "a person's words changed under the person's name": Case(
        "UPDATE memory_memoryblock SET body = 'changed' WHERE NOT is_read_only",
        "UPDATE memory_memoryblock SET body = 'changed', taint = 'agent', updated_by = 'agent' WHERE NOT is_read_only",
        by="agent",
    ),
    "profile started in a person's name": Case(
        PROFILE.format(author="operator:99"), PROFILE.format(author="agent"), by="agent"
    ),
    "block passed off as a person's": Case(
        "UPDATE memory_memoryblock SET taint = 'operator', updated_by = 'agent' WHERE NOT is_read_only",
        "UPDATE memory_memoryblock SET taint = 'agent', updated_by = 'agent' WHERE NOT is_read_only",
        by="agent",
    ),
}


def test_only_people_sign_as_people(filled: Filled) -> None:
    # R023, R080, R087, Z-22
    for name, case in CASES.items():
        assert run_case(filled, "agent", case.refused).sqlstate == NO_RIGHT, name
        assert run_case(filled, case.by, case.allowed).passed, name


AGENT_CHANGES = {
    "personas_persona": ("agent_id = agent_id", "style = style"),
    "personas_personaoverlay": ("agent_id = agent_id", "text = text"),
    "personas_identitycard": ("line_key = 'sales', agent_id = agent_id", "hours = hours"),
    "personas_standingrule": ("agent_id = agent_id", "text = text"),
    "memory_agentmemory": ("agent_id = agent_id", "body = body"),
    "memory_memoryblock": ("agent_id = agent_id", "body = body"),
    "memory_customerprofile": ("end_user_key = 'http:other'", "notes = notes"),
}


def test_people_change_the_words_and_not_whose_they_are(filled: Filled) -> None:
    # R008, R014
    operator = filled.world.operator
    for table, (move, reword) in AGENT_CHANGES.items():
        assert run_and_undo(operator, f"UPDATE {table} SET {move}").sqlstate == NO_RIGHT, table  # noqa: S608  # names above
        assert run_and_undo(operator, f"UPDATE {table} SET {reword}").passed, table  # noqa: S608  # names above


def test_no_role_names_a_person_as_the_sender_of_a_customers_message(filled: Filled) -> None:
    for actor in (filled.world.bot, filled.world.operator, filled.world.system):
        ids = {"tenant": filled.world.tenant.pk, "open": filled.open.pk}
        event = EVENT.replace("{{", "{").replace("}}", "}")
        named = event.format(kind="message", sender="operator:1", turn="NULL", **ids)
        assert run_and_undo(actor, named).sqlstate == BROKEN_RULE
        assert run_and_undo(actor, event.format(kind="message", sender="", turn="NULL", **ids)).passed
