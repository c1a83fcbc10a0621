"""Whose message it is: a claim until the tenant's server signed it. And how many of them are taken."""

import re
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.conversations.actions import receive_message, resolve_conversation
from apps.conversations.admission_control import CustomerProof, prove_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, TooManyRequests
from apps.memory.models import CustomerProfile
from apps.runtime.models import Turn
from apps.runtime.turns.turn_events import ModelReplied
from apps.runtime.turns.turn_machine import start_turn
from apps.runtime.turns.turn_progress import AskModel
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import SealedSecret, TenantSettings
from apps.tenants.rules import signature_of
from tests.support.drivers.conversation import (
    CUSTOMER,
    calls,
    expire_lease,
    prompt,
    reply,
    run_turn,
    send_customer_message,
    sessions,
    tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_invokable, make_persona, make_profile, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]

KEY, OTHER = "a" * 40, "b" * 40
SIGNATURE = signature_of(KEY, CUSTOMER)
PROFILE_TEXT = "Prefers letters."


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get()


@pytest.fixture
def world() -> World:
    """A tenant that wants proofs, with a key for them and somebody who is known."""
    world = make_world()
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=True)
    rotate_proof_key(settings_of(world), actor=world.admin, key=KEY)
    make_persona(world)
    make_profile(world, CUSTOMER, preferences=PROFILE_TEXT)
    return world


def is_profile_in_prompt(world: World, standin: StandIn, text: str, **more: str) -> bool:
    """Whether the agent that answers was told what is known."""
    run_turn(world, send_customer_message(world, text, **more), standin.backend)
    return PROFILE_TEXT in prompt(standin.requests()[-1])


def test_a_profile_is_told_only_of_who_has_proven_to_be_the_customer(world: World, standin: StandIn) -> None:
    assert not is_profile_in_prompt(world, standin, "It is me", thread="claimed")
    assert is_profile_in_prompt(world, standin, "It is me, signed", thread="proven", user_hash=SIGNATURE)
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=False)
    assert is_profile_in_prompt(world, standin, "Believed", thread="believed")


def test_a_proof_in_the_middle_counts_from_the_next_session_on(world: World, standin: StandIn) -> None:
    assert not is_profile_in_prompt(world, standin, "Hello")
    assert not is_profile_in_prompt(world, standin, "Now signed", user_hash=SIGNATURE)
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    assert is_profile_in_prompt(world, standin, "And later", user_hash=SIGNATURE)


def test_nobody_goes_on_unproven_where_the_customer_was_proven(world: World, standin: StandIn) -> None:
    first = send_customer_message(world, "It is me", user_hash=SIGNATURE)
    with pytest.raises(Invalid, match="with every message") as refusal:
        send_customer_message(world, "Me too")
    assert set(refusal.value.fields) == {"user_hash"}
    # The same message again is the same event, and needs no second look.
    assert send_customer_message(world, "It is me").pk == first.pk
    resolve_conversation(first.conversation, actor=world.bot)
    sequel = send_customer_message(world, "Hello again")
    assert (sequel.conversation.follows_id, sequel.conversation.is_proven) == (first.conversation_id, False)
    assert not is_profile_in_prompt(world, standin, "Who am I?")


def test_an_agent_notes_nothing_about_who_has_not_proven_to_be_the_customer(world: World, standin: StandIn) -> None:
    wish = tool("update_customer_profile", preferences="Send my parcels elsewhere.")
    for more, saved in ({}, False), ({"user_hash": SIGNATURE}, True):
        standin.play(wish, reply("Well."))
        turn = run_turn(
            world, send_customer_message(world, f"Note it {saved}", thread=f"{saved}", **more), standin.backend
        )
        assert ("Nobody has proven" not in calls(world, turn)[0]["result"]) is saved
        with acting_as(world.operator):
            [profile] = CustomerProfile.objects.visible_to(world.operator)
            assert ("elsewhere" in profile.preferences) is saved


def test_the_database_shows_and_takes_no_profile_of_who_is_not_proven(world: World) -> None:
    for is_proven, seen in (True, 1), (False, 0):
        with acting_as(world.bot.serving(CUSTOMER, is_proven=is_proven)):
            assert CustomerProfile.objects.count() == seen


