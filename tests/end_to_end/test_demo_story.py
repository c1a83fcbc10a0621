"""The story of `make demo` against live servers and a real worker, looked at from within: rows, and bytes sent to the model."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from apps.conversations.models import Conversation, InboundEvent
from apps.demo.demo_data import CUSTOMER_REQUESTS
from apps.demo.http_client import HttpVisitor
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.learning.extraction.models import Extraction
from apps.runtime.models import ModelCall, Session, Turn
from apps.skills.actions import draft_skill
from apps.skills.models import Skill, SkillUse
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant
from tests.support.drivers.conversation import without_cache_marks
from tests.support.servers.running_product import RunningProduct, fetch

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

STEPS = 8


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as the model received it."""

    body: dict[str, Any]
    usage: dict[str, int]

    @property
    def system(self) -> str:
        return "".join(block["text"] for block in self.body["system"])

    @property
    def prefix(self) -> str:
        """Everything before the messages, to the byte."""
        return json.dumps([without_cache_marks(self.body.get("tools", [])), without_cache_marks(self.body["system"])])

    @property
    def last_text(self) -> str:
        """The user turn the request ends with, if it ends with one."""
        content = self.body["messages"][-1]["content"]
        return "\n".join(block.get("text", "") for block in content) if isinstance(content, list) else str(content)


def play(product: RunningProduct, seed: dict[str, Any]) -> str:
    env = {"DEMO_TOKEN": seed["token"], "DEMO_OPERATOR_LOGIN": seed["operator_login"]}
    if seed["operator_password"]:
        env["DEMO_OPERATOR_PASSWORD"] = seed["operator_password"]
    result = product.run("-m", "apps.demo.story", **env)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert result.stdout.count("✓") == STEPS
    return result.stdout


def model_requests(product: RunningProduct) -> list[ReceivedRequest]:
    requests = json.loads(fetch(f"{product.standin_url}/standin/requests"))
    return [ReceivedRequest(json.loads(request["body"]), request["usage"]) for request in requests]


def conversations_of(system: Actor) -> list[Conversation]:
    with acting_as(system):
        return list(Conversation.objects.visible_to(system).order_by("id"))


def test_a_lesson_goes_from_one_customer_to_the_next_under_sign_off(
    product: RunningProduct, seeded: dict[str, Any]
) -> None:
    # R041, R043, R062, R088, R096, R108, R109, R110, R111, R117, R127
    output = play(product, seeded)
    system = system_actor_of_tenant("acme")
    assert system is not None
    first, second = conversations_of(system)
    with acting_as(system):
        assert (first.status, first.outcome, second.status) == ("resolved", "solved", "open")
        skill = Skill.objects.visible_to(system).get()
        extraction = Extraction.objects.get()
        assert (extraction.conversation_id, extraction.verdict, extraction.skill_id) == (first.pk, "drafted", skill.pk)
        assert extraction.is_stand_in
        assert (skill.status, skill.drafted_by, skill.taint) == ("approved", "extractor", "customer")
        assert SkillUse.objects.get(skill=skill).use_count == 1
        acts = ChangeRecord.objects.filter(subject_type="skills.skill").order_by("id")
        assert list(acts.values_list("act", "actor_role")) == [("skill.draft", "system"), ("skill.approve", "admin")]
        assert Turn.objects.filter(status="done").count() == 3 == Turn.objects.count()
        assert not InboundEvent.objects.filter(turn_id=None).exists()
        assert ModelCall.objects.filter(is_stand_in=False).count() == 0
        assert set(Session.objects.values_list("conversation_id", flat=True)) == {first.pk, second.pk}
    _check_bytes(product, skill)
    assert f"prompt:   +- {skill.name} (id: {skill.pk})" in output
    _replay_story(product)


def _check_bytes(product: RunningProduct, skill: Skill) -> None:
    requests = model_requests(product)
    turns = [request for request in requests if request.body.get("tools")]
    listed = f"- {skill.name} (id: {skill.pk})"
    early = [request for request in turns if listed not in request.system]
    late = [request for request in turns if listed in request.system]
    # The persona leads; the bytes before the messages are the same for the whole session, and new in the next one.
    assert all(request.system.startswith("# Agent persona\n\n## Identity\nYou are Ada") for request in turns)
    assert len({request.prefix for request in early}) == 1
    assert len({request.prefix for request in late}) == 1
    assert early + late == turns
    # The second customer's thread begins with the second customer's own words.
    assert early[0].last_text not in json.dumps([request.body["messages"] for request in late], ensure_ascii=False)
    assert {len(request.body["messages"]) for request in late} == {1, 3, 5}
    assert early[-1].usage["cache_read_input_tokens"] > 0
    # What the customer wrote stands in a fence, as JSON, and nowhere in the system prompt.
    asked = early[0].last_text
    words = json.loads(next(line for line in asked.splitlines() if line.startswith('"')))
    assert asked.index("<data id=") < asked.index(words) < asked.index("</data id=")
    assert words not in early[0].system
    # The extractor was a fresh agent without tools.
    [extractor] = [request for request in requests if not request.body.get("tools")]
    assert extractor.system.startswith("# Skill extraction")


def _replay_story(product: RunningProduct) -> None:
    """Until all is known, and after."""
    again = json.loads(product.run("manage.py", "seed_demo", "--json").stdout.splitlines()[-1])
    assert again["operator_password"] is None
    output = play(product, again)
    assert "by a one-time link" in output
    assert "drafted. Drafted renew-subscription" in output
    # The link shown to the person at the terminal still works: the story used somebody else's.
    browser = HttpVisitor(product.url)
    page = browser.get(again["login_link_path"])
    browser.submit(page, page.forms[-1])
    assert "login" not in browser.get("/admin/").url
    _draft_remaining_skills()
    output = play(product, again)
    assert "known. The agent has the skill change-invoice" in output
    assert "an earlier run had it approved already" in output


def _draft_remaining_skills() -> None:
    system = system_actor_of_tenant("acme")
    assert system is not None
    with acting_as(system):
        learned = list(Skill.objects.visible_to(system))
        assert len(learned) == 2
        for matter in CUSTOMER_REQUESTS[2:]:
            texts = {"title": " ".join(matter.topics), "description": " ".join(matter.topics), "body": "## Procedure"}
            draft_skill(learned[0].agent_id, actor=system, values=texts)
