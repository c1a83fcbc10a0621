"""A write sent twice under one key is done once and answered alike, whatever happens in between."""

from functools import partial
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.api.models import IdempotencyRecord
from apps.api.tasks import forget_answers, sweep_answers
from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.notebook.models import Note
from apps.tenants.due_work import due_work
from tests.desk.test_concurrent_sending import run_together
from tests.support.drivers.rest_client import Answer, RestClient, agent_client
from tests.support.factories.desk import make_taken_over_conversation, make_waiting_draft
from tests.support.factories.idempotency_keys import expire_idempotency_records, make_idempotency_records
from tests.support.worlds.world import World, make_conversation, make_skill, make_world

NOTE = {"kind": "task", "text": "Call them back."}


def notes(world: World) -> int:
    with acting_as(world.operator):
        return Note.objects.visible_to(world.operator).count()


def stored_records(world: World) -> list[IdempotencyRecord]:
    with acting_as(world.operator):
        return list(IdempotencyRecord.objects.all())


def create_note(asker: RestClient, key: str = "k1", **values: Any) -> Answer:
    return asker.post("notes/", NOTE | values, Idempotency_Key=key)


def test_a_write_sent_twice_is_done_once_and_answered_alike(world: World, bot: RestClient) -> None:
    first, second = create_note(bot), create_note(bot)
    assert (first.status, second.status, notes(world)) == (201, 201, 1)
    assert second.body == first.body
    assert second.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert create_note(bot, "k2").body["id"] != first.body["id"]
    assert notes(world) == 2


def test_a_key_does_not_go_with_another_request(world: World, bot: RestClient) -> None:
    note = create_note(bot).body["id"]
    for other in (
        create_note(bot, text="Something else."),
        bot.patch(f"notes/{note}/", NOTE, Idempotency_Key="k1"),
        bot.post("notes", NOTE | {"kind": "scratch"}, Idempotency_Key="k1"),
    ):
        assert (other.status, other.code) == (422, "key_reused")
    assert notes(world) == 1
    reordered = bot.post("notes", '{"text": "Call them back.",  "kind": "task"}', Idempotency_Key="k1")
    assert reordered.body["id"] == note


def test_a_key_belongs_to_its_sender(world: World, bot: RestClient, operator: RestClient, admin: RestClient) -> None:
    # R006
    create_note(bot)
    assert create_note(operator, agent_key="support").status == 201
    assert create_note(admin, agent_key="support").status == 201
    assert create_note(agent_client(make_world())).status == 201
    assert notes(world) == 3
    assert [answer.caller for answer in stored_records(world)] == [f"member:{world.operator_user.pk}"]


def test_what_was_refused_leaves_its_key_free(world: World, bot: RestClient) -> None:
    assert create_note(bot, kind="thought").status == 400
    assert create_note(bot, kind="reminder").status == 400
    assert create_note(bot).status == 201
    assert notes(world) == 1


@pytest.mark.parametrize("key", ["", "a" * 201, "tab\tbed", "Schlüssel"])
def test_a_key_that_is_none_is_refused(world: World, bot: RestClient, key: str) -> None:
    refused = create_note(bot, key)
    assert (refused.status, list(refused.body["errors"])) == (400, ["Idempotency-Key"])
    assert notes(world) == 0


def test_reading_takes_no_key(bot: RestClient) -> None:
    assert bot.get("notes/", Idempotency_Key="").status == 200


def test_a_write_that_waits_for_a_person_is_kept_with_where_it_waits(world: World, bot: RestClient) -> None:
    skill = make_skill(world, "approved")
    ask = partial(bot.patch, f"skills/{skill.pk}/", {"body": "## Procedure\nSay hello."}, Idempotency_Key="k1")
    first, second = ask(), ask()
    assert (first.status, second.status) == (202, 202)
    assert second.body == first.body


def test_a_row_that_is_gone_is_gone_once(world: World, bot: RestClient) -> None:
    skill = make_skill(world, actor=world.bot)
    ask = partial(bot.ask, "DELETE", f"skills/{skill.pk}/", None, Idempotency_Key="k1")
    assert [ask().status, ask().status] == [204, 204]
    assert bot.delete(f"skills/{skill.pk}/").status == 404


