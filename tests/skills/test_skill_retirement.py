"""Approved skills that may be retired: by what became of them in real turns, until a person says to keep one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.console.framework.change_lists import TAB
from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted
from apps.learning.distillation.session_log import read_session_log
from apps.review.skill_actions import approve_skill
from apps.runtime.skill_retirement import read_curations, retirement_candidates
from apps.skills.actions import retain_skill
from apps.skills.models import Skill
from apps.skills.retirement_rules import (
    MIN_CONVERSATIONS,
    MIN_ENDED,
    RETENTION_PERIOD,
    UNUSED_AFTER,
    BadOutcomeRate,
    RetirementCause,
)
from apps.tenants.actions import amend_agent
from tests.support.drivers.console_client import list_of, page_of, page_text, page_words, signed_in
from tests.support.drivers.conversation import reply, run_customer_turn, tool
from tests.support.drivers.rest_client import person_client
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_skill, make_world

pytestmark = pytest.mark.django_db
Ending = Conversation.Outcome
AFTER_UNUSED_LIMIT = UNUSED_AFTER + timedelta(days=1)


@pytest.fixture
def world() -> World:
    return make_world()


def make_conversations(world: World) -> None:
    for _ in range(MIN_CONVERSATIONS):
        make_conversation(world)


def run_conversation(
    world: World, standin: StandIn, thread: str, outcome: Ending, skill: Skill | None = None, by: str = "get_skill"
) -> Conversation:
    """A customer is answered, with the skill or without, and it ends so."""
    if skill is not None:
        standin.play(tool(by, skill_id=skill.pk), reply("Done."))
    turn = run_customer_turn(world, "Hello", standin, thread=thread, customer=f"http:{thread}")
    with acting_as(world.system):
        conversation = Conversation.objects.get(pk=turn.conversation_id)
    return resolve_conversation(conversation, actor=world.bot, outcome=outcome)


def retirement_causes(world: World, skill: Skill, later: timedelta = timedelta()) -> list[RetirementCause]:
    found = retirement_candidates(actor=world.operator, now=timezone.now() + later).get(skill.pk)
    return [each.cause for each in found.suggestions] if found else []


def test_a_skill_nobody_fetched_may_be_retired_until_a_person_keeps_it(world: World) -> None:
    # R107
    skill = make_skill(world, "approved")
    assert retirement_causes(world, skill, AFTER_UNUSED_LIMIT) == [], "nobody could have needed it"
    make_conversations(world)
    assert retirement_causes(world, skill) == []
    assert retirement_causes(world, skill, AFTER_UNUSED_LIMIT) == [RetirementCause.UNUSED]
    retain_skill(skill, actor=world.operator, reason="It is for Christmas.", read_at=skill.version)
    assert retirement_causes(world, skill, AFTER_UNUSED_LIMIT) == []
    assert retirement_causes(world, skill, AFTER_UNUSED_LIMIT + RETENTION_PERIOD) == [RetirementCause.UNUSED]
    assert skill.retained_until is not None
    assert skill.status == Skill.Status.APPROVED
    assert abs(skill.retained_until - skill.updated_at - RETENTION_PERIOD) < timedelta(minutes=1)


@pytest.mark.slow
def test_a_skill_whose_conversations_end_badly_may_be_retired(world: World, standin: StandIn) -> None:
    bad = make_skill(world, "approved")
    good = make_skill(world, "approved", title="Hours", description="When we open.", body="Say from nine to five.")
    for number in range(MIN_ENDED):
        run_conversation(world, standin, f"bad-{number}", Ending.UNSOLVED, bad)
        run_conversation(world, standin, f"good-{number}", Ending.SOLVED, good)
    assert retirement_causes(world, bad) == [RetirementCause.WORSE]
    assert retirement_causes(world, good) == []
    skill_figures = read_curations([bad.pk, good.pk], actor=world.operator, now=timezone.now())[bad.pk].figures
    assert (skill_figures.with_skill, skill_figures.without_skill) == (
        BadOutcomeRate(MIN_ENDED, MIN_ENDED),
        BadOutcomeRate(MIN_ENDED, 0),
    )
    assert (skill_figures.fetched_30_days, skill_figures.fetched_90_days) == (MIN_ENDED, MIN_ENDED)
    assert skill_figures.last_used_at is not None
    # The same by REST, in the list of skills and on the page.
    person = person_client(world.operator_user)
    [listed] = person.get("skills/?curation=worse").body["results"]
    row = person.get(f"skills/{listed['id']}/curation/").body
    assert person.get("skills/?curation=unused").body["results"] == []
    assert (row["skill_id"], row["suggestions"][0]["cause"]) == (bad.pk, "worse")
    assert row["with_skill"] == {"ended": MIN_ENDED, "ended_badly": MIN_ENDED}
    browser = signed_in(world.operator_user)
    approved = f"{list_of(Skill)}?{TAB}=approved"
    assert good.title in page_text(browser.get(approved))
    narrowed = page_text(browser.get(f"{approved}&curation=worse"))
    assert bad.title in narrowed
    assert good.title not in narrowed
    assert bad.title not in page_text(browser.get(f"{approved}&curation=unused"))
    assert "Of 10 conversations with it 100 % ended badly" in page_words(browser.get(page_of(bad)))
    assert "may be retired" not in page_words(browser.get(page_of(good)))


@pytest.mark.slow
def test_a_skill_counts_as_fetched_by_either_of_the_tools_that_give_it(world: World, standin: StandIn) -> None:
    # R101, R107
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    skill = make_skill(world, "approved")
    run_conversation(world, standin, "one", Ending.SOLVED, skill)
    run_conversation(world, standin, "two", Ending.UNSOLVED, skill, by="skill_view")
    run_conversation(world, standin, "three", Ending.SOLVED)
    skill_figures = read_curations([skill.pk], actor=world.operator, now=timezone.now())[skill.pk].figures
    assert (skill_figures.fetched_90_days, skill_figures.with_skill, skill_figures.without_skill) == (
        2,
        BadOutcomeRate(2, 1),
        BadOutcomeRate(1, 0),
    )
    assert read_session_log(world.agent.pk, actor=world.system)[1].text.count(f"skills {skill.name}") == 1


def test_a_look_at_a_draft_is_no_fetch(world: World, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    standin.play(tool("skill_save", title="Greet", description="How.", body="Say hello."), reply("Done."))
    run_customer_turn(world, "Write it down", standin)
    with acting_as(world.operator):
        skill = Skill.objects.visible_to(world.operator).get()
    run_conversation(world, standin, "one", Ending.SOLVED, skill, by="skill_view")
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    run_conversation(world, standin, "two", Ending.SOLVED, skill, by="skill_view")
    skill_figures = read_curations([skill.pk], actor=world.operator, now=timezone.now())[skill.pk].figures
    assert skill_figures.fetched_90_days == 1


def test_a_skill_that_a_newer_one_of_its_agent_covers_may_be_retired(world: World) -> None:
    # R107
    old = make_skill(world, "approved", name="refund-late-order", title="Refund")
    other = make_skill(world, "approved", name="open-hours", title="Hours", description="x", body="Say nine to five.")
    newer = make_skill(world, "approved", name="late-orders-refund", title="Refund a late order")
    make_skill(world, name="late-order-refunds")
    assert [retirement_causes(world, skill) for skill in (old, other, newer)] == [
        [RetirementCause.SUPERSEDED],
        [],
        [],
    ], "no draft covers any"
    person, browser = person_client(world.operator_user), signed_in(world.operator_user)
    [listed] = person.get("skills/?curation=superseded").body["results"]
    row = person.get(f"skills/{old.pk}/curation/").body
    assert (listed["id"], row["newer"]["skill_id"], row["newer"]["reason"]) == (
        old.pk,
        newer.pk,
        "Its name says the same.",
    )
    page = browser.get(page_of(old))
    assert "Says the same, approved later Refund a late order" in page_words(page)
    assert page_of(newer) in page_text(page)
    retain_skill(old, actor=world.operator, reason="It is for another shop.", read_at=old.version)
    assert retirement_causes(world, old) == []
    assert person.get(f"skills/{newer.pk}/curation/").body["newer"] is None


def test_the_figures_are_few_statements_however_many_skills_there_are(world: World) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            retirement_candidates(actor=world.operator, now=timezone.now())
        return len(asked)

    make_skill(world, "approved")
    few = statements()
    for _ in range(7):
        make_skill(world, "approved")
    assert statements() == few


def test_only_people_keep_and_only_what_is_approved_and_with_a_reason(world: World) -> None:
    live = make_skill(world, "approved")
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            retain_skill(live, actor=actor, reason="Mine.")
    with pytest.raises(Invalid, match="Give a reason for keeping the skill"):
        retain_skill(live, actor=world.operator, reason=" ")
    with pytest.raises(Conflict, match="is draft"):
        retain_skill(make_skill(world), actor=world.operator, reason="Good.")
    assert live.retained_until is None


@pytest.mark.slow
def test_another_tenants_skills_have_no_figures(world: World) -> None:
    skill = make_skill(world, "approved")
    make_conversations(world)
    stranger = make_world()
    assert read_curations([skill.pk], actor=stranger.operator, now=timezone.now() + AFTER_UNUSED_LIMIT) == {}
    assert retirement_candidates(actor=stranger.operator, now=timezone.now() + AFTER_UNUSED_LIMIT) == {}