@pytest.mark.parametrize(
    ("customer", "user_hash", "message"),
    [
        (CUSTOMER, signature_of(OTHER, CUSTOMER), "not the signature"),
        (CUSTOMER, signature_of(KEY, "http:somebody"), "not the signature"),
        ("", SIGNATURE, "Send the end_user_key"),
    ],
)
def test_a_wrong_signature_is_refused_and_nothing_arrives(
    world: World, customer: str, user_hash: str, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        send_customer_message(world, "It is me", customer=customer, user_hash=user_hash)
    with acting_as(world.operator):
        assert not Conversation.objects.visible_to(world.operator).exists()


def test_two_keys_hold_while_one_takes_the_others_place(world: World) -> None:
    rotate_proof_key(settings_of(world), actor=world.admin, key=OTHER)
    for at, key in enumerate((KEY, OTHER)):
        assert send_customer_message(
            world, f"{at}", thread=f"{at}", user_hash=signature_of(key, CUSTOMER)
        ).conversation.is_proven
    rotate_proof_key(settings_of(world), actor=world.admin, key="c" * 40, keep_former=False)
    for key in (KEY, OTHER):
        with pytest.raises(Invalid, match="not the signature"):
            send_customer_message(world, "Too late", thread="late", user_hash=signature_of(key, CUSTOMER))
    with acting_as(world.system):
        assert SealedSecret.objects.filter(tenant=world.tenant).count() == 1


def test_without_a_key_that_opens_nothing_is_proven(world: World, settings: Settings) -> None:
    for broken in ("too short", f"{KEY} "):
        with pytest.raises(Invalid, match="This is not a valid key"):
            rotate_proof_key(settings_of(world), actor=world.admin, key=broken)
    standing, settings.SEALING_KEYS = settings.SEALING_KEYS, ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    with pytest.raises(Invalid, match="has no key"):
        send_customer_message(world, "It is me", user_hash=SIGNATURE)
    settings.SEALING_KEYS = standing
    assert not rotate_proof_key(settings_of(world), actor=world.admin, key="").has_proof_key
    with pytest.raises(Invalid, match="has no key"):
        send_customer_message(world, "It is me", user_hash=SIGNATURE)


def test_a_conversation_is_proven_once_and_only_where_it_names_somebody(world: World) -> None:
    nobody = send_customer_message(world, "Hello", customer="", thread="nobody").conversation
    with pytest.raises(Conflict, match="names no customer"):
        prove_conversation(nobody, actor=world.system, proof=CustomerProof(1))
    proven = send_customer_message(world, "It is me", user_hash=SIGNATURE).conversation
    with pytest.raises(Conflict, match="verified already"):
        prove_conversation(proven, actor=world.system, proof=CustomerProof(1))
    for change in (
        "proven_key_id = proven_key_id + 1",
        "proven_at = NULL, proven_key_id = NULL",
        "end_user_key = 'http:other'",
    ):
        error_text = "permission denied" if "other" in change else "cannot be changed"
        with pytest.raises(DatabaseError, match=error_text), transaction.atomic(), acting_as(world.system):
            Conversation.objects.raw(
                f"UPDATE conversations_conversation SET {change} WHERE id = %s RETURNING id",  # noqa: S608  # of constants
                [proven.pk],
            )[0]


@pytest.mark.parametrize(("named", "limits"), [("a minute", (2, 9)), ("24 hours", (9, 2))])
def test_a_customer_sends_so_many_messages_and_no_more(world: World, named: str, limits: tuple[int, int]) -> None:
    minute, day = limits
    amend_settings(settings_of(world), actor=world.admin, messages_per_minute=minute, messages_per_day=day)
    for at in range(2):
        send_customer_message(world, f"{at}", thread=f"{at}")
    with pytest.raises(TooManyRequests, match=f"2 messages within {named}") as refusal:
        send_customer_message(world, "Too much", thread="another")
    assert 0 < refusal.value.wait <= (60 if minute == 2 else 86_400)
    # What was taken before is answered again; neither others nor people are held back.
    send_customer_message(world, "1", thread="1")
    send_customer_message(world, "I am somebody else", customer="http:bob", thread="bob")
    for _ in range(2):
        make_event(world, end_user_key="", conversation_key="nobody")
    with pytest.raises(TooManyRequests):
        make_event(world, end_user_key="", conversation_key="nobody")
    make_event(world, end_user_key="", conversation_key="nobody else")


def test_a_colleague_writes_to_an_agent_as_often_as_it_takes(world: World) -> None:
    amend_settings(settings_of(world), actor=world.admin, messages_per_minute=1)
    for text in ("Mind the parcel.", "And the letter."):
        receive_message(
            world.agent.pk,
            actor=world.operator,
            channel="http",
            conversation_key="thread",
            end_user_key=CUSTOMER,
            text=text,
            idempotency_key=text,
        )
    send_customer_message(world, "Hello")
    with pytest.raises(TooManyRequests):
        send_customer_message(world, "Hello?")


def test_a_session_that_told_of_somebody_is_over_once_the_tenant_wants_a_proof(world: World, standin: StandIn) -> None:
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=False)
    assert is_profile_in_prompt(world, standin, "Believed")
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=True)
    assert not is_profile_in_prompt(world, standin, "Believed no more")
    assert not is_profile_in_prompt(world, standin, "Nor now")
    # The one session that knows nobody goes on.
    conversation = send_customer_message(world, "Signed", user_hash=SIGNATURE).conversation
    assert len(sessions(world, conversation)) == 2


