"""Several people decide at the same moment: what reaches the customer reaches them once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

from django.db import connections

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.runtime.turns.operator_replies import send_reviewed_draft, write_to_customer
from tests.support.drivers.conversation import lines, send_customer_message
from tests.support.factories.desk import make_waiting_draft
from tests.support.worlds.world import World, make_conversation, make_world


def run_together(deeds: Sequence[Callable[[], object]]) -> list[str]:
    """Each on a connection of its own, all together; the codes of the refusals, empty for what was done."""
    barrier = Barrier(len(deeds))

    def run(deed: Callable[[], object]) -> str:
        barrier.wait()
        try:
            deed()
        except GovernanceError as refusal:
            return refusal.code
        finally:
            connections.close_all()
        return ""

    with ThreadPoolExecutor(len(deeds)) as pool:
        return sorted(pool.map(run, deeds))


def copy_of(world: World, draft: Draft) -> Draft:
    """The draft as another page holds it."""
    with acting_as(world.operator):
        return Draft.objects.visible_to(world.operator).get(pk=draft.pk)


def test_a_draft_that_several_send_at_once_goes_out_once(committing: str) -> None:
    # R134
    world = make_world()
    thread = make_conversation(world)
    draft = make_waiting_draft(world, thread)
    before = len(lines(world, thread.pk))
    deeds = [
        partial(send_reviewed_draft, copy_of(world, draft), actor=person, reviewed_sha256=draft.text_sha256, text=text)
        for person, text in ((world.operator, None), (world.admin, "Mine."), (world.operator, None))
    ]
    assert run_together(deeds) == ["", "illegal_transition", "illegal_transition"]
    assert len(lines(world, thread.pk)) == before + 1
    assert copy_of(world, draft).sent_text == lines(world, thread.pk)[-1][1]


def test_what_several_write_at_once_is_written_once(committing: str) -> None:
    world = make_world()
    event = send_customer_message(world, "Is anybody there?")
    with acting_as(world.operator):
        thread = Conversation.objects.visible_to(world.operator).get(pk=event.conversation_id)
    take_over_conversation(thread, actor=world.operator)
    deeds = [
        partial(write_to_customer, thread, actor=person, text="Yes.", seen_length=1)
        for person in (world.operator, world.admin, world.operator)
    ]
    assert run_together(deeds) == ["", "conflict", "stale"]
    assert lines(world, thread.pk) == [("customer", "Is anybody there?"), ("operator", "Yes.")]