def test_words_of_conversations_are_not_kept(world: World, operator: RestClient) -> None:
    # What is off the record is forgotten; an answer kept for its key would outlive it.
    draft = make_waiting_draft(world, make_conversation(world, off_the_record=True), "A secret.")
    ask = partial(
        operator.post, f"drafts/{draft.pk}/send/", {"reviewed_sha256": draft.text_sha256}, Idempotency_Key="k1"
    )
    first, second = ask(), ask()
    assert (first.body["status"], second.body["status"]) == ("sent", "sent")
    assert second.headers["Idempotent-Replayed"] == "true"
    held = make_taken_over_conversation(world)
    length = operator.get(f"conversations/{held.pk}/").body["length"]
    message = {"text": "My own secret.", "seen_length": length}
    ask = partial(operator.post, f"conversations/{held.pk}/messages/", message, Idempotency_Key="k2")
    first, second = ask(), ask()
    assert (first.status, second.body) == (201, first.body)
    with acting_as(world.operator):
        assert Message.objects.filter(conversation=held, text="My own secret.").count() == 1
    assert [answer.body for answer in stored_records(world)] == ["", ""]


def test_a_file_sent_twice_is_attached_once_and_linked_anew(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    for text, status in ((b"Pay first.", 201), (b"Pay first.", 201), (b"Pay last.", 422)):
        file = SimpleUploadedFile("terms.txt", text)
        answer = operator.client.post(
            f"/api/v1/skills/{skill.pk}/attachments/", {"file": file}, headers={"Idempotency-Key": "k1"}
        )
        assert answer.status_code == status
        if status == 201:
            assert [file["name"] for file in answer.json()["attachments"]] == ["terms.txt"]


def test_a_write_of_several_transactions_leaves_its_key_free_where_it_was_refused(
    world: World, operator: RestClient
) -> None:
    skill = make_skill(world)
    for name, status in (("terms.exe", 400), ("terms.txt", 201)):
        answer = operator.client.post(
            f"/api/v1/skills/{skill.pk}/attachments/",
            {"file": SimpleUploadedFile(name, b"Pay first.")},
            headers={"Idempotency-Key": "k1"},
        )
        assert answer.status_code == status, answer.content


def test_a_write_of_several_transactions_says_while_it_is_being_answered(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    post = partial(operator.post, f"skills/{skill.pk}/retain/", {"reason": "Rare."}, Idempotency_Key="k1")
    approved = make_skill(world, "approved", name="other")
    address = f"skills/{approved.pk}/retain/"
    assert post().status == 409
    assert operator.post(address, {"reason": "Rare."}, Idempotency_Key="k1").status == 200
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute("UPDATE api_idempotencyrecord SET status = 0")
    waits = operator.post(address, {"reason": "Rare."}, Idempotency_Key="k1")
    assert (waits.status, waits.code) == (409, "key_in_flight")
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute("UPDATE api_idempotencyrecord SET claimed_at = statement_timestamp() - interval '1 hour'")
    assert operator.post(address, {"reason": "Rare."}, Idempotency_Key="k1").status == 200


def test_what_several_send_at_once_under_one_key_is_written_once(committing: str) -> None:
    world = make_world()
    asked: list[Answer] = []

    def send() -> None:
        asked.append(create_note(agent_client(world)))

    assert run_together([send] * 4) == [""] * 4
    assert {answer.status for answer in asked} == {201}
    assert len({answer.body["id"] for answer in asked}) == 1
    assert notes(world) == 1


def test_what_was_kept_long_enough_is_forgotten(world: World, bot: RestClient) -> None:
    make_idempotency_records(world)
    assert due_work("idempotency_records") == []
    expire_idempotency_records(world)
    assert due_work("idempotency_records") == [(world.tenant.pk, world.tenant.pk)]
    make_idempotency_records(world)
    assert (notes(world), due_work("idempotency_records")) == (4, [])
    expire_idempotency_records(world)
    forget_answers.run(world.tenant.pk)
    with acting_as(world.bot):
        assert not IdempotencyRecord.objects.exists()
    assert sweep_answers.run() is None


def test_a_key_costs_two_statements_and_a_replay_two_in_place_of_the_write(bot: RestClient) -> None:
    def statements(key: str | None) -> int:
        headers = {} if key is None else {"Idempotency_Key": key}
        with CaptureQueriesContext(connection) as captured:
            assert bot.post("notes/", NOTE, **headers).status == 201
        return len(captured)

    # The first of a process looks up what Django then knows.
    statements(None)
    plain, keyed, again = statements(None), statements("k1"), statements("k1")
    assert keyed == plain + 2
    assert again < plain
