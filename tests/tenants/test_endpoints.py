"""Endpoints of a tenant's own: keys that never come out, addresses that lead nowhere inside, prices that hold."""

import json
from datetime import timedelta
from ipaddress import ip_network
from itertools import count

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.governance.models import ChangeRecord
from apps.runtime.endpoint_check import try_endpoint
from apps.runtime.models import Turn
from apps.runtime.turn_store.claimed_endpoint import ModelEndpoint
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.worker.model_backends import turn_backend_at
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tenants.endpoints.actions import (
    amend_endpoint,
    remove_endpoint,
    rotate_endpoint_key,
    set_price,
    withdraw_price,
)
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint, SealedEndpoint
from apps.tenants.models import Endpoint, SealedSecret
from apps.tenants.sealed_secrets import CannotOpen, seal, unseal
from tests.support.drivers.conversation import fault, lines, reply, send_customer_message, turn_of
from tests.support.factories.endpoints import RATES, SINCE, make_endpoint, make_price
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

_threads = count()
LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "sk-very-secret-0815"  # of nothing


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def loopback(settings: Settings) -> None:
    settings.REACHABLE_NETWORKS = LOOPBACK


def sealed_secrets(world: World) -> list[str]:
    with acting_as(world.system):
        return list(SealedSecret.objects.values_list("ciphertext", flat=True))


def audit_text(world: World) -> str:
    """All that the tenant's books say."""
    with acting_as(world.operator):
        records = ChangeRecord.objects.select_related("text")
        return json.dumps([[each.subject_label, each.text.before, each.text.after] for each in records])


def test_a_key_is_stored_encrypted_and_stands_in_no_record(world: World) -> None:
    endpoint = make_endpoint(world, api_key=SECRET)
    [sealed] = sealed_secrets(world)
    assert SECRET not in sealed
    assert unseal(sealed, world.tenant.pk) == SECRET
    assert SECRET not in audit_text(world)
    assert sealed not in audit_text(world)
    assert endpoint.has_key


def test_a_key_rotation_is_recorded_and_the_old_key_is_gone(world: World) -> None:
    endpoint = make_endpoint(world, api_key="sk-old")
    before = endpoint.secret_id
    rotate_endpoint_key(endpoint, actor=world.admin, api_key=SECRET, read_at=endpoint.version)
    with acting_as(world.operator):
        record = ChangeRecord.objects.select_related("text").get(act="endpoint.rotate_key")
    assert (record.text.before["secret_id"], record.text.after["secret_id"]) == (before, endpoint.secret_id)
    [sealed] = sealed_secrets(world)
    assert unseal(sealed, world.tenant.pk) == SECRET
    rotate_endpoint_key(endpoint, actor=world.admin, api_key="")
    assert sealed_secrets(world) == []
    assert endpoint.secret_id is None


def test_a_key_does_not_follow_to_another_server(world: World) -> None:
    endpoint = make_endpoint(world, "https://models.example", SECRET)
    amend_endpoint(endpoint, actor=world.admin, title="Ours", base_url="https://models.example:443/v2")
    assert endpoint.secret_id is not None
    amend_endpoint(endpoint, actor=world.admin, base_url="https://other.example")
    assert sealed_secrets(world) == []


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "http://169.254.169.254/latest", "ftp://models.example", "http://0x7f.1"]
)
def test_an_address_that_leads_inside_is_refused(world: World, url: str) -> None:
    with pytest.raises(Invalid, match="address"):
        make_endpoint(world, url)
    with acting_as(world.operator):
        assert not Endpoint.objects.visible_to(world.operator).exists()
    assert sealed_secrets(world) == []


@pytest.mark.parametrize("key", ["two words", "k" * 501, "schlüssel", "a\nb"])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(world: World, key: str) -> None:
    with pytest.raises(Invalid, match="not a valid key") as refusal:
        make_endpoint(world, api_key=key)
    assert key not in str(refusal.value)


def test_without_sealing_keys_no_key_is_kept(world: World, settings: Settings) -> None:
    endpoint = make_endpoint(world, api_key="")
    settings.SEALING_KEYS = []
    with pytest.raises(Conflict, match="SEALING_KEYS is not set"):
        rotate_endpoint_key(endpoint, actor=world.admin, api_key=SECRET)
    settings.SEALING_KEYS = ["short"]
    with pytest.raises(Conflict, match="32 random bytes"):
        rotate_endpoint_key(endpoint, actor=world.admin, api_key=SECRET)


def test_people_lay_keys_down_and_only_workers_read_them(world: World) -> None:
    make_endpoint(world)
    for actor, table in ((world.operator, "tenants_sealedsecret"), (world.bot, "tenants_endpoint")):
        with pytest.raises(Exception, match="permission denied"), acting_as(actor), connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608  # names beside it
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute("SELECT count(id) FROM tenants_sealedsecret")
        assert cursor.fetchone() == (1,)


def test_what_was_sealed_for_another_tenant_opens_nothing(world: World) -> None:
    sealed = seal(SECRET, world.tenant.pk)
    with pytest.raises(CannotOpen, match="another owner"):
        unseal(sealed, world.tenant.pk + 1)


def test_keys_are_encrypted_anew_by_a_command_so_that_an_old_one_can_go(world: World, settings: Settings) -> None:
    make_endpoint(world, api_key=SECRET)
    old, new = settings.SEALING_KEYS[0], Fernet.generate_key().decode()
    settings.SEALING_KEYS = [new, old]
    call_command("reseal_secrets", "--tenant", world.tenant.key)
    settings.SEALING_KEYS = [new]
    [sealed] = sealed_secrets(world)
    assert unseal(sealed, world.tenant.pk) == SECRET
    settings.SEALING_KEYS = [old]
    with pytest.raises(CannotOpen):
        unseal(sealed, world.tenant.pk)
    with pytest.raises(CommandError, match="None of SEALING_KEYS decrypts"):
        call_command("reseal_secrets", "--tenant", world.tenant.key)
    settings.SEALING_KEYS = []
    with pytest.raises(CommandError, match="SEALING_KEYS is not set"):
        call_command("reseal_secrets", "--tenant", world.tenant.key)


