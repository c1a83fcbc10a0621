"""Restoring in the console: a plan to look at first, then a yes to exactly that plan."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.console.audit.restore import suggested_moments
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.personas.actions import amend_persona, amend_rule
from apps.personas.models import Persona, StandingRule
from apps.restore.actions import make_checkpoint
from apps.restore.models import Checkpoint
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.restore.restore_scenario import get_only_row
from tests.support.drivers.console_client import list_of, page_of, page_text, page_words, save_form, signed_in
from tests.support.worlds.world import World, make_persona, make_profile, make_rule, make_world


def path() -> str:
    return reverse("admin:restore")


def make_restyled_persona(world: World) -> Persona:
    persona = make_persona(world, style="Brief.")
    make_checkpoint("Before the sale", actor=world.operator, agent_id=world.agent.pk)
    return amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})


def test_a_version_is_restored_from_the_rows_own_page(world: World, operator: Client) -> None:
    persona = make_restyled_persona(world)
    assert f"?row=personas.persona:{persona.pk}&version=1" in page_text(operator.get(page_of(persona)))
    page = operator.get(path(), {"row": f"personas.persona:{persona.pk}", "version": "1"})
    assert f"Persona {persona.pk} as in version 1" in page_words(page)
    assert get_only_row(world, Persona).style == "Rhyming."
    answer = operator.post(path(), shown_form(page))
    assert (answer.status_code, answer.headers["Location"]) == (303, page_of(persona))
    assert get_only_row(world, Persona).style == "Brief."
    assert "Restores version 1 of" in page_words(operator.get(page_of(persona)))


def shown_form(page: object) -> dict[str, list[str]]:
    """The values of the form that carries the plan out, as it stands when nobody touched it."""
    source = page_text(page).partition('method="post" action="' + path())[2].partition("</form>")[0]
    found: dict[str, list[str]] = {}
    for part in source.split("<input")[1:]:
        if "csrf" not in part and ("checkbox" not in part or " checked" in part):
            value = part.partition('value="')[2].partition('"')[0]
            found.setdefault(part.split('name="')[1].split('"')[0], []).append(value)
    return found


@pytest.mark.slow
def test_a_checkpoint_is_made_listed_and_restored_with_a_way_back(world: World, operator: Client) -> None:
    make_restyled_persona(world)
    save_form(operator, reverse("admin:restore_checkpoint_add"), name="Now", reason="To be sure.", agent="")
    assert "To be sure." in page_words(operator.get(list_of(Checkpoint)))
    before = get_only_row(world, Checkpoint, name="Before the sale")
    assert "See what restoring would change" in page_words(operator.get(page_of(before)))
    page = operator.get(path(), {"checkpoint": before.pk})
    assert "1 act on 1 row" in page_words(page)
    assert "<del>Rhyming</del>" in page_text(page)
    answer = operator.post(path(), shown_form(page), follow=True)
    assert "The state before it is the checkpoint “Before restoring to" in page_words(answer)
    assert get_only_row(world, Persona).style == "Brief."


@pytest.mark.slow
def test_any_moment_of_an_agent_or_the_tenant_can_be_asked_for(world: World, admin: Client) -> None:
    moment = timezone.now()
    make_restyled_persona(world)
    make_profile(world)
    agent = get_only_row(world, type(world.agent), pk=world.agent.pk)
    assert f"{path()}?agent={agent.pk}" in page_text(admin.get(page_of(agent)))
    asked = {"agent": str(agent.pk), "at": moment.isoformat()}
    assert "Archive it" in page_words(admin.get(path(), asked))
    whole = page_words(admin.get(path(), {"agent": "", "at": moment.isoformat(), "with_profiles": "on"}))
    assert "Empty it: it did not exist then" in whole
    assert "The tenant as at" in whole
    done = admin.post(path(), shown_form(admin.get(path(), {"at": moment.isoformat()})))
    assert done.headers["Location"] == list_of(Checkpoint)


def test_if_anything_moved_nothing_is_done_and_the_new_plan_is_shown(world: World, operator: Client) -> None:
    persona = make_restyled_persona(world)
    values = shown_form(operator.get(path(), {"row": f"personas.persona:{persona.pk}", "version": "1"}))
    amend_persona(persona, actor=world.admin, values={"style": "Shouting."})
    page = operator.post(path(), values)
    assert page.status_code == 409
    assert "Something changed since this plan was made. Nothing was done" in page_words(page)
    assert "<del>Shouting</del>" in page_text(page)
    assert get_only_row(world, Persona).style == "Shouting."
    assert operator.post(path(), shown_form(page)).status_code == 303


def test_who_lacks_a_right_gets_no_button(world: World, operator: Client) -> None:
    moment = timezone.now()
    amend_agent(world.agent, actor=world.admin, title="Changed")
    page = operator.get(path(), {"agent": str(world.agent.pk), "at": moment.isoformat()})
    assert "You lack rights that this restore needs: agent.amend" in page_words(page)
    assert 'name="sha256"' not in page_text(page)


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({}, 200, "Which moment"),
        ({"at": "yesterday"}, 422, "yesterday is not a date and time."),
        ({"at": "2999-01-01"}, 422, "is in the future"),
        ({"at": ""}, 200, "This field is required."),
        ({"agent": "999999", "at": "2026-01-01"}, 200, "Select a valid choice."),
        ({"checkpoint": "999999"}, 404, ""),
        ({"checkpoint": "one"}, 404, ""),
        ({"row": "tenants.user:1", "version": "1"}, 404, ""),
        ({"row": "nothing:1", "version": "1"}, 404, ""),
        ({"row": "tenants.agenttoken:1", "version": "1"}, 422, "cannot be restored"),
        ({"row": "personas.persona:999999", "version": "1"}, 404, "There is no version 1"),
    ],
)
def test_what_cannot_be_asked_is_said(operator: Client, asked: dict[str, str], status: int, message: str) -> None:
    page = operator.get(path(), asked)
    assert page.status_code == status
    assert message in page_words(page)


@pytest.mark.slow
def test_rows_that_are_not_ticked_stay_and_every_change_says_why(world: World, operator: Client) -> None:
    persona, rule = make_persona(world, style="Brief."), make_rule(world, "Never name another shop.")
    moment = timezone.now().isoformat()
    amend_persona(persona, actor=world.admin, values={"style": "Rhyming."})
    amend_rule(rule, actor=world.admin, values={"text": "Always name the sale."})
    page = operator.get(path(), {"agent": str(world.agent.pk), "at": moment})
    sent = shown_form(page)
    assert sorted(sent["only"]) == [f"personas.persona:{persona.pk}", f"personas.standingrule:{rule.pk}"]
    sent |= {"only": [f"personas.persona:{persona.pk}"], "why": ["The sale is over."]}
    shown = page_words(operator.post(path(), sent, follow=True))
    assert "Restored: 1 act. The state before it is the checkpoint “Before restoring to" in shown
    assert get_only_row(world, Persona).style == "Brief."
    assert get_only_row(world, StandingRule).text == "Always name the sale."
    with acting_as(world.operator):
        record = ChangeRecord.objects.select_related("text").filter(subject_type="personas.persona").latest("pk")
    assert record.text.reason.startswith("Restores version 1 of ")
    assert record.text.reason.endswith(" The sale is over.")
    assert get_only_row(world, Checkpoint).reason.endswith("was restored. The sale is over.")


def test_a_plan_of_which_nothing_is_ticked_does_nothing(world: World, operator: Client) -> None:
    persona = make_restyled_persona(world)
    sent = shown_form(operator.get(path(), {"row": f"personas.persona:{persona.pk}", "version": "1"}))
    for only_these, status, message in (
        ([], 409, "No row was chosen. Tick the rows to restore."),
        (["personas.persona:999999"], 422, "This plan does not contain personas.persona:999999."),
    ):
        page = operator.post(path(), sent | {"only": only_these})
        assert (page.status_code, message in page_words(page)) == (status, True)
    page = operator.post(path(), sent | {"why": "x" * 301})
    assert page.status_code == 422
    assert "Why: Ensure this value has at most 300 characters" in page_words(page)
    assert get_only_row(world, Persona).style == "Rhyming."


def test_what_needs_a_right_one_lacks_stays_and_the_rest_comes_back(world: World, operator: Client) -> None:
    persona = make_persona(world, style="Brief.")
    moment = timezone.now().isoformat()
    amend_persona(persona, actor=world.admin, values={"style": "Rhyming."})
    amend_agent(world.agent, actor=world.admin, title="Changed")
    page = operator.get(path(), {"agent": str(world.agent.pk), "at": moment})
    assert "Stays as it is: you lack the right agent.amend" in page_words(page)
    sent = shown_form(page)
    assert sent["only"] == [f"personas.persona:{persona.pk}"]
    everything = {name: value for name, value in sent.items() if name not in {"only", "chosen"}}
    assert operator.post(path(), everything).status_code == 403
    assert operator.post(path(), sent).status_code == 303
    assert get_only_row(world, Persona).style == "Brief."
    assert get_only_row(world, type(world.agent), pk=world.agent.pk).title == "Changed"


@pytest.mark.slow
def test_moments_that_people_mean_are_one_press_away(world: World, operator: Client) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, timezone="Pacific/Kiritimati")
    now = timezone.now().astimezone(ZoneInfo("Pacific/Kiritimati"))
    yesterday = (now - timedelta(days=1)).strftime("%Y-%m-%dT18:00:00")
    page = page_text(operator.get(path(), {"agent": str(world.agent.pk)}))
    assert page.count(f'value="{yesterday}"') == 2
    assert ">Yesterday, 18:00</button>" in page
    for each in suggested_moments(now):
        answer = operator.get(path(), {"agent": str(world.agent.pk), "at": each.at})
        assert answer.status_code == 200
        # The form keeps what was asked, by the tenant's clock.
        field = page_text(answer).partition('type="datetime-local"')
        assert f'value="{each.at}"' in field[0].rpartition("<input")[2] + field[2].partition(">")[0]
    morning = now.replace(hour=7)
    assert "This morning, 8:00" not in [each.title for each in suggested_moments(morning)]


def test_another_tenants_history_is_not_there(world: World) -> None:  # R006
    persona = make_restyled_persona(world)
    stranger = signed_in(make_world().admin_user)
    checkpoint = get_only_row(world, Checkpoint)
    assert stranger.get(path(), {"checkpoint": checkpoint.pk}).status_code == 404
    assert stranger.get(path(), {"row": f"personas.persona:{persona.pk}", "version": "1"}).status_code == 404
    assert "Select a valid choice." in page_words(
        stranger.get(path(), {"agent": str(world.agent.pk), "at": "2026-11-01"})
    )
