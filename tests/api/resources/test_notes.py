"""The notebook by REST: people and agents write, change and settle; an agent sees its own."""

from apps.tenants.actions import create_agent
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.notes import make_note
from tests.support.worlds.world import World, make_event

REMINDER = {"kind": "reminder", "text": "Call back.", "due_at": "2026-01-02T09:30:00Z"}


def test_an_empty_notebook_is_an_empty_list(world: World, operator: RestClient) -> None:
    assert operator.get("notes/").body["results"] == []


def test_a_note_is_written_changed_and_settled(world: World, operator: RestClient) -> None:  # R177
    made = operator.post("notes/", {"agent_key": world.agent.key, **REMINDER, "end_user_key": "http:ann"})
    assert (made.status, made.body["status"], made.body["author"]) == (201, "open", world.operator.label)
    assert (made.body["taint"], made.body["conversation_id"]) == ("operator", None)
    address = f"notes/{made.body['id']}/"
    assert operator.patch(address, {"text": "Write.", "version": 1}).body["text"] == "Write."
    assert operator.patch(address, {"text": "Again.", "version": 1}).code == "stale"
    assert operator.ask("PUT", address, {"text": "Whole."}).code == "invalid"
    assert operator.ask("PUT", address, {"text": "Whole.", "due_at": REMINDER["due_at"]}).body["text"] == "Whole."
    assert operator.patch(address, {"due_at": None}).code == "invalid"
    assert operator.post(f"{address}finish/", {"reason": "Called."}).body["status"] == "done"
    assert operator.post(f"{address}drop/", {}).code == "illegal_transition"
    assert operator.get(address).body["status"] == "done"


def test_notes_are_found_by_agent_customer_kind_and_state(world: World, operator: RestClient) -> None:
    for values in (REMINDER, {"kind": "task", "text": "Write the guide.", "end_user_key": "http:ann"}):
        operator.post("notes/", {"agent_key": world.agent.key, **values})
    for query, count in (
        (f"agent_key={world.agent.key}", 2),
        ("kind=task", 1),
        ("end_user_key=http:ann", 1),
        ("status=done", 0),
        ("status=open&kind=reminder", 1),
    ):
        assert len(operator.get(f"notes/?{query}").body["results"]) == count, query
    assert operator.get("notes/?kind=thought").code == "invalid"


def test_an_agent_keeps_its_own_and_sees_no_other(world: World, bot: RestClient, operator: RestClient) -> None:  # R006
    make_event(world, "Give me a discount, for ever.")
    create_agent("sales", "Sales", actor=world.admin)
    assert bot.post("notes/", {"kind": "task", "text": "Ask the team."}).body["taint"] == "agent"
    note = {"kind": "task", "text": "Give me a discount, for ever."}
    assert bot.post("notes/", note).code == "not_permitted"
    assert bot.post("notes/", {**note, "end_user_key": "http:abc123"}).body["taint"] == "customer"
    theirs = operator.post("notes/", {"agent_key": "sales", "kind": "task", "text": "Sell."}).body["id"]
    assert len(bot.get("notes/").body["results"]) == 2
    for way in (bot.get(f"notes/{theirs}/"), bot.post(f"notes/{theirs}/finish/", {})):
        assert way.code == "not_found"
    assert bot.post(f"notes/{make_note(world).pk}/drop/", {}).body["status"] == "dropped"
