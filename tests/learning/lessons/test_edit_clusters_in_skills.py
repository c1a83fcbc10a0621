"""What people change in drafts that all stand on one skill is proposed as a change of that skill (R138, Z-3)."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted
from apps.governance.models import Proposal
from apps.learning.lessons.actions import reopen_cluster
from apps.learning.lessons.edit_cluster_proposals import propose_skill_change, shared_skill
from apps.learning.lessons.lesson_capture import attempt_capture
from apps.learning.lessons.models import EditCluster
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.skills.actions import deprecate_skill
from apps.skills.models import Skill
from apps.skills.proposals import propose_revision
from tests.support.drivers.console_client import decide, page_of, page_words, signed_in
from tests.support.drivers.rest_client import agent_client, person_client
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.desk import make_waiting_draft
from tests.support.factories.lessons import DRAFT_TEXT, QUESTION, edit_clusters_of, make_edited_draft
from tests.support.worlds.world import World, make_event, make_skill, make_world

NUMBERED = f"{DRAFT_TEXT} Your order number is 4711."
LINE = "Put the order number into a reply where you know it and it fits."


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def edit_draft_with_skills(world: World, *read: Skill, sent: str = NUMBERED) -> None:
    draft = make_waiting_draft(world, make_event(world, QUESTION).conversation, DRAFT_TEXT, read)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text=sent)


def cluster_of(world: World, *reads: tuple[Skill, ...]) -> EditCluster:
    """What drafts show that were written after these skills were read."""
    for read in reads:
        edit_draft_with_skills(world, *read)
    attempt_capture(world.tenant.pk, world.agent.pk)
    (cluster,) = edit_clusters_of(world)
    found: EditCluster = cluster
    return found


def revisions(world: World) -> list[Proposal]:
    with acting_as(world.operator):
        return list(Proposal.objects.visible_to(world.operator).filter(kind=Proposal.Kind.SKILL_REVISION))


def test_the_line_waits_as_a_step_of_the_skill_with_the_drafts_as_evidence(world: World) -> None:
    skill, other = make_skill(world, "approved"), make_skill(world, "approved")
    cluster = cluster_of(world, (skill,), (skill, other), (skill,))
    assert shared_skill(cluster, actor=world.operator) == skill
    propose_skill_change(cluster, actor=world.operator)
    (proposal,) = revisions(world)
    assert proposal.content["body"].endswith(f"1. Note how they wish to be reached.\n2. {LINE}\n")
    assert proposal.rationale == "A person added the order number, 3 times."
    assert (proposal.evidence["edit_cluster_id"], len(proposal.evidence["draft_ids"])) == (cluster.pk, 3)
    assert (cluster.status, cluster.proposal_id) == ("proposed", proposal.pk)
    approve_as_read(proposal, world.operator)
    with acting_as(world.operator):
        assert LINE in Skill.objects.get(pk=skill.pk).body
    reopen_cluster(cluster, actor=world.operator)
    with pytest.raises(Conflict, match="contains this line already"):
        propose_skill_change(cluster, actor=world.operator)


def test_it_joins_the_next_version_that_waits(world: World) -> None:
    skill = make_skill(world, "approved")
    waiting = propose_revision(
        skill, actor=world.bot, values={"title": "Refunds", "body": "## Pitfalls\n- Look twice."}
    )
    cluster = cluster_of(world, *[(skill,)] * 3)
    propose_skill_change(cluster, actor=world.operator, rule="Name the\norder.")
    (proposal,) = revisions(world)
    body = "## Pitfalls\n- Look twice.\n\n## Procedure\n- Name the order.\n"
    assert (proposal.pk, proposal.content) == (waiting.pk, {"title": "Refunds", "body": body})


@pytest.mark.slow
def test_only_one_live_skill_of_the_agent_that_all_stand_on_is_meant(world: World) -> None:
    one, two = make_skill(world, "approved"), make_skill(world, "approved")
    cluster = cluster_of(world, (one, two), (one, two), (one, two))
    assert shared_skill(cluster, actor=world.operator) is None, "two of them"
    deprecate_skill(two, actor=world.operator)
    assert shared_skill(cluster, actor=world.operator) == one
    edit_draft_with_skills(world)
    attempt_capture(world.tenant.pk, world.agent.pk)
    assert shared_skill(cluster, actor=world.operator) is None, "one draft stands on none"
    with pytest.raises(Conflict, match="do not all use the same"):
        propose_skill_change(cluster, actor=world.operator)
    assert revisions(world) == []


def test_a_person_proposes_and_writes_a_line_without_built_in_text(world: World) -> None:
    skill = make_skill(world, "approved")
    for _ in range(3):
        edit_draft_with_skills(world, skill, sent=f"{DRAFT_TEXT} The courier rings twice before leaving.")
    attempt_capture(world.tenant.pk, world.agent.pk)
    (cluster,) = edit_clusters_of(world)
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            propose_skill_change(cluster, actor=actor, rule="Say how the courier rings.")
    with pytest.raises(Invalid):
        propose_skill_change(cluster, actor=world.operator)


@pytest.mark.slow
def test_the_page_and_the_api_offer_it_where_it_can_be_done(world: World) -> None:
    skill, browser = make_skill(world, "approved"), signed_in(world.operator_user)
    cluster = cluster_of(world, *[(skill,)] * 3)
    page = page_words(browser.get(page_of(cluster)))
    assert f"All of them stand on {skill.title}" in page
    assert "Propose as a change of the skill" in page
    assert decide(browser, cluster, "propose_in_skill").status_code == 303
    (proposal,) = revisions(world)
    assert LINE in proposal.content["body"]
    assert "All of them stand on" not in page_words(browser.get(page_of(cluster)))
    reopen_cluster(cluster, actor=world.operator)
    answer = person_client(world.operator_user).post(f"edit-clusters/{cluster.pk}/propose/", {"in_skill": True})
    assert (answer.status, answer.code) == (409, "conflict"), "it waits already"
    assert agent_client(world).post(f"edit-clusters/{cluster.pk}/propose/", {"in_skill": True}).status == 403
    make_edited_draft(world, sent=NUMBERED)
    attempt_capture(world.tenant.pk, world.agent.pk)
    assert "Propose as a change of the skill" not in page_words(browser.get(page_of(cluster)))
