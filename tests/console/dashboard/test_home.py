"""The page a day begins with: what waits, each with the list that shows just that."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from apps.console.dashboard.pending_work import pending_counts, write_count_query
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import MissingActor
from apps.governance.proposals.actions import claim_proposal
from apps.launcher.postgres import Postgres
from apps.runtime.kill_switch_checks import StoppedByPerson
from apps.runtime.models import Turn
from tests.console.review.test_inbox import submission
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import page_text, page_words, signed_in
from tests.support.factories.contradictions import make_contradiction
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.external_tools import make_waiting_call
from tests.support.factories.lessons import make_cluster, make_version
from tests.support.factories.memory_tiers import make_pending_tier, make_tier
from tests.support.factories.reports import make_report
from tests.support.worlds.world import World, make_conversation, make_skill, make_world

__all__ = ["committing"]

HOME = "/admin/"


def page_context(client: Client, path: str) -> Any:
    """What the page at a path was rendered from."""
    response: Any = client.get(path)
    return response.context_data


def queues_of(client: Client) -> dict[str, Any]:
    """What waits, as the page has it, by title."""
    return {queue.title: queue for queue in page_context(client, HOME)["home"].queues}


def make_stuck_turn(world: World, **differs: Any) -> Turn:
    """A turn that runs since twenty minutes, under a lease that stands."""
    now = timezone.now()
    usual = {"started_at": now - timedelta(minutes=20), "lease_until": now + timedelta(minutes=1)}
    with acting_as(world.system):
        return Turn.objects.create(
            tenant=world.tenant, conversation=make_conversation(world, f"http:{differs}"), **{**usual, **differs}
        )


@pytest.mark.slow
def test_every_queue_leads_to_exactly_what_it_counts(world: World, operator: Client) -> None:
    # What nobody is asked for stands beside it: a turn in good health, and a colleague's claim.
    make_stuck_turn(world)
    make_stuck_turn(world, failed_calls=4)
    make_stuck_turn(world, lease_until=timezone.now() - timedelta(minutes=5))
    make_stuck_turn(world, is_released=True, failure_code=StoppedByPerson.code)
    claim_proposal(submission(world, name="mine"), actor=world.operator)
    claim_proposal(submission(world, name="theirs"), actor=world.admin)
    for make in (make_waiting_draft, make_escalation, make_report, make_waiting_call, make_contradiction, make_cluster):
        make(world)
    # R149, R174
    make_version(world)
    make_pending_tier(world)
    make_tier(world)
    waits = queues_of(operator)
    assert {title: queue.count for title, queue in waits.items()} == {
        "Reviews you are looking at": 1,
        "Reply drafts": 1,
        "Escalations": 1,
        "Reported replies": 1,
        "Calls to approve": 1,
        "Turns tried again for 10 minutes or more": 1,
        "Turns whose worker is gone": 1,
        "Turns that wait for a switch, a budget or an endpoint": 1,
        "Reviews in all": 2,
        "Contradictions": 1,
        "Learning versions": 1,
        "Distilled memory that waits for a first yes": 1,
        "Edits that repeat": 1,
    }
    for title, queue in waits.items():
        listed = page_context(operator, queue.url)["cl"]
        assert listed.result_count == queue.count, title
        assert queue.oldest <= timezone.now()


def test_what_somebody_took_up_is_theirs_to_decide_first(world: World, operator: Client) -> None:
    first, second = submission(world, name="first"), submission(world, name="second")
    claim_proposal(second, actor=world.operator)
    mine = page_context(operator, HOME)["home"].decisions
    assert [proposal.pk for proposal in mine] == [second.pk, first.pk]
    colleague = page_context(signed_in(world.admin_user), HOME)["home"].decisions
    assert [proposal.pk for proposal in colleague] == [first.pk, second.pk]


@pytest.mark.unmeasured
def test_a_review_that_waits_for_days_is_overdue(committing: str, postgres: Postgres, settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    world = make_world()
    old, _ = submission(world, name="old"), submission(world, name="new")
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        late = "UPDATE governance_proposal SET created_at = now() - interval '4 days' WHERE id = %s"
        superuser.execute(late, [old.pk])
    client = signed_in(world.operator_user)
    overdue = queues_of(client)["Reviews that wait for more than 3 days"]
    assert overdue.count == 1
    assert [row.pk for row in page_context(client, overdue.url)["cl"].result_list] == [old.pk]
    assert "1 Reviews that wait for more than 3 days 4 days" in page_words(client.get(HOME))


def test_nothing_of_another_tenant_is_counted(world: World) -> None:
    make_skill(world)
    make_waiting_draft(world)
    make_stuck_turn(world, failed_calls=4)
    stranger = signed_in(make_world().operator_user)
    assert queues_of(stranger) == {}
    assert "All is done: nothing waits for anybody." in page_text(stranger.get(reverse("admin:index")))


def test_a_statement_written_before_counts_as_of_the_moment_it_is_asked_at(world: World) -> None:
    now = timezone.now()
    with acting_as(world.operator):
        earlier = write_count_query(world.operator, now - timedelta(days=2, minutes=3))
        written = write_count_query(world.operator, now)
    assert earlier.sql == written.sql
    assert earlier.parameters != written.parameters
    assert earlier.parameters_at(now) == written.parameters


def test_what_waits_is_counted_for_nobody_but_the_one_acting(world: World) -> None:
    # R006: the first count keeps the statement for the next.
    request: Any = RequestFactory().get(HOME)
    request.actor = world.operator
    with acting_as(world.operator):
        assert pending_counts(request).count("drafts") == 0
    del request.awaiting
    with pytest.raises(MissingActor), acting_as(world.admin):
        pending_counts(request)
