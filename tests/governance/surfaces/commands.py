"""Management commands as a way in: one command line per act, by the system or by a member it names."""

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from io import StringIO
from typing import Any, ClassVar

from django.core.management import CommandError, call_command

from apps.governance.actors import Role
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from tests.governance.surfaces.base import GRANT_SYNC_REASON
from tests.governance.surfaces.tasks import import_lesson, running_model
from tests.support.factories.contradictions import make_contradicting_rules
from tests.support.worlds.lawful_acts import Scene

Words = tuple[str, ...]


def import_words(scene: Scene, _: Any) -> Words:
    messages = [{"role": "user", "content": "Where is my parcel?"}, {"role": "assistant", "content": "On its way."}]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as file:
        file.write(json.dumps({"id": "matrix", "messages": messages}) + "\n")
    return ("import_transcripts", file.name, "--agent", scene.world.agent.key)


def mine_words(scene: Scene, _: Any) -> Words:
    import_lesson(scene)
    return ("mine_skills", "--agent", scene.world.agent.key)


def member_command(command: str) -> Callable[[Scene, Any], Words]:
    return lambda _, row: (command, row.user.username)


def seed_words(*_: object) -> Words:
    return ("seed_personas", "--only", "onboarding")


def check_words(scene: Scene, _: Any) -> Words:
    make_contradicting_rules(scene.world)
    return ("check_contradictions", "--agent", scene.world.agent.key)


COMMAND_CALLS: Mapping[Act, Callable[[Scene, Any], Words]] = {
    Act.CHECKPOINT_CREATE: lambda *_: ("checkpoint", "Before the sale"),
    Act.KILL_SWITCH_ACTIVATE: lambda *_: ("kill_switch", "freeze-learning", "--reason", "Rest."),
    Act.KILL_SWITCH_DEACTIVATE: lambda scene, row: (
        "kill_switch",
        row.kind,
        "--agent",
        scene.world.agent.key,
        "--resume",
    ),
    Act.MEMBER_INVITE: lambda _, user: ("invite_member", user.username),
    Act.MEMBER_DEACTIVATE: member_command("deactivate_member"),
    Act.MEMBER_RESET: member_command("reset_member"),
    Act.CONVERSATION_IMPORT: import_words,
    Act.MEMBER_ADD: lambda _, user: ("add_operator", user.username),
    Act.TOKEN_ISSUE: lambda _, agent: ("issue_token", "--agent", agent.key),
    Act.AGENT_CREATE: seed_words,
    Act.PERSONA_CREATE: seed_words,
    Act.SKILL_DRAFT: mine_words,
    Act.CONTRADICTION_FIND: check_words,
}
# Declared, and left out of the matrix for these reasons.
NO_COMMAND: Mapping[Act, str] = {
    Act.GRANT_SYNC: GRANT_SYNC_REASON,
    Act.CONTRADICTION_RECUR: "what a look finds again; CONTRADICTION_FIND proves the look",
    Act.CONTRADICTION_CLEAR: "what a look finds no more; CONTRADICTION_FIND proves the look",
    Act.TENANT_CREATE: "its books are those of the tenant it makes; test_tenant_commands reads them",
    Act.CONVERSATION_RESOLVE: "an imported conversation comes resolved; CONVERSATION_IMPORT proves it",
}


class CommandSurface:
    """Whoever has a shell: as the system, or as the member that `--as` names."""

    name = "commands"
    roles = (Role.SYSTEM, Role.OPERATOR, Role.ADMIN)

    not_offered: ClassVar[Mapping[Act, str]] = {
        act: NO_COMMAND.get(act, "no command is for it") for act in set(Act) - set(COMMAND_CALLS)
    }
    not_for: ClassVar[Mapping[tuple[Act, Role], str]] = {
        (act, role): "the command names nobody: whoever has a shell does it as the system"
        for act in (
            *(Act.MEMBER_ADD, Act.TOKEN_ISSUE, Act.AGENT_CREATE, Act.PERSONA_CREATE, Act.SKILL_DRAFT),
            Act.CONTRADICTION_FIND,
        )
        for role in (Role.OPERATOR, Role.ADMIN)
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Call it."""
        with running_model() if scene.act is Act.SKILL_DRAFT else nullcontext():
            return command_refusal(scene, COMMAND_CALLS[scene.act](scene, scene.subject), role)


def command_refusal(scene: Scene, words: Words, role: Role) -> str:
    """The code a command was refused with, empty if it did what it is for."""
    users = {Role.ADMIN: scene.world.admin_user, Role.OPERATOR: scene.world.operator_user}
    named = ("--as", users[role].username) if role in users else ()
    try:
        call_command(*words, "--tenant", scene.world.tenant.key, *named, stdout=StringIO(), stderr=StringIO())
    except CommandError as refusal:
        if not isinstance(refusal.__cause__, GovernanceError):
            raise
        return refusal.__cause__.code
    return ""
