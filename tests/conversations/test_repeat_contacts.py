"""Whether a customer came back within seven days: across threads and agents, where it is believed to be the same one."""

from typing import Any

import pytest
from django.db import connection

from apps.conversations.actions import abandon_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.learning.distillation.session_log import read_session_log
from apps.tenants.actions import amend_settings, create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import TenantSettings
from apps.tenants.rules import signature_of
from tests.support.drivers.conversation import CUSTOMER, send_customer_message
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db
KEY = "a" * 40
IS_REPEAT_CONTACT = load_query("apps/conversations/queries/fragments/is_repeat_contact.sql")
PAIRS = f"""
SELECT earlier.id, later.id FROM conversations_conversation AS earlier
JOIN conversations_conversation AS later ON {IS_REPEAT_CONTACT}
 ORDER BY 1, 2
"""  # noqa: S608  # of constants


@pytest.fixture
def world() -> World:
    return make_world()


def repeat_pairs(world: World) -> list[tuple[int, int]]:
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute(PAIRS)
        return list(cursor.fetchall())


def make_resolved_conversation(world: World, thread: str = "first", **options: Any) -> Conversation:
    """A conversation that was resolved."""
    return resolve_conversation(
        send_customer_message(world, thread, thread=thread, **options).conversation, actor=world.operator
    )


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get()


def make_neighbour_world(world: World) -> World:
    sales = create_agent("sales", "Sales", actor=world.admin)
    bot = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    return World(**{**vars(world), "agent": sales, "bot": bot})


def test_the_same_customer_comes_back_in_another_thread_and_to_another_agent(world: World) -> None:
    first = make_resolved_conversation(world)
    again = make_resolved_conversation(world, "second")
    third = send_customer_message(make_neighbour_world(world), "And you?", thread="third").conversation
    assert repeat_pairs(world) == [(first.pk, again.pk), (first.pk, third.pk), (again.pk, third.pk)]
    with acting_as(world.system):
        log_lines = read_session_log(world.agent.pk, actor=world.system)
    assert ["came back" in line.text for line in log_lines] == [True, False]


def test_another_customer_and_one_without_a_name_come_back_in_their_own_thread_alone(world: World) -> None:
    make_resolved_conversation(world)
    nameless = make_resolved_conversation(world, "nameless", customer="")
    send_customer_message(world, "I am new", thread="other", customer="http:other")
    send_customer_message(world, "Who am I?", thread="nobody", customer="")
    assert repeat_pairs(world) == []
    sequel = send_customer_message(world, "Me again", thread="nameless", customer="").conversation
    assert repeat_pairs(world) == [(nameless.pk, sequel.pk)]


def test_the_same_id_on_another_channel_is_somebody_else(world: World) -> None:
    # R009
    make_resolved_conversation(world)
    send_customer_message(world, "Hello", thread="sms", customer=CUSTOMER.replace("http", "sms"), channel="sms")
    assert repeat_pairs(world) == []


def test_who_wrote_before_the_end_does_not_come_back(world: World) -> None:
    beside = send_customer_message(world, "Beside", thread="beside").conversation
    first = make_resolved_conversation(world)
    assert repeat_pairs(world) == []
    again = send_customer_message(world, "Again", thread="again").conversation
    assert repeat_pairs(world) == [(first.pk, again.pk)]
    abandon_conversation(beside, actor=world.operator)
    later = send_customer_message(world, "Still there?", thread="later").conversation
    assert repeat_pairs(world) == [(beside.pk, later.pk), (first.pk, again.pk), (first.pk, later.pk)]


def test_where_the_tenant_wants_proofs_only_proven_customers_come_back(world: World) -> None:
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=True)
    rotate_proof_key(settings_of(world), actor=world.admin, key=KEY)
    signed = {"user_hash": signature_of(KEY, CUSTOMER)}
    claimed, proven = (
        make_resolved_conversation(world, "claimed"),
        make_resolved_conversation(world, "proven", **signed),
    )
    send_customer_message(world, "I say so", thread="unsigned")
    assert repeat_pairs(world) == []
    again = send_customer_message(world, "Signed", thread="signed", **signed).conversation
    assert repeat_pairs(world) == [(proven.pk, again.pk)]
    assert claimed.pk != proven.pk


def test_what_is_off_the_record_is_no_return(world: World) -> None:
    # R178
    private = make_resolved_conversation(world, "private", off_the_record=True)
    first = make_resolved_conversation(world)
    send_customer_message(world, "Between us", thread="later", off_the_record=True)
    again = send_customer_message(world, "Once more", thread="again").conversation
    assert repeat_pairs(world) == [(first.pk, again.pk)]
    assert private.off_the_record
