"""Reports by REST: people list, make, withdraw and settle them; an agent's token reaches none."""

from apps.desk.reports.rules import EXPLANATION_CHARACTERS
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.reports import CORRECTION, EXPLANATION, make_reply, make_report, make_report_of
from tests.support.worlds.world import World, make_event


def test_without_reports_the_list_is_empty(world: World, operator: RestClient) -> None:
    assert operator.get("reports/").body["results"] == []


def test_a_reply_is_reported_and_the_report_settled(world: World, operator: RestClient) -> None:
    reply = make_reply(world)
    sent = {"message_id": reply.pk, "reason_code": "wrong_fact", "explanation": EXPLANATION, "correction": CORRECTION}
    made = operator.post("reports/", sent)
    assert (made.status, made.body["status"], made.body["author"]) == (201, "open", world.operator.label)
    assert (made.body["message_id"], made.body["conversation_id"]) == (reply.pk, reply.conversation_id)
    assert (made.body["turn_id"], made.body["agent_key"]) == (reply.turn_id, world.agent.key)
    address = f"reports/{made.body['id']}/"
    assert operator.get(address).body["correction"] == CORRECTION
    assert operator.post(f"{address}resolve/", {"outcome": "skill", "version": 9}).code == "stale"
    settled = operator.post(f"{address}resolve/", {"outcome": "skill", "resolution": "Corrected.", "version": 1})
    assert (settled.status, settled.body["status"], settled.body["outcome"]) == (200, "resolved", "skill")
    assert settled.body["decided_by"] == world.operator.label
    assert operator.post(f"{address}withdraw/", {}).code == "illegal_transition"
    assert operator.patch(address, {"explanation": "Otherwise."}).status == 405


def test_a_withdrawn_report_says_nothing_any_more(world: World, operator: RestClient) -> None:
    gone = operator.post(f"reports/{make_report(world).pk}/withdraw/", {"reason": "I read it wrongly."})
    assert (gone.status, gone.body["status"]) == (200, "withdrawn")
    assert (gone.body["explanation"], gone.body["correction"]) == ("", "")


def test_bad_input_names_its_field(world: World, operator: RestClient) -> None:
    reply = make_reply(world)
    unknown = operator.post("reports/", {"message_id": reply.pk + 999, "reason_code": "wrong_tone"})
    assert (unknown.code, list(unknown.body["errors"])) == ("invalid", ["message_id"])
    for sent, field in (
        ({"reason_code": "invented"}, "reason_code"),
        ({"reason_code": "other"}, "explanation"),
        ({"reason_code": "wrong_tone", "explanation": "x" * (EXPLANATION_CHARACTERS + 1)}, "explanation"),
    ):
        refused = operator.post("reports/", {"message_id": reply.pk, **sent})
        assert (refused.code, list(refused.body["errors"])) == ("invalid", [field])
    assert operator.post(f"reports/{make_report(world).pk}/resolve/", {"outcome": "invented"}).code == "invalid"


def test_what_is_not_reported_is_refused_in_words(world: World, operator: RestClient) -> None:
    # R178
    quiet = make_reply(world, conversation=make_event(world, "Quietly.", off_the_record=True).conversation)
    refused = operator.post("reports/", {"message_id": quiet.pk, "reason_code": "wrong_tone"})
    assert (refused.status, refused.code) == (409, "conflict")
    assert "off the record" in refused.body["detail"]
    report = make_report(world)
    twice = operator.post("reports/", {"message_id": report.message_id, "reason_code": "wrong_tone"})
    assert (twice.status, twice.code) == (409, "conflict")


def test_the_same_key_reports_once(world: World, operator: RestClient) -> None:
    sent = {"message_id": make_reply(world).pk, "reason_code": "wrong_tone"}
    first, again = (operator.post("reports/", sent, Idempotency_Key="r-1") for _ in range(2))
    assert (first.status, again.status, again.body["id"]) == (201, 201, first.body["id"])


def test_a_report_has_a_tag_and_a_decision_may_be_bound_to_it(world: World, operator: RestClient) -> None:
    address = f"reports/{make_report(world).pk}/"
    tag = operator.get(address).headers["ETag"]
    assert operator.get(address, If_None_Match=tag).status == 304
    stale = operator.post(f"{address}resolve/", {"outcome": "skill"}, If_Match='"none"')
    assert stale.status == 412
    assert operator.post(f"{address}resolve/", {"outcome": "skill"}, If_Match=tag).status == 200


def test_reports_are_found_by_what_they_are_about(world: World, operator: RestClient) -> None:
    report = make_report_of(world, explanation="Zanzibar is not served.")
    for query, count in (
        (f"conversation_id={report.conversation_id}", 1),
        (f"message_id={report.message_id}", 1),
        (f"message_id={report.message_id + 1}", 0),
        (f"agent_key={world.agent.key}", 1),
        ("status=resolved", 0),
        ("reason_code=wrong_fact", 1),
        ("outcome=skill", 0),
        ("search=zanzibar", 1),
    ):
        assert len(operator.get(f"reports/?{query}").body["results"]) == count, query


def test_an_agents_token_reaches_no_report(world: World, bot: RestClient) -> None:
    report = make_report(world)
    for answer in (
        bot.get("reports/"),
        bot.get(f"reports/{report.pk}/"),
        bot.post("reports/", {"message_id": report.message_id, "reason_code": "wrong_tone"}),
        bot.post(f"reports/{report.pk}/withdraw/", {}),
        bot.post(f"reports/{report.pk}/resolve/", {"outcome": "nothing_wrong"}),
    ):
        assert answer.code == "not_permitted"
