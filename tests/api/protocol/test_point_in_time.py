"""How rows stood at a moment, and only the fields that are asked for, by REST."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.launcher.postgres import Postgres
from tests.governance.audit.test_row_history import erase_change
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.factories.notes import make_note
from tests.support.worlds.world import World, make_neighbour, make_persona, make_profile, make_skill, make_world


def moment_after_act(world: World, act: str) -> str:
    """The moment just after the first change of this kind."""
    with acting_as(world.operator):
        return ChangeRecord.objects.filter(act=act).order_by("id").values_list("created_at", flat=True)[0].isoformat()


def test_a_row_is_shown_as_it_stood(world: World, operator: RestClient) -> None:
    # R031
    profile = make_profile(world, notes="Likes tea.")
    moment = moment_after_act(world, "profile.amend")
    operator.patch(f"profiles/{profile.pk}/", {"notes": "Likes coffee."})
    address = f"profiles/{profile.pk}/?as_of="
    stood = operator.get(address + moment).body
    assert (stood["id"], stood["version"], stood["values"]["notes"]) == (profile.pk, 1, "Likes tea.")
    now = operator.get(address + timezone.now().isoformat()).body
    assert (now["version"], now["values"]["notes"]) == (2, "Likes coffee.")
    before = operator.get(address + (profile.created_at - timedelta(days=1)).isoformat())
    assert (before.status, before.code) == (404, "not_found")


def test_a_list_is_shown_as_it_stood_page_by_page(world: World, operator: RestClient) -> None:
    first = make_note(world, "First.")
    second = make_note(world, "Second.")
    with acting_as(world.operator):
        moment = ChangeRecord.objects.order_by("-id").values_list("created_at", flat=True)[0].isoformat()
    operator.post(f"notes/{first.pk}/finish/", {})
    make_note(world, "Third.")
    page = operator.get(f"notes/?as_of={moment}&page_size=1").body
    assert [(row["id"], row["values"]["status"]) for row in page["results"]] == [(second.pk, "open")]
    rest = operator.get(page["next"].removeprefix("http://testserver")).body
    assert [(row["id"], row["values"]["status"]) for row in rest["results"]] == [(first.pk, "open")]
    assert rest["next"] is None
    make_neighbour(world)
    assert operator.get(f"notes/?as_of={moment}&agent_key=billing").body["results"] == []
    assert len(operator.get(f"notes/?as_of={moment}&agent_key=support").body["results"]) == 2
    assert operator.get(f"notes/?as_of={moment}&kind=task").status == 400
    assert operator.get(f"profiles/?as_of={moment}&agent_key=support").status == 400


def test_the_past_is_for_people_and_of_ones_own_tenant(world: World, bot: RestClient, operator: RestClient) -> None:
    # R006
    note, other = make_note(world), make_world()
    moment = timezone.now().isoformat()
    for address in ("notes/", f"notes/{note.pk}/"):
        assert bot.get(f"{address}?as_of={moment}").code == "not_permitted"
    assert operator.get(f"notes/{make_note(other).pk}/?as_of={moment}").status == 404
    moment = timezone.now().isoformat()
    assert [row["id"] for row in operator.get(f"notes/?as_of={moment}").body["results"]] == [note.pk]


def test_words_that_were_erased_are_nobodys_guess(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_persona(world)
    erase_change(postgres, committing, world, persona, 1)
    operator, moment = person_client(world.operator_user), timezone.now().isoformat()
    refused = operator.get(f"personas/{persona.pk}/?as_of={moment}")
    assert (refused.status, refused.code) == (410, "text_erased")
    [row] = operator.get(f"personas/?as_of={moment}").body["results"]
    assert (row["is_erased"], row["values"]) == (True, None)


@pytest.mark.parametrize("moment", ["", "yesterday", "2999-01-01T00:00:00Z", "2026-02-30T00:00:00Z"])
def test_a_moment_that_is_none_is_refused(world: World, operator: RestClient, moment: str) -> None:
    refused = operator.get(f"notes/?as_of={moment}")
    assert (refused.status, list(refused.body["errors"])) == (400, ["as_of"])


def test_only_what_is_governed_has_a_past(operator: RestClient) -> None:
    assert operator.get(f"refusals/?as_of={timezone.now().isoformat()}").status == 400


def test_only_the_fields_that_are_asked_for_are_shown(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    assert bot.get("skills/?fields=id,version").body["results"] == [{"id": skill.pk, "version": skill.version}]
    assert bot.get(f"skills/{skill.pk}/?fields=name").body == {"name": skill.name}
    for address in ("skills/", f"skills/{skill.pk}/"):
        refused = bot.get(f"{address}?fields=id,nmae")
        assert (refused.status, list(refused.body["errors"])) == (400, ["fields"])
        assert bot.get(f"{address}?fields=").status == 400
    # A list shows no bodies, asked for or not.
    assert bot.get("skills/?fields=body").status == 400
    whole = bot.get(f"skills/{skill.pk}/").headers["ETag"]
    assert bot.get(f"skills/{skill.pk}/?fields=name", If_None_Match=whole).status == 200
