"""Comments on the page of a proposal, in the inbox, on the page of a draft, and in a list of their own."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_sections
from apps.review.comment_actions import withdraw_comment
from apps.review.models import Comment
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import (
    decide,
    decision_of,
    form_values,
    list_of,
    page_of,
    page_text,
    page_words,
    signed_in,
)
from tests.support.factories.comments import make_comment, make_proposal
from tests.support.worlds.world import World, make_persona, make_skill

pytestmark = pytest.mark.django_db


def count_queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(path).status_code == 200
    return len(caught)


def withdraw_path(comment: Comment) -> str:
    return reverse("admin:review_comment_decide", args=[comment.pk, "withdraw"])


@pytest.mark.slow
def test_a_comment_is_said_read_by_others_and_withdrawn(world: World, operator: Client) -> None:
    proposal = make_proposal(world)
    assert "Nobody has said anything yet." in page_words(operator.get(page_of(proposal)))
    response = decide(operator, proposal, "comment", text="**Ask** finance. ![x](https://evil.example/p.png)")
    assert (response.status_code, response["Location"]) == (303, f"{page_of(proposal)}#comments")
    with acting_as(world.operator):
        comment = Comment.objects.get()
    theirs = signed_in(world.admin_user).get(page_of(proposal))
    page = theirs.content.decode()
    assert "<strong>Ask</strong> finance." in page
    assert "<img" not in page
    assert world.operator_user.username in page_words(theirs)
    assert withdraw_path(comment) not in page
    assert withdraw_path(comment) in page_text(operator.get(page_of(proposal)))
    gone = operator.post(withdraw_path(comment), {"read_at": comment.version})
    assert (gone.status_code, gone["Location"]) == (303, f"{page_of(proposal)}#comments")
    after = page_words(operator.get(page_of(proposal)))
    assert "Withdrawn by its author on" in after
    assert "finance" not in after


def test_moments_are_in_the_zone_of_the_tenant(world: World, operator: Client) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, timezone="Pacific/Kiritimati")
    comment = make_comment(world)
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_char(created_at AT TIME ZONE 'Pacific/Kiritimati', 'FMDD Mon YYYY HH24:MI') FROM review_comment"
        )
        [said_at] = cursor.fetchone()
    assert said_at in page_words(operator.get(page_of(comment.proposal)))


def test_a_comment_that_is_too_long_is_shown_again_whole(world: World, operator: Client) -> None:
    long = "Ask finance. " * 400
    refused = decide(operator, make_proposal(world), "comment", text=long)
    assert refused.status_code in {409, 422}
    assert "The comment has 5,199 characters; at most 4,000 are allowed." in page_words(refused)
    assert long.strip() in page_text(refused)


def test_only_its_author_is_offered_to_withdraw(world: World, operator: Client) -> None:
    comment = make_comment(world)
    others = signed_in(world.admin_user)
    assert "Only the author of a comment can withdraw it." in page_words(others.get(page_of(comment)))
    refused = others.post(withdraw_path(comment), {"read_at": comment.version})
    assert refused.status_code == 403
    assert decision_of(comment, "withdraw") in page_text(operator.get(page_of(comment)))


@pytest.mark.slow
def test_inbox_counts_what_people_said_and_asks_no_more_for_many(world: World, operator: Client) -> None:
    proposal = make_proposal(world)
    assert "comment" not in row_of(operator, proposal)
    make_comment(world, on=proposal)
    assert "1 comment" in row_of(operator, proposal)
    # The first page of a process looks up what later ones remember.
    operator.get(page_of(proposal))
    inbox, page = count_queries(operator, list_of(Proposal)), count_queries(operator, page_of(proposal))
    for number in range(12):
        make_comment(world, f"And {number}.", on=proposal)
    withdraw_comment(make_comment(world, on=proposal), actor=world.operator)
    assert "13 comments" in row_of(operator, proposal)
    assert (count_queries(operator, list_of(Proposal)), count_queries(operator, page_of(proposal))) == (inbox, page)


def row_of(client: Client, proposal: Proposal) -> str:
    page = client.get(list_of(Proposal)).content.decode()
    return page.partition('id="result_list"')[2].partition("</table>")[0]


def test_a_draft_shows_what_is_said_about_its_proposal(world: World, operator: Client) -> None:
    draft = make_skill(world)
    assert "Comments" not in page_text(operator.get(page_of(draft))).partition("pc-page")[2]
    with acting_as(world.operator):
        submission = Proposal.objects.about(draft).get()
    make_comment(world, on=submission)
    assert "Ask finance first." in page_words(operator.get(page_of(draft)))


def test_what_is_commented_on_is_not_offered_for_removal(world: World, operator: Client) -> None:
    proposal = make_proposal(world)
    assert decision_of(proposal, "withdraw") in page_text(operator.get(page_of(proposal)))
    make_comment(world, on=proposal)
    assert decision_of(proposal, "withdraw") not in page_text(operator.get(page_of(proposal)))


def test_the_list_says_who_said_what_about_what(world: World, operator: Client) -> None:
    assert "Nobody has commented yet." in page_words(operator.get(list_of(Comment)))
    proposal = make_proposal(world)
    make_comment(world, "## Ask\n\n`finance` first.", on=proposal)
    withdraw_comment(make_comment(world, "Never mind.", on=proposal), actor=world.operator)
    listed = page_words(operator.get(list_of(Comment)))
    assert "Ask finance first." in listed
    assert "withdrawn by its author" in listed
    assert f'href="{page_of(proposal)}#comments"' in page_text(operator.get(list_of(Comment)))
    few = count_queries(operator, list_of(Comment))
    for number in range(12):
        make_comment(world, f"And {number}.", on=proposal)
    assert count_queries(operator, list_of(Comment)) == few


def test_a_row_of_the_inbox_begins_with_plain_words(world: World, operator: Client) -> None:
    make_skill(world, body="## Steps\n\n1. Open the **order** in `shop`.\n2. Ask.\n\n```\nls\n```\n")
    listed = page_words(operator.get(list_of(Proposal)))
    assert "Steps Open the order in shop. Ask. ls" in listed
    assert "##" not in listed


def test_a_refused_choice_of_sections_asks_to_confirm_only_what_is_pointed_out(world: World, operator: Client) -> None:
    proposal = propose_sections(make_persona(world), actor=world.bot, values={"style": "Brief.", "goals": "Be quick."})
    path = decision_of(proposal, "take")
    form = form_values(operator.get(page_of(proposal)).content.decode(), path)
    refused = operator.post(path, form)
    assert refused.status_code == 422
    assert 'id="take_confirm_findings"' not in refused.content.decode()
