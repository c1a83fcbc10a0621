"""An agent that somebody else runs as a way in: its session's tools, called over HTTP in a turn it was handed, and its reports."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from django.test import Client

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from apps.runtime.tools.skill_editing_tools import SKILL_TOOLS
from apps.tenants.actions import amend_agent
from tests.governance.surfaces.tasks import READ_FIRST_TOOLS, TOOL_ARGUMENTS, TOOLS
from tests.support.factories.external_turns import EXTERNAL_AGENT_REQUESTS, OPEN_SESSION_BODY
from tests.support.worlds.lawful_acts import Scene

SKILL_TOOL_NAMES = {tool.name for tool in SKILL_TOOLS}
# A member's own is written in a talk, and no talk is anybody else's to run.
TALK_ACTS = {Act.MEMBER_OVERLAY_WRITE}
# Handing a message in is what opens a session.
OPENING_ACTS = {Act.MESSAGE_RECEIVE, Act.CONVERSATION_OPEN, Act.SESSION_OPEN}


class ExternalAgentSurface:
    """Bring your own agent: what a worker of ours does in a turn, asked for by a token from outside."""

    name = "bring-your-own-agent"
    roles = (Role.AGENT,)
    not_offered: ClassVar[Mapping[Act, str]] = {
        **dict.fromkeys(set(Act) - {*TOOLS, *OPENING_ACTS, Act.TURN_REPORT}, "no tool of a session stands for it"),
        **dict.fromkeys(TALK_ACTS, "a talk is a member's own, and nobody elsewhere runs it"),
    }
    not_for: ClassVar[Mapping[tuple[Act, Role], str]] = {}

    def perform(self, scene: Scene, role: Role) -> str:
        """Open a session; where a tool of it stands for the act, call it."""
        del role
        client = Client(headers={"Authorization": f"Bearer {scene.world.token}"})
        if scene.act is Act.TURN_REPORT:
            _, path, body = EXTERNAL_AGENT_REQUESTS[scene.act](scene, scene.subject)
            return _code(_post(client, path, body))
        name = TOOLS.get(scene.act, "")
        if name in SKILL_TOOL_NAMES:
            amend_agent(scene.world.agent, actor=scene.world.admin, may_edit_skills=True)
        opened = _post(client, "sessions", OPEN_SESSION_BODY)
        if not name or _code(opened):
            return _code(opened)
        out = opened.json()
        calls = [("skill_view", {"skill_id": scene.subject.pk})] if name in READ_FIRST_TOOLS else []
        for number, (called, arguments) in enumerate([*calls, (name, TOOL_ARGUMENTS[name](scene.subject))]):
            call = {"turn_id": out["turn"]["id"], "call_id": f"matrix-{number}", "name": called, "input": arguments}
            made = _post(client, f"sessions/{out['id']}/calls", call)
        return _code(made) or ("not_permitted" if made.json()["is_error"] else "")


def _post(client: Client, path: str, body: Mapping[str, object]) -> Any:  # Any: the test client's response
    return client.post(f"/api/v1/{path}", json.dumps(body), "application/json")


def _code(answer: Any) -> str:  # Any: the test client's response
    return "" if answer.status_code < 300 else str(answer.json()["code"])