def test_a_turn_that_is_resumed_leaves_the_session_that_told_of_somebody_too(world: World, standin: StandIn) -> None:
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=False)
    event = send_customer_message(world, "Believed")
    standin.play(tool("list_skills"), reply("Well."))
    machine = start_turn(world.tenant.pk, event.conversation_id)
    assert machine is not None
    assert isinstance(machine.effect, AskModel)
    machine.advance(ModelReplied(standin.backend.complete(machine.effect.request)))
    assert PROFILE_TEXT in prompt(standin.requests()[-1])
    amend_settings(settings_of(world), actor=world.admin, is_customer_proof_required=True)
    expire_lease(world, machine.turn)
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.attempts) == (Turn.Status.DONE, 2)
    assert PROFILE_TEXT not in prompt(standin.requests()[-1])
    assert turn.session == sessions(world, event.conversation_id)[-1]


def test_what_came_in_before_the_proof_is_answered_unproven_with_all_that_came_along(
    world: World, standin: StandIn
) -> None:
    make_invokable(world)
    send_customer_message(world, "Read my profile to me.")
    proven = send_customer_message(world, "It is me", user_hash=SIGNATURE)
    wish = tool("update_customer_profile", preferences="Send my parcels elsewhere.")
    standin.play(wish, tool("delegate", agent_key="billing", task="Who is it?"), reply("Well."))
    turn = run_turn(world, proven, standin.backend)
    noted, asked = calls(world, turn)
    assert "Nobody has proven" in noted["result"]
    assert not asked["is_error"], asked
    assert PROFILE_TEXT not in prompt(standin.requests()[-1])
    with acting_as(world.system):
        assert not Conversation.objects.get(parent=proven.conversation_id).is_proven
        first, second = InboundEvent.objects.filter(conversation=proven.conversation_id).order_by("pk")
        assert first.received_at < (proven.conversation.proven_at or first.received_at) <= second.received_at
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    assert is_profile_in_prompt(world, standin, "And later", user_hash=SIGNATURE)


def test_a_proof_is_later_than_all_before_it_by_whichever_clock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = timezone.now() + timedelta(seconds=5)
    with monkeypatch.context() as there:
        there.setattr(timezone, "now", lambda: fast)
        ahead = send_customer_message(world, "From a machine whose clock is ahead")
    conversation = send_customer_message(world, "It is me", user_hash=SIGNATURE).conversation
    assert conversation.proven_at == ahead.received_at + timedelta(microseconds=1)


def test_unverified_messages_do_not_count_against_the_verified_customer(world: World) -> None:
    amend_settings(settings_of(world), actor=world.admin, messages_per_minute=2)
    for at in range(2):
        send_customer_message(world, f"Not me {at}", thread="own")
    with pytest.raises(TooManyRequests):
        send_customer_message(world, "Not me", thread="other")
    # Not even in the thread that is proven afterwards.
    send_customer_message(world, "It is me", thread="own", user_hash=SIGNATURE)
    send_customer_message(world, "Me again", thread="second", user_hash=SIGNATURE)
    for thread in "own", "third":
        with pytest.raises(TooManyRequests):
            send_customer_message(world, "And again", thread=thread, user_hash=SIGNATURE)
    amend_settings(settings_of(world), actor=world.admin, messages_per_minute=3, is_customer_proof_required=False)
    # Where everybody is believed, what comes into a proven thread counts as theirs.
    send_customer_message(world, "Believed", thread="own")
    with pytest.raises(TooManyRequests):
        send_customer_message(world, "Believed too", thread="own")


def test_what_a_customer_sent_is_found_in_one_look_at_the_last_day(world: World) -> None:
    for at, more in enumerate(({}, {"user_hash": SIGNATURE})):
        with CaptureQueriesContext(connection) as sent:
            send_customer_message(world, f"{at}", thread=f"{at}", **more)
        [look] = [each["sql"] for each in sent if "ROW_NUMBER" in each["sql"]]
        with acting_as(world.system), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute(f"EXPLAIN {look}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert re.search(r"customer_message_by_time.*\n *Index Cond: .*received_at >", plan), plan
