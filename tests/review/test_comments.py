"""What people say about a proposal: added, taken back by its author, reworded by nobody, and read by no agent."""

import json

import pytest
from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted, Stale
from apps.governance.models import ChangeRecord, Proposal
from apps.governance.proposals.actions import reject_proposal, withdraw_proposal
from apps.review.comment_actions import add_comment, withdraw_comment
from apps.review.models import Comment
from apps.review.rules import COMMENT_CHARACTERS, COMMENTS_KEPT
from apps.skills.actions import discard_skill
from apps.skills.models import Skill
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import reply, run_customer_turn, tool
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.comments import make_comment, make_proposal
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db
SECRET = "zanzibar-comment-canary"


@pytest.fixture
def world() -> World:
    return make_world()


def comment_records(world: World, comment: Comment) -> list[ChangeRecord]:
    with acting_as(world.operator):
        rows = ChangeRecord.objects.filter(subject_type="review.comment", subject_id=comment.pk)
        return list(rows.select_related("text").order_by("pk"))


def test_a_comment_changes_nothing_of_its_proposal(world: World) -> None:
    proposal = make_proposal(world)
    before = proposal.version, proposal.approval_count
    comment = make_comment(world, "Ask finance\r\nfirst. ", on=proposal)
    assert (comment.text, comment.author) == ("Ask finance\nfirst.", world.operator.label)
    with acting_as(world.operator):
        proposal.refresh_from_db(fields=["version", "approval_count"])
    assert (proposal.version, proposal.approval_count) == before
    [record] = comment_records(world, comment)
    assert (record.act, record.evidence) == ("comment.add", {"proposal_id": proposal.pk})


def test_what_is_decided_may_still_be_talked_about(world: World) -> None:
    applied = approve_as_read(make_proposal(world), world.operator).proposal
    rejected = reject_proposal(make_proposal_again(world), actor=world.operator, reason="No.")
    for proposal in (applied, rejected):
        assert make_comment(world, on=proposal).status == Comment.Status.ACTIVE


def make_proposal_again(world: World) -> Proposal:
    return submission_of(make_skill(world, name="another"), world)


def test_only_its_author_takes_a_comment_back_and_the_history_keeps_the_words(world: World) -> None:
    comment = make_comment(world)
    with pytest.raises(NotPermitted, match="Only the author of a comment"):
        withdraw_comment(comment, actor=world.admin)
    with pytest.raises(Stale):
        withdraw_comment(comment, actor=world.operator, read_at=comment.version + 1)
    withdraw_comment(comment, actor=world.operator, read_at=comment.version)
    assert (comment.status, comment.text) == (Comment.Status.WITHDRAWN, "")
    assert [record.act for record in comment_records(world, comment)] == ["comment.add", "comment.withdraw"]
    assert comment_records(world, comment)[1].text.before["text"] == "Ask finance first."
    with pytest.raises(IllegalTransition):
        withdraw_comment(comment, actor=world.operator)


@pytest.mark.parametrize("text", ["", " \n", "x" * (COMMENT_CHARACTERS + 1), "a\x00b"])
def test_a_comment_that_cannot_be_kept_is_refused_by_its_field(world: World, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        add_comment(make_proposal(world), actor=world.operator, text=text)
    assert set(refused.value.fields) == {"text"}


def test_a_proposal_with_too_many_comments_takes_no_more(world: World) -> None:
    comment = make_comment(world)
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO review_comment (tenant_id, proposal_id, agent_id, text, status, author, version, taint,"
            " created_at, updated_at) SELECT tenant_id, proposal_id, agent_id, 'x', 'active', author, 1, 'operator', now(),"
            " now() FROM review_comment, generate_series(2, %s) WHERE id = %s",
            [COMMENTS_KEPT, comment.pk],
        )
    with pytest.raises(Conflict, match="200 comments"):
        make_comment(world, on=comment.proposal)


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_what_people_talk_about_is_not_taken_back(world: World, who: str) -> None:
    draft, actor = make_skill(world), getattr(world, who)
    withdraw_comment(make_comment(world, on=submission_of(draft, world)), actor=world.operator)
    with pytest.raises(Conflict, match="commented on it"):
        withdraw_proposal(submission_of(draft, world), actor=actor)
    with pytest.raises(Conflict, match="commented on it"):
        discard_skill(draft, actor=actor)


def submission_of(draft: Skill, world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.about(draft).get()


@pytest.mark.parametrize("text", ["Otherwise.", "Ask finance first. Or not."])
def test_the_database_lets_nobody_reword_a_comment(world: World, text: str) -> None:
    comment = make_comment(world)
    reworded = run_and_undo(world.operator, "UPDATE review_comment SET text = %s WHERE id = %s", [text, comment.pk])
    assert reworded.sqlstate == BROKEN_RULE
    for statement in ("UPDATE review_comment SET author = 'operator:1'", "DELETE FROM review_comment"):
        assert run_and_undo(world.operator, statement).sqlstate == NO_RIGHT
    emptied = run_and_undo(world.operator, "UPDATE review_comment SET text = ''")
    assert emptied.constraint == "comment_has_text_until_it_is_withdrawn"


def test_neither_agents_nor_turns_may_look_at_comments(world: World) -> None:
    make_comment(world)
    for actor in (world.bot, world.system):
        assert run_and_undo(actor, "SELECT text FROM review_comment").sqlstate == NO_RIGHT
    with pytest.raises(NotPermitted):
        add_comment(make_proposal_again(world), actor=world.bot, text="Me too.")


@pytest.mark.slow
def test_no_prompt_and_no_answer_of_a_tool_carries_a_comment(world: World, standin: StandIn) -> None:
    make_persona(world)
    submission = submission_of(make_skill(world, name="greet"), world)
    for proposal in (submission, make_proposal(world)):
        make_comment(world, f"Say {SECRET} to nobody.", on=proposal)
    standin.play(tool("list_skills"), tool("skill_search", query="canary of zanzibar"), reply("Done."))
    run_customer_turn(world, "Hello", standin)
    approve_as_read(submission, world.operator)
    run_customer_turn(world, "Hello again", standin, thread="another")
    assert len(standin.requests()) > 1
    assert SECRET not in json.dumps(standin.requests())
