"""Whatever runs without a request: tasks by ids, commands by keys. Another tenant's are like none."""

import inspect
import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import acting_as
from apps.notebook.models import Note
from apps.notifications.models import NotificationPreferences
from apps.notifications.smtp import mail_server
from apps.review.models import BulkDecision
from apps.runtime.models import Session
from apps.tools.models import ToolServer
from apps.webhooks.models import Webhook
from config.celery import app
from tests.governance.not_found_comparison import UNKNOWN_ID, row_of, table_fingerprints
from tests.support.drivers.management_command import run_command
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import Filled, fill_world
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("beside_filled")]

# What a parameter of a task names; one that nobody knows here fails.
IDS: Mapping[str, Callable[[Filled], int]] = {
    "conversation_id": lambda filled: filled.open.pk,
    "event_id": lambda filled: filled.event.pk,
    "skill_id": lambda filled: filled.approved.pk,
    "proposal_id": lambda filled: filled.proposal.pk,
    "agent_id": lambda filled: filled.world.agent.pk,
    "note_id": lambda filled: row_of(Note, filled.world).pk,
    "server_id": lambda filled: server_of(filled.world).pk,
    "webhook_id": lambda filled: row_of(Webhook, filled.world).pk,
    "bulk_id": lambda filled: row_of(BulkDecision, filled.world).pk,
    "terms_id": lambda filled: row_of(NotificationPreferences, filled.world).pk,
}
# Whose rows they are, and when to look.
HARMLESS_PARAMETERS = {"tenant_id", "in_seconds"}


def server_of(world: World) -> ToolServer:
    with acting_as(world.operator):
        return ToolServer.objects.visible_to(world.operator).get()


@pytest.fixture
def stranger() -> World:
    return make_world()


def tasks() -> dict[str, Any]:
    app.loader.import_default_modules()
    return {name: task for name, task in app.tasks.items() if name.startswith("apps.")}


def tasks_with_ids() -> dict[str, Any]:
    """Tasks that name rows; those without a parameter ask `due_work`, which tells ids and nothing else."""
    return {name: task for name, task in tasks().items() if inspect.signature(task.run).parameters}


@pytest.mark.slow
@pytest.mark.parametrize("name", tasks_with_ids())
def test_a_task_with_another_tenants_id_does_as_little_as_with_none(
    name: str, victim: Filled, stranger: World, settings: Any, standin: StandIn
) -> None:
    # R006, R012
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "test", standin.url
    settings.MAIL_SERVER = mail_server("smtp://127.0.0.1:9", "preceptor@example.com")
    task = tasks_with_ids()[name]
    ids = [parameter for parameter in inspect.signature(task.run).parameters if parameter not in HARMLESS_PARAMETERS]
    assert "tenant_id" in inspect.signature(task.run).parameters, "a task says whose rows it is about"
    before, mine = table_fingerprints(victim.world), table_fingerprints(stranger)
    standin.forget()
    spent = []
    for chosen in ({each: IDS[each](victim) for each in ids}, dict.fromkeys(ids, UNKNOWN_ID)):
        with CaptureQueriesContext(connection) as captured:
            task.run(tenant_id=stranger.tenant.pk, **chosen)
        spent.append(len(captured))
    assert spent[0] == spent[1]
    assert standin.requests() == []
    assert (table_fingerprints(victim.world), table_fingerprints(stranger)) == (before, mine)


def test_every_task_takes_ids_of_one_tenant_or_nothing() -> None:
    assert {"apps.runtime.tasks.take_turn", "apps.learning.tasks.extract_skill"} <= set(tasks_with_ids())
    for name, task in tasks().items():
        words = set(inspect.signature(task.run).parameters)
        # One that names no row is about all of a tenant's: what is old goes in one statement.
        assert not words or {"tenant_id"} < words or name == "apps.api.tasks.forget_answers", name


