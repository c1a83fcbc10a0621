"""A skill in quarantine: found by no agent, decided on by nobody, and back as it was when a person releases it."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.review.skill_actions import approve_skill
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input
from apps.skills.actions import amend_skill, arrange_files, deprecate_skill, detach_file, discard_skill, revise_skill
from apps.skills.attachment_upload import upload_file
from apps.skills.models import Skill
from apps.skills.quarantine import quarantine_skill, release_skill
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_skill_with_file, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def prompt_skill_names(world: World) -> list[str]:
    return [
        line.name
        for line in read_prompt_input(world.agent, "", actor=world.bot, system=world.system, now=timezone.now()).skills
    ]


def test_it_leaves_the_index_and_comes_back_as_it_was(world: World) -> None:
    # R095
    skill = make_skill(world, "approved")
    quarantine_skill(skill, actor=world.operator, reason="Sends people elsewhere.")
    assert prompt_skill_names(world) == []
    release_skill(skill, actor=world.operator, reason="It was the right address.")
    assert prompt_skill_names(world) == [skill.name]
    assert (skill.status, skill.quarantined_by, skill.quarantine_reason) == (Skill.Status.APPROVED, "", "")
    with acting_as(world.operator):
        acts = ChangeRecord.objects.filter(subject_type="skills.skill", subject_id=skill.pk).order_by("id")
        assert [record.act for record in acts][-2:] == ["skill.quarantine", "skill.release"]


def test_a_running_session_that_still_lists_it_cannot_fetch_it(world: World, standin: StandIn) -> None:
    # R095
    skill = make_skill(world, "approved")
    run_customer_turn(world, "Hello", standin)
    quarantine_skill(skill, actor=world.operator, reason="Wrong.")
    standin.play(tool("get_skill", skill_id=skill.pk), reply("Done."))
    [made] = calls(world, run_customer_turn(world, "Please read it", standin))
    assert made["is_error"] is True
    assert skill.body not in str(made["result"])


def test_nothing_is_decided_about_it(world: World) -> None:
    draft, live = make_skill(world), make_skill(world, "approved")
    for skill in (draft, live):
        quarantine_skill(skill, actor=world.operator, reason="Odd.")
    refused = (
        lambda: approve_skill(draft, actor=world.operator, reviewed_sha256=draft.content_sha256),
        lambda: amend_skill(draft, actor=world.operator, values={"body": "New."}),
        lambda: discard_skill(draft, actor=world.operator),
        lambda: revise_skill(live, actor=world.operator, values={"body": "New."}),
        lambda: deprecate_skill(live, actor=world.operator),
    )
    for decide in refused:
        with pytest.raises(IllegalTransition, match=r"in quarantine \(Odd\.\)\. Release it before you decide on it"):
            decide()


def test_its_files_are_held_with_it(world: World) -> None:
    # R091
    skill = make_skill_with_file(world)
    quarantine_skill(skill, actor=world.operator, reason="Odd.")
    refused: tuple[Callable[[], Skill], ...] = (
        lambda: upload_file(skill, actor=world.operator, name="more.txt", content=b"More"),
        lambda: detach_file(skill, actor=world.operator, name="prices.csv"),
        lambda: arrange_files(skill, actor=world.operator, names=["prices.csv"]),
    )
    for change in refused:
        with pytest.raises(IllegalTransition, match="Release it before you decide on it") as refusal:
            change()
        # Said by the application, before the database has to.
        assert refusal.value.__cause__ is None


@pytest.mark.parametrize("column", ["attachments = '[]'", "body = 'Other.'", "taint = 'operator'"])
def test_the_database_releases_it_only_as_it_went_in(column: str, world: World) -> None:
    skill = make_skill_with_file(world)
    quarantine_skill(skill, actor=world.operator, reason="Odd.")
    release = "UPDATE skills_skill SET quarantined_at = NULL, quarantined_by = '', quarantine_reason = ''"
    with acting_as(world.operator), connection.cursor() as cursor:
        with pytest.raises(IntegrityError, match="in quarantine"), transaction.atomic():
            cursor.execute(f"{release}, {column} WHERE id = {skill.pk}")
        cursor.execute(f"{release} WHERE id = {skill.pk}")
        assert cursor.rowcount == 1


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("name = 'Issue-A-Refund'", "skill_name_is_lower_case"),
        (
            "attachments = attachments || jsonb_set(attachments, '{0,name}', '\"PRICES.csv\"')",
            "may not have the same name",
        ),
    ],
)
def test_no_skill_and_no_file_of_one_is_called_like_another_but_for_its_case(
    values: str, why: str, world: World
) -> None:
    make_skill_with_file(world)
    with pytest.raises(IntegrityError, match=why), acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(f"UPDATE skills_skill SET {values}")  # noqa: S608  # values above


def test_it_says_why_and_is_not_there_twice(world: World) -> None:
    skill = make_skill(world)
    with pytest.raises(Invalid, match="Give a reason for the quarantine"):
        quarantine_skill(skill, actor=world.operator, reason=" ")
    with pytest.raises(Conflict, match="not in quarantine"):
        release_skill(skill, actor=world.operator, reason="Why not.")
    quarantine_skill(skill, actor=world.operator, reason="Odd.")
    with pytest.raises(Conflict, match=r"in quarantine already: Odd\."):
        quarantine_skill(skill, actor=world.operator, reason="Again.")
    with pytest.raises(Invalid, match="Give a reason for the release"):
        release_skill(skill, actor=world.operator, reason="")


def test_agents_neither_put_a_skill_there_nor_take_it_out(world: World) -> None:
    # R015
    skill = make_skill(world)
    with pytest.raises(NotPermitted):
        quarantine_skill(skill, actor=world.bot, reason="Rival.")
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        acting_as(world.bot),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE skills_skill SET quarantined_at = NULL WHERE id = %s", [skill.pk])
