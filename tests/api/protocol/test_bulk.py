"""Many writes in one request: each by its own act and commit, with its own answer, and none in the way of another."""

from typing import Any

import pytest

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.bulk import MAX_BULK_ITEMS
from apps.api.urls import router
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.notebook.models import Note
from apps.skills.models import Skill
from tests.support.drivers.rest_client import Answer, RestClient
from tests.support.factories.notes import make_note
from tests.support.factories.stale_proposals import CLASH, MERGED, make_stale
from tests.support.worlds.world import World, make_memory, make_profile, make_rule, make_skill, make_world

TASK = {"kind": "task", "text": "Call them back."}


def send_bulk(asker: RestClient, noun: str, *items: dict[str, Any], **headers: str) -> Answer:
    return asker.post(f"{noun}/bulk/", {"items": list(items)}, **headers)


def result_statuses(answer: Answer) -> list[int]:
    assert answer.status == 207, answer.body
    return [result["status"] for result in answer.body["results"]]


def test_each_item_is_done_by_itself_and_says_what_became_of_it(world: World, operator: RestClient) -> None:
    first, second, gone = make_note(world), make_note(world), 999_999
    answer = send_bulk(
        operator,
        "notes",
        {"action": "create", "body": {**TASK, "agent_key": "support", "author": "me"}},
        {"action": "update", "id": first.pk, "body": {"text": "Write to them.", "version": 7}},
        {"action": "update", "id": first.pk, "body": {"text": "Write to them.", "version": 1}},
        {"action": "finish", "id": second.pk, "body": {"reason": "Done."}},
        {"action": "drop", "id": gone},
        {"action": "update", "id": first.pk, "body": {"words": "x"}},
        {"action": "finish", "id": second.pk},
    )
    assert result_statuses(answer) == [201, 409, 200, 200, 404, 400, 400]
    assert (answer.body["done"], answer.body["refused"]) == (3, 4)
    made, stale, changed, *_ = results = answer.body["results"]
    assert (made["row"]["status"], made["ignored_fields"], made["problem"]) == ("open", ["author"], None)
    assert (stale["row"], stale["problem"]["code"], stale["problem"]["current_version"]) == (None, "stale", 1)
    assert (changed["row"]["text"], changed["row"]["version"]) == ("Write to them.", 2)
    assert [result["position"] for result in results] == list(range(7))
    assert results[5]["problem"]["errors"].keys() == {"words"}
    with acting_as(world.operator):
        acts = ChangeRecord.objects.filter(act__startswith="note.").order_by("id").values_list("act", flat=True)[2:]
        assert list(acts) == ["note.write", "note.amend", "note.finish"]


def test_an_item_meets_the_condition_it_came_with(world: World, operator: RestClient) -> None:
    note = make_note(world)
    tag = operator.get(f"notes/{note.pk}/").headers["ETag"]
    change = {"action": "update", "id": note.pk, "body": {"text": "Write to them."}, "if_match": tag}
    assert result_statuses(send_bulk(operator, "notes", change, change)) == [200, 412]


def test_a_key_finishes_what_was_not_done_and_does_nothing_twice(world: World, bot: RestClient) -> None:
    items = [{"action": "create", "body": TASK}, {"action": "create", "body": {"kind": "reminder", "text": "When?"}}]
    first = send_bulk(bot, "notes", *items, Idempotency_Key="k1")
    assert result_statuses(first) == [201, 400]
    items[1]["body"] = {"kind": "reminder", "text": "Then.", "due_at": "2030-01-01T00:00:00Z"}
    second = send_bulk(bot, "notes", *items, Idempotency_Key="k1")
    assert result_statuses(second) == [201, 201]
    assert second.body["results"][0]["row"] == first.body["results"][0]["row"]
    assert result_statuses(
        send_bulk(bot, "notes", {"action": "create", "body": {**TASK, "text": "x"}}, Idempotency_Key="k1")
    ) == [422]
    with acting_as(world.operator):
        assert Note.objects.visible_to(world.operator).count() == 2


def test_a_repeated_bulk_request_says_which_items_were_done_before(world: World, bot: RestClient) -> None:
    tasks = [{"action": "create", "body": {**TASK, "text": text}} for text in ("Call.", "Write.")]
    answers = [send_bulk(bot, "notes", *items, Idempotency_Key="k1") for items in (tasks[:1], tasks, tasks)]
    replayed = [[result["is_replayed"] for result in answer.body["results"]] for answer in answers]
    assert replayed == [[False], [True, False], [True, True]]
    # Only a response without anything new is one that was given before.
    assert ["Idempotent-Replayed" in answer.headers for answer in answers] == [False, False, True]
    assert answers[2].body["results"] == [{**result, "is_replayed": True} for result in answers[1].body["results"]]


def test_what_waits_for_a_person_says_where(world: World, bot: RestClient) -> None:
    skill = make_skill(world, "approved")
    answer = send_bulk(
        bot, "skills", {"action": "update", "id": skill.pk, "body": {"body": "## Procedure\nSay hello."}}
    )
    assert result_statuses(answer) == [202]
    [result] = answer.body["results"]
    [proposal] = bot.get("proposals/?kind=skill.revision").body["results"]
    assert (result["row"]["id"], result["location"]) == (skill.pk, f"/api/v1/proposals/{proposal['id']}")


