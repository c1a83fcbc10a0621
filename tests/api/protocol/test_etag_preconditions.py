"""Tags of rows: who has a row already is not sent it, and who decides on what was read is not overtaken."""

from functools import partial

import pytest

from apps.api.protocol.etag_preconditions import IF_MATCH
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Stale
from apps.governance.models import Proposal
from apps.notebook.actions import amend_note
from apps.notebook.models import Note
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.desk import make_taken_over_conversation
from tests.support.factories.notes import make_note
from tests.support.worlds.world import World, make_profile, make_skill


def test_who_has_a_row_already_is_told_so_and_no_more(world: World, operator: RestClient) -> None:
    note = make_note(world)
    read = operator.get(f"notes/{note.pk}/")
    tag = read.headers["ETag"]
    assert tag.startswith('"1-')
    for had in (tag, f"W/{tag}", f'"other", {tag}', f' ,"a","b" ,\t{tag},', "*"):
        again = operator.get(f"notes/{note.pk}/", If_None_Match=had)
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag), had
    assert operator.get(f"notes/{note.pk}/", If_None_Match='"other", W/"1"').body == read.body
    operator.patch(f"notes/{note.pk}/", {"text": "Write to them."})
    changed = operator.get(f"notes/{note.pk}/", If_None_Match=tag)
    assert (changed.status, changed.body["version"]) == (200, 2)
    assert changed.headers["ETag"].startswith('"2-')


def test_a_write_is_answered_with_the_tag_that_a_reader_gets(world: World, operator: RestClient) -> None:
    note = make_note(world)
    written = operator.patch(f"notes/{note.pk}/", {"text": "Write to them.", "author": "me"})
    assert written.body["ignored_fields"] == ["author"]
    assert written.headers["ETag"] == operator.get(f"notes/{note.pk}/").headers["ETag"]


def test_a_tag_tells_of_what_a_row_shows_beside_its_version(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    skill = make_skill(world, "approved")
    tag = bot.get(f"skills/{skill.pk}/").headers["ETag"]
    assert bot.get(f"skills/{skill.pk}/", If_None_Match=tag).status == 304
    assert operator.get(f"skills/{skill.pk}/").body["use_count"] == 2
    held = make_taken_over_conversation(world)
    tag = operator.get(f"conversations/{held.pk}/").headers["ETag"]
    length = operator.get(f"conversations/{held.pk}/").body["length"]
    operator.post(f"conversations/{held.pk}/messages/", {"text": "I am here.", "seen_length": length})
    assert operator.get(f"conversations/{held.pk}/", If_None_Match=tag).status == 200


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_who_decided_on_another_version_is_told_which_stands_there(
    world: World, operator: RestClient, method: str
) -> None:
    profile = make_profile(world)
    address = f"profiles/{profile.pk}/"
    old = operator.get(address).headers["ETag"]
    operator.patch(address, {"notes": "Theirs."})
    mine = {"notes": "Mine.", "preferences": "Mine."}
    refused = operator.ask(method, address, mine, If_Match=old)
    assert (refused.status, refused.code, refused.body["current_version"]) == (412, "precondition_failed", 2)
    assert operator.get(address).body["notes"] == "Theirs."
    fresh = operator.get(address).headers["ETag"]
    assert operator.ask(method, address, mine, If_Match=f'"0-0", {fresh}').status == 200
    assert operator.ask(method, address, {**mine, "version": 1}).code == "stale"


def test_a_condition_holds_for_moves_and_removals_too(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    moved = {"to": "approved", "reviewed_sha256": skill.content_sha256}
    for ask in (
        partial(operator.post, f"skills/{skill.pk}/transition/", moved),
        partial(operator.ask, "DELETE", f"skills/{skill.pk}/", None),
        partial(operator.patch, f"skills/{skill.pk}/attachments/", {"names": []}),
    ):
        refused = ask(If_Match='"9"')
        assert (refused.status, refused.body["current_version"]) == (412, skill.version)
    tag = operator.get(f"skills/{skill.pk}/attachments/").headers["ETag"]
    assert operator.ask("DELETE", f"skills/{skill.pk}/", None, If_Match=tag).status == 204


def test_any_row_meets_a_star_and_no_weak_tag_is_strong_enough(world: World, operator: RestClient) -> None:
    note = make_note(world)
    address, tag = f"notes/{note.pk}/", f'"{note.version}"'
    assert operator.patch(address, {"text": "A."}, If_Match=f"W/{tag}").status == 412
    assert operator.patch(address, {"text": "A."}, If_Match="*").status == 200
    assert operator.patch(address, {"text": "B."}, If_None_Match="*").status == 412
    assert operator.patch(address, {"text": "B."}, If_None_Match='W/"2-0"').status == 412
    assert operator.patch(address, {"text": "B."}, If_None_Match='"1"').status == 200
    assert operator.patch("notes/999999/", {"text": "B."}, If_Match="*").status == 404


@pytest.mark.parametrize("header", ["", "3", '"a', '"a" "b"', "'3'", 'w/"3"', '*, "3"', '"a b"'])
def test_a_condition_that_cannot_be_read_is_refused(world: World, operator: RestClient, header: str) -> None:
    note = make_note(world)
    refused = operator.patch(f"notes/{note.pk}/", {"text": "A."}, If_Match=header)
    assert (refused.status, list(refused.body["errors"])) == (400, [IF_MATCH])


def test_a_row_without_versions_meets_no_tag(world: World, operator: RestClient) -> None:
    held = make_taken_over_conversation(world)
    member = operator.get("members/").body["results"][0]
    read = operator.get(f"members/{member['id']}/")
    assert read.status == 200
    assert operator.get(f"conversations/{held.pk}/", If_Match='"1"').status == 412


def test_a_proposal_is_tagged_with_all_that_a_reviewer_reads(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    skill = make_skill(world, "approved")
    bot.patch(f"skills/{skill.pk}/", {"body": "## Procedure\nSay hello."})
    with acting_as(world.operator):
        proposal = Proposal.objects.visible_to(world.operator).open().get()
    address = f"proposals/{proposal.pk}/"
    tag = operator.get(address).headers["ETag"]
    assert operator.get(address, If_None_Match=tag).status == 304
    operator.patch(f"skills/{skill.pk}/", {"body": "## Procedure\nSay good day."})
    # Its own version is the same; what it would change is not.
    assert operator.get(address, If_None_Match=tag).status == 200
    no = {"reason_code": "wrong"}
    assert operator.post(f"{address}reject/", no, If_Match='"7"').status == 412


def test_a_stale_write_is_refused_under_the_lock(world: World) -> None:
    made = make_note(world)
    with acting_as(world.operator):
        note, mine = (Note.objects.visible_to(world.operator).get(pk=made.pk) for _ in range(2))
    note.expected_version = mine.expected_version = 1
    amend_note(note, actor=world.operator, values={"text": "First."})
    with pytest.raises(Stale):
        amend_note(mine, actor=world.operator, values={"text": "Second."})
    amend_note(note, actor=world.operator, values={"text": "Third."})
