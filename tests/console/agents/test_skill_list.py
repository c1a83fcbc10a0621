"""The list of skills: of the agent one has chosen, the index as its model reads it."""

import pytest
from django.test import Client

from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.snapshot import render_snapshot
from apps.review.skill_actions import approve_skill
from apps.runtime.prompt_snapshot.preview import preview_at
from apps.skills.models import Skill
from tests.support.drivers.console_client import list_of, page_text, page_words
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db


def skill_list_url(agent_id: object) -> str:
    return f"{list_of(Skill)}?tab=all&agent__id__exact={agent_id}"


def test_the_index_is_shown_as_the_next_session_carries_it(world: World, operator: Client) -> None:
    draft = make_skill(world, name="send-invoice", description="For customers who lost an <invoice>.")
    assert "no approved skill of this agent is shown to the model" in page_words(
        operator.get(skill_list_url(world.agent.pk))
    )
    approve_skill(draft, actor=world.operator, reviewed_sha256=draft.content_sha256)
    shown = operator.get(skill_list_url(world.agent.pk))
    parts = render_snapshot(preview_at(world.agent, "", None, actor=world.operator)).parts
    [slot] = [part.text for part in parts if part.slot is Slot.SKILLS]
    assert f'<pre tabindex="0">{slot}</pre>' in page_text(shown)
    assert "For customers who lost an <invoice>." not in shown.content.decode()
    assert f"{len(slot.encode())} bytes" in page_words(shown)


def test_without_an_agent_or_with_somebody_elses_there_is_none(world: World, operator: Client) -> None:
    stranger = make_world()
    for chosen in (list_of(Skill), skill_list_url(stranger.agent.pk)):
        assert "Choose an agent above" in page_words(operator.get(chosen))
        assert "The index as the model reads it" not in page_words(operator.get(chosen))
