"""One turn against the stand-in model, through the vendor's SDK, inside the test's transaction."""

from collections.abc import Iterator

import pytest

from apps.conversations.models import InboundEvent, Message
from apps.governance.acting import acting
from apps.llm.anthropic import AnthropicBackend
from apps.llm.standin.running import running_standin
from apps.memory.models import CustomerProfile
from apps.runtime.models import ModelCall, Session, Turn
from apps.runtime.turn import answer
from tests.factories import World, make_event, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def backend() -> Iterator[AnthropicBackend]:
    with running_standin() as url:
        client = AnthropicBackend("test", base_url=url)
        yield client
        client.close()


@pytest.fixture
def world() -> World:
    return make_world()


def take(world: World, event: InboundEvent, backend: AnthropicBackend) -> Turn:
    answer(world.tenant.pk, event.conversation_id, backend=backend)
    with acting(world.system):
        event.refresh_from_db()
        return Turn.objects.get(pk=event.turn_id)


def test_next_conversation_introduces_itself_by_the_persona(world: World, backend: AnthropicBackend) -> None:
    # R032
    make_persona(world)
    turn = take(world, make_event(world, "Hello, I prefer email. Where is my parcel?"), backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    with acting(world.system):
        messages = list(Message.objects.filter(conversation=turn.conversation_id).values_list("sender", "text", "tool_calls"))
        print(messages)
        print(list(ModelCall.objects.values()))
        assert "Ada" in turn.reply.text
        assert CustomerProfile.objects.visible_to(world.system).get().preferences
        print(Session.objects.get().parts.count())


def test_approved_skill_is_fetched_and_counted(world: World, backend: AnthropicBackend) -> None:
    # R096, R099
    make_persona(world)
    skill = make_skill(world, "approved", title="Issue a refund", body="## Procedure\n1. Call `update_customer_profile`.")
    turn = take(world, make_event(world, "Can you issue a refund please? Please always call me."), backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    with acting(world.system):
        print(list(Message.objects.filter(conversation=turn.conversation_id).values_list("sender", "text", "tool_calls")))
        skill.refresh_from_db()
        assert skill.use.use_count == 1
