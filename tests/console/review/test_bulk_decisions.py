"""Deciding on many proposals at once: ticked in the inbox, shown before anything happens, carried out by a worker, reported."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from apps.console.review.inbox_filters import FLOOD_FROM
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import snooze_proposal
from apps.personas.actions import propose_patch, propose_rules, propose_sections
from apps.review.bulk.eligibility import MOST_PROPOSALS, Verb
from apps.review.models import BulkDecision
from apps.review.tasks import decide_bulk
from apps.skills.proposals import propose_deprecation
from tests.console.dashboard.test_statistics_page import statements
from tests.support.drivers.console_client import list_of, page_text, page_words
from tests.support.factories.bulk_decisions import (
    begin_bulk_decision,
    make_drafts,
    reload_proposal,
    states,
    waiting_draft,
)
from tests.support.factories.stale_proposals import CLASH, make_stale
from tests.support.worlds.world import World, make_limit, make_neighbour, make_persona, make_skill, make_world

BULK_PAGE = reverse("admin:bulk_decision")
INBOX = list_of(Proposal)
MOST_READS = 12


def open_bulk_page(client: Client, verb: str, *proposals: Proposal) -> str:
    """The page that says what would happen."""
    answer = client.get(f"{BULK_PAGE}?{urlencode([('verb', verb), *(('row', row.pk) for row in proposals)])}")
    assert answer.status_code == 200
    return page_text(answer)


def form_rows(page: str) -> list[str]:
    """What its form would send of each row."""
    return re.findall(r'name="row"\s+value="(\d+-\d+)"', page)


def confirm_bulk(client: Client, world: World, verb: str, *proposals: Proposal, **typed: str) -> BulkDecision:
    """Look, confirm, and land on the report."""
    rows = form_rows(open_bulk_page(client, verb, *proposals))
    answer = client.post(BULK_PAGE, {"verb": verb, "row": rows, **typed})
    assert answer.status_code == 303
    with acting_as(world.operator):
        bulk = BulkDecision.objects.latest("pk")
    assert answer["Location"] == reverse("admin:bulk_decision_report", args=[bulk.pk])
    return bulk


def report(client: Client, bulk: BulkDecision) -> str:
    return page_words(client.get(reverse("admin:bulk_decision_report", args=[bulk.pk])))


def test_open_rows_have_a_box_that_belongs_to_the_form_above_the_list(world: World, operator: Client) -> None:
    # Without a script: the box names the form by its id, and the form is a link with what was ticked.
    [draft] = make_drafts(world, 1)
    page = page_text(operator.get(INBOX))
    assert f'<input type="checkbox" form="pc-bulk-bar" name="row" value="{draft.pk}"' in page
    assert re.search(rf'<form id="pc-bulk-bar"\s+method="get"\s+action="{BULK_PAGE}"', page)
    assert 'id="pc-bulk-bar"' not in page_text(operator.get(f"{INBOX}?tab=decided"))


@pytest.mark.slow
def test_what_was_confirmed_is_carried_out_by_a_worker_and_reported(world: World, operator: Client) -> None:
    drafts = make_drafts(world, 3)
    page = open_bulk_page(operator, "approve", *drafts)
    assert "can look up “" in page
    assert states(world, drafts) == ["open"] * 3
    bulk = confirm_bulk(operator, world, "approve", *drafts)
    waits = page_text(operator.get(reverse("admin:bulk_decision_report", args=[bulk.pk])))
    assert "0 of 3 decided" in waits
    assert re.search(r'id="together"[^>]*data-polls', waits)
    snooze_proposal(drafts[1], actor=world.admin, until=drafts[1].expires_at)
    decide_bulk.run(world.tenant.pk, bulk.pk)
    assert "3 of 3 decided" in report(operator, bulk)
    assert "2 done, 1 refused, 0 waiting." in report(operator, bulk)
    assert "changed since you read it" in report(operator, bulk)
    assert "data-polls" not in page_text(operator.get(reverse("admin:bulk_decision_report", args=[bulk.pk])))
    assert f'href="{BULK_PAGE}"' in page_text(operator.get(INBOX))
    assert "New skill 2 done, 1 refused, 0 waiting" in page_words(operator.get(BULK_PAGE))
    assert states(world, drafts) == ["applied", "open", "applied"]


def test_a_no_asks_for_one_reason_and_gives_it_to_all(world: World, operator: Client) -> None:
    drafts = make_drafts(world, 2)
    rows = form_rows(open_bulk_page(operator, "reject", *drafts))
    refused = operator.post(BULK_PAGE, {"verb": "reject", "row": rows})
    assert refused.status_code == 422
    assert "This field is required." in page_words(refused)
    assert form_rows(page_text(refused)) == rows
    bulk = confirm_bulk(operator, world, "reject", *drafts, reason_code="not_useful", reason="Nobody asks.")
    decide_bulk.run(world.tenant.pk, bulk.pk)
    assert "Not useful: Nobody asks." in report(operator, bulk)
    assert {reload_proposal(world, draft).decision_reason for draft in drafts} == {"Nobody asks."}


def test_several_kinds_are_refused_with_a_way_on_for_each(world: World, operator: Client) -> None:
    retired = propose_deprecation(make_skill(world, "approved"), actor=world.bot, rationale="Nobody asks for it.")
    [draft] = make_drafts(world, 1)
    page = open_bulk_page(operator, "approve", draft, retired)
    assert "You chose several" in page
    assert form_rows(page) == []
    assert urlencode([("verb", "approve"), ("row", draft.pk)]) in page
    rows = [f"{row.pk}-{row.version}" for row in (draft, retired)]
    refused = operator.post(BULK_PAGE, {"verb": "approve", "row": rows})
    assert refused.status_code == 422
    assert "proposals of one kind" in page_words(refused)


def test_what_cannot_be_decided_together_is_left_out_and_says_why(world: World, operator: Client) -> None:
    plain = waiting_draft(world)
    paying = waiting_draft(world, body="## Procedure\n1. Call refund_order with the order number.\n")
    page = open_bulk_page(operator, "approve", plain, paying)
    assert form_rows(page) == [f"{plain.pk}-{plain.version}"]
    assert "Its risk is high, and only changes of low risk are approved in bulk." in page


def test_what_is_above_the_low_tier_is_rejected_with_one_reason_and_not_approved(
    world: World, operator: Client
) -> None:
    persona = make_persona(world)
    proposals = [
        propose_patch(persona, actor=world.bot, text="Say hello first."),
        propose_sections(persona, actor=world.bot, values={"style": "Be brief."}),
    ]
    for proposal in proposals:
        page = open_bulk_page(operator, "approve", proposal)
        assert form_rows(page) == []
        assert "None of the chosen proposals can be decided on in bulk." in page
    bulk = confirm_bulk(operator, world, "reject", *proposals, reason_code="wrong_tone", reason="Too cold.")
    decide_bulk.run(world.tenant.pk, bulk.pk)
    assert "2 done, 0 refused, 0 waiting." in report(operator, bulk)
    assert {reload_proposal(world, each).decision_reason for each in proposals} == {"Too cold."}


def test_a_flood_from_one_agent_closes_in_three_clicks(world: World, operator: Client) -> None:
    # The agent of the flood has proposals of several kinds and risks; the other agent's one has to stay.
    flood = [*make_drafts(world, FLOOD_FROM - 1), propose_rules(world.agent, actor=world.bot, lines=["Call back."])]
    neighbour = make_neighbour(world)
    other = propose_rules(neighbour, actor=world.operator, lines=["Say hello first."])
    page = page_text(operator.get(INBOX))
    assert f"{FLOOD_FROM} proposals of agent support wait." in page
    [link] = re.findall(r'href="([^"]+)">Reject all of agent support', page)
    preview = page_text(operator.get(unescape(link)))
    assert len(form_rows(preview)) == FLOOD_FROM
    assert f"Reject {FLOOD_FROM} proposals" in preview
    answer = operator.post(
        BULK_PAGE, {"verb": "reject", "row": form_rows(preview), "reason_code": "duplicate", "reason": ""}
    )
    with acting_as(world.operator):
        bulk = BulkDecision.objects.latest("pk")
    assert (answer.status_code, bulk.kind) == (303, "")
    decide_bulk.run(world.tenant.pk, bulk.pk)
    assert f"{FLOOD_FROM} done, 0 refused, 0 waiting." in report(operator, bulk)
    assert states(world, [*flood, other]) == [*["rejected"] * FLOOD_FROM, "open"]
    assert "proposals of agent support wait" not in page_text(operator.get(INBOX))


def test_the_whole_list_is_chosen_by_its_filters_and_the_page_shows_every_row(world: World, operator: Client) -> None:
    drafts = make_drafts(world, 2)
    stale = make_stale(world, Proposal.Kind.SKILL_REVISION)
    rejected_link, rebased_link = re.findall(
        r'href="([^"]+within=[^"]+)">Re(?:ject|base) all…', page_text(operator.get(f"{INBOX}?tab=needs_rebase"))
    )
    for link in (rejected_link, rebased_link):
        assert form_rows(page_text(operator.get(unescape(link)))) == [f"{stale.pk}-{stale.version}"]
    [every, _] = re.findall(r'href="([^"]+within=[^"]+)">Re(?:ject|base) all…', page_text(operator.get(INBOX)))
    assert len(form_rows(page_text(operator.get(unescape(every))))) == len([*drafts, stale])
    for within, message in (("claim=nobody", "cannot be filtered"), ("x=1", "no filter"), ("q=parcel", "No proposal")):
        assert message in page_words(operator.get(BULK_PAGE, {"verb": "reject", "within": within}))


def test_what_went_stale_is_rebased_from_the_inbox(world: World, operator: Client) -> None:
    clean = [make_stale(world, kind) for kind in (Proposal.Kind.SKILL_REVISION, Proposal.Kind.PERSONA_FIELDS)]
    clash = make_stale(world, Proposal.Kind.SKILL_REVISION, CLASH)
    page = open_bulk_page(operator, "rebase", *clean, clash)
    assert form_rows(page) == [f"{each.pk}-{each.version}" for each in clean]
    assert "The proposal and the live text changed the same place in body." in page
    bulk = confirm_bulk(operator, world, "rebase", *clean, clash)
    decide_bulk.run(world.tenant.pk, bulk.pk)
    assert "2 done, 0 refused, 0 waiting." in report(operator, bulk)
    assert states(world, [*clean, clash]) == ["open"] * 3
    assert "Needs a rebase 1" in page_words(operator.get(INBOX))


def test_another_tenants_rows_and_reports_are_like_none(world: World, operator: Client) -> None:
    # R006
    other = make_world()
    theirs = make_drafts(other, 1)
    page = open_bulk_page(operator, "approve", *theirs)
    assert "1 of the chosen is not there" in page
    assert theirs[0].target_label not in page
    refused = operator.post(BULK_PAGE, {"verb": "approve", "row": [f"{theirs[0].pk}-1"]})
    assert refused.status_code == 404
    bulk = begin_bulk_decision(other, theirs)
    assert operator.get(reverse("admin:bulk_decision_report", args=[bulk.pk])).status_code == 404


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Nothing is chosen."),
        (["x", "1; DROP"], "Nothing is chosen."),
        (range(MOST_PROPOSALS[Verb.APPROVE] + 1), "At most"),
    ],
)
def test_none_and_too_many_are_said_so(world: World, operator: Client, rows: list[str], message: str) -> None:
    assert message in page_words(operator.get(BULK_PAGE, {"verb": "approve", "row": rows}))
    refused = operator.post(BULK_PAGE, {"verb": "approve", "row": rows})
    assert refused.status_code == 422


def test_what_was_decided_together_is_each_tenants_own(world: World, operator: Client) -> None:
    # R006
    assert "Nothing yet." in page_words(operator.get(BULK_PAGE))
    other = make_world()
    begin_bulk_decision(other, make_drafts(other, 1))
    assert "Nothing yet." in page_words(operator.get(BULK_PAGE))


def test_there_is_no_third_word(world: World, operator: Client) -> None:
    assert operator.get(BULK_PAGE, {"verb": "apply"}).status_code == 404


def test_a_person_whose_right_was_taken_is_shown_no_form(world: World, operator: Client) -> None:
    [draft] = make_drafts(world, 1)
    make_limit(world, Act.PROPOSAL_APPROVE)
    page = open_bulk_page(operator, "approve", draft)
    assert form_rows(page) == []
    assert "proposal_approve" in page
    assert operator.post(BULK_PAGE, {"verb": "approve", "row": [f"{draft.pk}-1"]}).status_code == 403


@pytest.mark.slow
def test_pages_of_many_rows_cost_what_those_of_few_do(world: World, operator: Client) -> None:
    # R014
    drafts = make_drafts(world, 20)

    def reads(chosen: list[Proposal]) -> list[int]:
        bulk = begin_bulk_decision(world, chosen)
        looked = urlencode([("verb", "approve"), *(("row", row.pk) for row in chosen)])
        pages = BULK_PAGE, f"{BULK_PAGE}?{looked}", reverse("admin:bulk_decision_report", args=[bulk.pk])
        return [len(statements(operator, path)) for path in pages]

    reads(drafts[:1])
    few = reads(drafts[:1])
    assert reads(drafts) == few
    assert max(few) <= MOST_READS
