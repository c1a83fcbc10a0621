"""What the console refuses stands in the tenant's books, once, whether an act was asked or not."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.console.framework.form_errors import REFUSAL_LABELS
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.models import AuditCheck, Refusal
from apps.governance.proposals.actions import reject_proposal
from apps.personas.actions import propose_patch
from apps.skills.models import Skill
from tests.support.drivers.console_client import decision_of, list_of, page_of, page_text, page_words
from tests.support.worlds.furnished_tenant import make_audit_rows
from tests.support.worlds.world import World, make_persona, make_skill, make_world


def refusals(world: World) -> list[tuple[Any, ...]]:
    with acting_as(world.operator):
        return list(Refusal.objects.order_by("id").values_list("act", "code", "subject_type", "subject_id"))


def test_a_page_that_does_not_offer_it_keeps_the_attempt(world: World, operator: Client) -> None:
    # R017: agents are made by admins.
    assert operator.post(reverse("admin:tenants_agent_add"), {"key": "x", "title": "X"}).status_code == 403
    assert refusals(world) == [("", "not_permitted", "tenants.agent", None)]


def test_a_decision_the_state_does_not_allow_keeps_the_attempt(world: World, operator: Client) -> None:
    skill = make_skill(world, "deprecated")
    sent = {"reviewed_sha256": skill.content_sha256, "read_at": skill.version}
    assert operator.post(decision_of(skill, "approve"), sent).status_code == 409
    assert refusals(world) == [("skill.approve", "illegal_transition", "skills.skill", skill.pk)]


@pytest.mark.parametrize("path", ["page", "decision"])
def test_a_write_to_another_tenants_row_stands_in_the_books_of_who_tried(
    world: World, operator: Client, path: str
) -> None:
    # R006
    other = make_world()
    foreign = make_skill(other)
    to = page_of(foreign) if path == "page" else decision_of(foreign, "discard")
    assert operator.post(to, {"body": "Mine."}).status_code in {302, 404}
    assert refusals(world) == [("", "not_found", "skills.skill", foreign.pk)]
    assert refusals(other) == []


def test_reading_a_page_that_is_not_there_is_no_attempt(world: World, operator: Client) -> None:
    foreign = make_persona(make_world())
    assert operator.get(page_of(foreign)).status_code == 302
    assert operator.get(reverse("admin:index") + "nowhere/").status_code == 404
    assert refusals(world) == []


def test_the_books_have_pages_with_their_place_in_the_chain(world: World, operator: Client) -> None:
    refused, check = make_audit_rows(world)
    page = page_words(operator.get(page_of(refused)))
    assert "skill.approve" in page
    assert "An agent may not approve a skill." in page
    assert "Link of the audit chain" in page
    assert "The chain ends today at link" in page_words(operator.get(page_of(check)))
    assert "not_permitted" in page_words(operator.get(list_of(type(refused)) + "?code=not_permitted"))
    assert "sound" in page_words(operator.get(list_of(type(check))))


def test_an_attempt_is_about_a_row_by_its_name_as_long_as_it_is_there(world: World, operator: Client) -> None:
    old, foreign = make_skill(world, "deprecated", name="greet"), make_skill(make_world())
    for skill in (old, foreign):
        sent = {"reviewed_sha256": skill.content_sha256, "read_at": skill.version}
        operator.post(decision_of(skill, "approve"), sent)
    with acting_as(world.operator):
        missing, known = Refusal.objects.order_by("-id")[:2]
    assert f'<a href="{page_of(old)}">greet</a>' in page_text(operator.get(page_of(known)))
    page = page_text(operator.get(page_of(missing)))
    assert f"skill {foreign.pk}" in page
    assert page_of(foreign) not in page


def test_every_kind_of_refusal_is_called_something_in_words() -> None:
    def kinds(family: type[GovernanceError]) -> Iterator[str]:
        yield family.code
        for each in family.__subclasses__():
            yield from kinds(each)

    assert set(kinds(GovernanceError)) - REFUSAL_LABELS.keys() == set()


def test_lists_are_headed_by_the_words_that_lead_to_them(operator: Client) -> None:
    for model, heading in ((Refusal, "Refused attempts"), (AuditCheck, "Verifications"), (Skill, "Skills")):
        assert page_words(operator.get(list_of(model))).startswith(f"{heading} | Preceptor")


def test_a_decided_proposal_leads_to_its_receipt(world: World, operator: Client) -> None:
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    link = f"/api/v1/proposals/{proposal.pk}/receipt"
    assert link not in page_text(operator.get(page_of(proposal)))
    reject_proposal(proposal, actor=world.operator, reason="No.")
    assert link in page_text(operator.get(page_of(proposal)))
    assert operator.get(link).json()["decision"]["by"] == world.operator.label