# Commands that name no row of one tenant, each with the reason.
ROWLESS_COMMANDS = {
    "create_backup": "the whole database, for whoever owns it",
    "create_tenant": "makes a tenant",
    "drill_backup": "the whole database, for whoever owns it",
    "drop_second_factor": "a person's own, who may be in several tenants",
    "login_link": "signs a person in, before any tenant is chosen",
    "migrate": "tables, not rows",
    "restore_backup": "the whole database, for whoever owns it",
    "sanitize": "reads a file",
    "seed_demo": "makes a tenant of its own",
    "setup_database": "tables and roles, not rows",
    "setup_roles": "roles, not rows",
    "sweep_attachments": "removes files that no tenant's row names",
    "sync_policy": "what the roles of every tenant may do by default",
}
OWN, FILE, ASKED = "@", "#", "*"


def commands() -> dict[str, str]:
    return {name: str(package) for name, package in get_commands().items() if str(package).startswith("apps.")}


def command_arguments(name: str) -> list[str]:
    """How to call it: its own tenant, a file where one belongs, the first of its choices, and what is asked for elsewhere."""
    parser = load_command_class(commands()[name], name).create_parser("manage.py", name)
    general = {action.dest for action in BaseCommand().create_parser("manage.py", name)._actions}
    words = [name]
    for action in parser._actions:
        if action.dest in general:
            continue
        value = FILE if action.type is Path else next(iter(action.choices or [ASKED]))
        if action.dest == "tenant":
            words += ["--tenant", OWN]
        elif not action.option_strings:
            words.append(str(value))
        elif action.dest == "agent" or action.required:
            words += [action.option_strings[0], str(value)]
    return words


ROW_COMMANDS = sorted(name for name in commands() if name not in ROWLESS_COMMANDS and ASKED in command_arguments(name))
# A person may be in several tenants, and whoever has a shell may add anybody.
PEOPLE = {"add_operator", "invite_member"}


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(set(ROW_COMMANDS) - PEOPLE))
def test_a_command_with_another_tenants_key_fails_as_with_none(
    command: str, victim: Filled, stranger: World, tmp_path: Path
) -> None:
    # R006
    file = tmp_path / "talk.jsonl"
    file.write_text('{"id": "1", "messages": [{"role": "user", "content": "Hi"}]}\n', encoding="utf-8")
    words = command_arguments(command)
    theirs = "billing" if "--agent" in words else str(row_of(Session, victim.world).pk)
    before, outcomes = table_fingerprints(victim.world), []
    for word in (theirs, str(UNKNOWN_ID)):
        result = run_command(
            *({OWN: stranger.tenant.key, ASKED: word, FILE: str(file)}.get(each, each) for each in words)
        )
        assert result.failure
        outcomes.append((re.sub(rf"(?<!\w){word}(?!\w)", ASKED, result.failure), result.out, result.err))
    assert outcomes[0] == outcomes[1]
    assert table_fingerprints(victim.world) == before


def test_every_command_names_its_tenant_or_is_left_out_for_a_reason() -> None:
    assert set(ROWLESS_COMMANDS) <= set(commands())
    for name in set(commands()) - set(ROWLESS_COMMANDS):
        assert OWN in command_arguments(name), name
    assert {"show_prompt", "issue_token", "mine_skills", "diff_prompts"} <= set(ROW_COMMANDS)


def test_a_command_never_tells_which_tenants_there_are(victim: Filled) -> None:
    # Whoever knows a key sees that tenant; a wrong one is answered without a list of the right ones.
    result = run_command("issue_token", "--tenant", "acmee", "--agent", "support")
    assert "acmee" in result.failure
    assert victim.world.tenant.key not in result.failure + result.out + result.err


@pytest.mark.slow
def test_logs_of_a_whole_day_hold_no_word_of_a_customer(standin: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    # Turns, uses, proposals, extractions: what the product itself says of them at every level.
    caplog.set_level(logging.DEBUG)
    fill_world(standin.backend)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("apps.")]
    log_text = " ".join(ours) + " ".join(
        str(vars(record)) for record in caplog.records if record.name.startswith("apps.")
    )
    for words in ("refund", "Is anybody there", "Prefers email", "parcel", "http:abc123"):
        assert words not in log_text