def run_endpoint_turn(world: World, standin: StandIn) -> Turn:
    event = send_customer_message(world, "Hello")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, places=turn_backend_at)
    return turn_of(world, event)


@pytest.mark.usefixtures("loopback")
def test_an_agent_thinks_at_the_endpoint_that_is_chosen_for_it(world: World, standin: StandIn) -> None:  # R131
    amend_agent(world.agent, actor=world.admin, endpoint=make_endpoint(world, standin.url, SECRET))
    standin.play(reply("From your own house."))
    turn = run_endpoint_turn(world, standin)
    assert lines(world, turn.conversation_id)[-1] == ("agent", "From your own house.")


def test_a_turn_waits_where_its_endpoint_may_not_be_reached(world: World, standin: StandIn, settings: Settings) -> None:
    settings.REACHABLE_NETWORKS = LOOPBACK
    endpoint = make_endpoint(world, standin.url, SECRET)
    amend_agent(world.agent, actor=world.admin, endpoint=endpoint)
    settings.REACHABLE_NETWORKS = ()
    turn = run_endpoint_turn(world, standin)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "endpoint_refused")
    assert standin.requests() == []


@pytest.mark.usefixtures("loopback")
def test_a_turn_waits_where_its_key_cannot_be_opened(world: World, standin: StandIn, settings: Settings) -> None:
    amend_agent(world.agent, actor=world.admin, endpoint=make_endpoint(world, standin.url, SECRET))
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    turn = run_endpoint_turn(world, standin)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "not_authorised")
    assert "SEALING_KEYS" in turn.failure


def test_who_drives_a_turn_without_other_endpoints_does_not_ask_the_installations(
    world: World, standin: StandIn
) -> None:
    amend_agent(world.agent, actor=world.admin, endpoint=make_endpoint(world))
    event = send_customer_message(world, "Hello")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert turn_of(world, event).failure_code == "not_authorised"
    assert standin.requests() == []


def test_no_key_is_in_what_a_turn_shows_of_itself() -> None:
    assert SECRET not in repr(OpenedEndpoint(1, "https://models.example", SECRET))
    sealed = seal(SECRET, 1)
    assert sealed not in repr(ModelEndpoint(1, SealedEndpoint(1, "x", sealed)))


@pytest.mark.usefixtures("loopback")
def test_a_try_says_what_came_back(world: World, standin: StandIn) -> None:
    endpoint = make_endpoint(world, standin.url, SECRET)
    standin.play(reply("Yes."), fault("overloaded"))
    tried = try_endpoint(endpoint.pk, actor=world.admin, model="house-1")
    assert tried.is_ok
    assert "house-1 answered in" in tried.detail
    refused = try_endpoint(endpoint.pk, actor=world.admin)
    assert (refused.is_ok, refused.code) == (False, "overloaded")
    nowhere = make_endpoint(world, "http://127.0.0.1:9")
    assert try_endpoint(nowhere.pk, actor=world.admin).code == "connection_lost"


def test_an_endpoint_goes_with_its_key_once_no_agent_thinks_there(world: World) -> None:
    endpoint = make_endpoint(world, api_key=SECRET)
    amend_agent(world.agent, actor=world.admin, endpoint=endpoint)
    with pytest.raises(Conflict, match=f"among them {world.agent.key}"):
        remove_endpoint(endpoint, actor=world.admin)
    assert len(sealed_secrets(world)) == 1
    amend_agent(world.agent, actor=world.admin, endpoint=None)
    remove_endpoint(endpoint, actor=world.admin, reason="The contract has ended.")
    assert sealed_secrets(world) == []
    with acting_as(world.admin):
        assert not Endpoint.objects.visible_to(world.admin).exists()


def test_a_tenants_own_price_is_what_its_calls_cost(world: World, standin: StandIn) -> None:  # R131, R166
    make_price(world, "claude-*", input_micro_usd=9_000_000)
    column = claimed_terms(world)
    assert column.rates["claude-*"].input == 9
    price = set_price("claude-*", timezone.now() + timedelta(days=1), RATES, actor=world.admin)
    assert claimed_terms(world).rates["claude-*"].input == 9
    withdraw_price(price, actor=world.admin)
    later = set_price("claude-*", timezone.now() - timedelta(days=1), RATES, actor=world.admin)
    assert claimed_terms(world).rates["claude-*"].input == 1
    withdraw_price(later, actor=world.admin)
    assert claimed_terms(world).rates["claude-*"].input == 9


def claimed_terms(world: World) -> ModelEndpoint:
    event = send_customer_message(world, "Hello", thread=f"thread-{next(_threads)}", key=f"{next(_threads)}")
    claimed = claim_turn(event.conversation_id, actor=world.system)
    assert claimed is not None
    return claimed.terms


def test_a_model_has_one_price_from_a_moment_on(world: World) -> None:
    make_price(world, "house-1")
    with pytest.raises(Conflict, match="Withdraw it first"):
        make_price(world, "house-1")
    with pytest.raises(Invalid):
        set_price("no model *", SINCE, RATES, actor=world.admin)
    with pytest.raises(Invalid):
        set_price("house-2", SINCE, RATES | {"input_micro_usd": -1}, actor=world.admin)