def test_nobody_approves_a_skill_among_others(world: World, operator: RestClient) -> None:
    # R094: what the inbox decides by itself is decided by itself here too.
    skill, old = make_skill(world), make_skill(world, "approved", name="old")
    approving = {"to": "approved", "reviewed_sha256": skill.content_sha256}
    setting = {"status": "approved", "reviewed_sha256": skill.content_sha256}
    answer = send_bulk(
        operator,
        "skills",
        {"action": "transition", "id": skill.pk, "body": approving},
        {"action": "update", "id": skill.pk, "body": setting},
        {"action": "transition", "id": old.pk, "body": {"to": "deprecated"}},
    )
    assert result_statuses(answer) == [403, 403, 200]
    with acting_as(world.operator):
        assert Skill.objects.get(pk=skill.pk).status == Skill.Status.DRAFT


def test_proposals_are_decided_together_as_the_inbox_decides_them(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    rule, skill = make_rule(world), make_skill(world, "approved")
    bot.post("proposals/", {"kind": "rule.change", "target_id": rule.pk, "content": {"text": "Be brief."}})
    bot.patch(f"skills/{skill.pk}/", {"body": "## Procedure\nSay hello."})
    with acting_as(world.operator):
        open_ones = list(Proposal.objects.visible_to(world.operator).open().order_by("id"))
    items = [
        {"action": "approve", "id": each.pk, "body": {"reviewed_sha256": each.content_sha256}} for each in open_ones
    ]
    answer = send_bulk(
        operator, "proposals", *items, {"action": "reject", "id": 999_999, "body": {"reason_code": "wrong"}}
    )
    statuses = result_statuses(answer)
    assert statuses[-1] == 404
    for proposal, status in zip(open_ones, statuses, strict=False):
        # Exactly what is low is decided together.
        assert (status == 200) is (proposal.risk == "low"), proposal.kind


def test_proposals_of_every_risk_are_rejected_together_and_clean_ones_rebased(
    world: World, operator: RestClient
) -> None:
    elevated = make_stale(world, Proposal.Kind.RULE_CHANGE)
    clean = make_stale(world, Proposal.Kind.SKILL_REVISION)
    clash = make_stale(world, Proposal.Kind.SKILL_REVISION, CLASH)
    answer = send_bulk(
        operator,
        "proposals",
        {"action": "reject", "id": elevated.pk, "body": {"reason_code": "wrong"}},
        {"action": "rebase", "id": clean.pk, "body": {}},
        {"action": "rebase", "id": clean.pk, "body": {"merge": True}},
        {"action": "rebase", "id": clash.pk, "body": {"merge": True}},
    )
    assert elevated.risk == "elevated"
    assert result_statuses(answer) == [200, 400, 200, 409]
    assert operator.get(f"proposals/{clean.pk}/").body["edited_content"] == {"body": MERGED}


def test_a_request_that_cannot_be_read_does_nothing(world: World, operator: RestClient) -> None:
    note = make_note(world)
    done = {"action": "finish", "id": note.pk}
    for items, named in (
        ([], "items"),
        ([done] * (MAX_BULK_ITEMS + 1), "items"),
        ([done, {"action": "delete", "id": note.pk}], "items.1.action"),
        ([done, {"action": "create", "id": note.pk, "body": TASK}], "items.1.id"),
        ([done, {"action": "finish"}], "items.1.id"),
        ([done, "finish"], ""),
        ([done, {"action": "finish", "id": note.pk, "body": "x"}], ""),
    ):
        refused = operator.post("notes/bulk/", {"items": items})
        assert refused.status == 400, items
        assert not named or list(refused.body["errors"]) == [named]
    assert operator.get(f"notes/{note.pk}/").body["status"] == "open"


def test_another_tenants_rows_are_not_there(world: World, operator: RestClient) -> None:
    # R006
    other = make_world()
    items = [{"action": "update", "id": make_memory(other).pk, "body": {"body": "Mine."}}]
    assert result_statuses(send_bulk(operator, "memories", *items)) == [404]
    items = [{"action": "update", "id": make_profile(other).pk, "body": {"notes": "Mine."}}]
    assert result_statuses(send_bulk(operator, "profiles", *items)) == [404]


@pytest.mark.parametrize(
    ("prefix", "view"), [(prefix, view) for prefix, view, _ in router.registry if issubclass(view, RowViewSet)]
)
def test_whatever_is_offered_in_bulk_is_a_request_by_itself(prefix: str, view: type[RowViewSet[Any]]) -> None:
    del prefix
    actions: Any = view.get_extra_actions()
    plain = {"create": "create", "update": "partial_update", "delete": "destroy"}
    alone = {action.url_path for action in actions} | {name for name, of in plain.items() if hasattr(view, of)}
    assert set(view.in_bulk) <= alone
