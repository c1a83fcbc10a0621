"""Whether a customer came back within seven days: across threads and agents, where it is believed to be the same one."""

from typing import Any

import pytest
from django.db import connection

from apps.conversations.actions import abandon_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.repeat_contacts import TAKES_UP
from apps.governance.database.actor_transaction import acting
from apps.learning.distillation.session_log import session_log
from apps.tenants.actions import amend_settings, create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import TenantSettings
from apps.tenants.rules import signature_of
from tests.support.drivers.conversation import CUSTOMER, tell
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db
KEY = "a" * 40
PAIRS = f"""
SELECT earlier.id, later.id FROM conversations_conversation AS earlier JOIN conversations_conversation AS later ON {TAKES_UP}
 ORDER BY 1, 2
"""  # noqa: S608  # of constants


@pytest.fixture
def world() -> World:
    return make_world()


def came_back(world: World) -> list[tuple[int, int]]:
    with acting(world.system), connection.cursor() as cursor:
        cursor.execute(PAIRS)
        return list(cursor.fetchall())


def ended(world: World, thread: str = "first", **said: Any) -> Conversation:
    """A conversation that was resolved."""
    return resolve_conversation(tell(world, thread, thread=thread, **said).conversation, actor=world.operator)


def settings_of(world: World) -> TenantSettings:
    with acting(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get()


def neighbour(world: World) -> World:
    sales = create_agent("sales", "Sales", actor=world.admin)
    bot = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    return World(**{**vars(world), "agent": sales, "bot": bot})


def test_the_same_customer_comes_back_in_another_thread_and_to_another_agent(world: World) -> None:
    first = ended(world)
    again = ended(world, "second")
    elsewhere = tell(neighbour(world), "And you?", thread="third").conversation
    assert came_back(world) == [(first.pk, again.pk), (first.pk, elsewhere.pk), (again.pk, elsewhere.pk)]
    with acting(world.system):
        told = session_log(world.agent.pk, actor=world.system)
    assert ["came back" in line.text for line in told] == [True, False]


def test_another_customer_and_one_without_a_name_come_back_in_their_own_thread_alone(world: World) -> None:
    ended(world)
    nameless = ended(world, "nameless", customer="")
    tell(world, "I am new", thread="other", customer="http:other")
    tell(world, "Who am I?", thread="nobody", customer="")
    assert came_back(world) == []
    sequel = tell(world, "Me again", thread="nameless", customer="").conversation
    assert came_back(world) == [(nameless.pk, sequel.pk)]


def test_the_same_id_on_another_channel_is_somebody_else(world: World) -> None:
    # R009
    ended(world)
    tell(world, "Hello", thread="sms", customer=CUSTOMER.replace("http", "sms"), channel="sms")
    assert came_back(world) == []


def test_who_wrote_before_the_end_does_not_come_back(world: World) -> None:
    beside = tell(world, "Beside", thread="beside").conversation
    first = ended(world)
    assert came_back(world) == []
    again = tell(world, "Again", thread="again").conversation
    assert came_back(world) == [(first.pk, again.pk)]
    abandon_conversation(beside, actor=world.operator)
    later = tell(world, "Still there?", thread="later").conversation
    assert came_back(world) == [(beside.pk, later.pk), (first.pk, again.pk), (first.pk, later.pk)]


def test_where_the_tenant_wants_proofs_only_proven_customers_come_back(world: World) -> None:
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=True)
    rotate_proof_key(settings_of(world), actor=world.admin, key=KEY)
    signed = {"user_hash": signature_of(KEY, CUSTOMER)}
    claimed, proven = ended(world, "claimed"), ended(world, "proven", **signed)
    tell(world, "I say so", thread="unsigned")
    assert came_back(world) == []
    again = tell(world, "Signed", thread="signed", **signed).conversation
    assert came_back(world) == [(proven.pk, again.pk)]
    assert claimed.pk != proven.pk


def test_what_is_off_the_record_is_no_return(world: World) -> None:
    # R178
    private = ended(world, "private", off_the_record=True)
    first = ended(world)
    tell(world, "Between us", thread="later", off_the_record=True)
    again = tell(world, "Once more", thread="again").conversation
    assert came_back(world) == [(first.pk, again.pk)]
    assert private.off_the_record
