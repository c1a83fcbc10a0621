"""Skills in the open format leave as a person approved them, and come in as drafts that a person has yet to approve."""

import io
import json
import zipfile
from dataclasses import replace

import pytest
from pytest_django import Settings

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, NotVisible
from apps.governance.models import ChangeRecord, Proposal
from apps.governance.policy.policy_table import Act, codename
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.skills.actions import deprecate_skill, revise_skill
from apps.skills.attachment_upload import upload_file
from apps.skills.import_export.skill_export import (
    archive_name,
    build_archive,
    select_approved_skill,
    select_approved_skills,
)
from apps.skills.import_export.skill_import import (
    ImportOutcome,
    SkillImportItem,
    draft_imported_skills,
    preview_import,
    read_skills_file,
)
from apps.skills.models import Skill
from apps.skills.proposals import findings_in
from apps.skills.quarantine import quarantine_skill
from apps.tenants.authentication.actor_resolution import staff_actor
from tests.support.factories.zip_archives import SKILL_MD, make_skill_md, make_zip
from tests.support.worlds.world import (
    World,
    approve_read_skill,
    make_neighbour,
    make_skill,
    make_skill_with_file,
    make_staff,
    make_world,
)

pytestmark = pytest.mark.django_db

CSV = b"name,address\n"
SKILL_FILES = {"send-an-invoice/SKILL.md": SKILL_MD, "send-an-invoice/references/addresses.csv": CSV}


@pytest.fixture
def world() -> World:
    return make_world()


def import_skills(world: World, content: bytes, actor: Actor | None = None) -> list[SkillImportItem]:
    found = read_skills_file(io.BytesIO(content))
    return draft_imported_skills(found, world.agent.pk, actor=actor or world.operator, source="theirs.zip")


def import_one_skill(world: World, content: bytes, actor: Actor | None = None) -> Skill:
    [item] = import_skills(world, content, actor)
    assert (item.outcome, item.reason) == (ImportOutcome.DRAFTED, "")
    assert item.skill is not None
    return item.skill


def skills(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).order_by("name"))


def files_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def export_skill(skill: Skill, actor: Actor) -> bytes:
    return build_archive(select_approved_skill(skill.pk, actor=actor), actor=actor)


def test_an_import_is_one_draft_with_its_files_marked_and_waiting(world: World) -> None:
    # R093, R101
    skill = import_one_skill(world, make_zip(SKILL_FILES))
    assert (skill.name, skill.status, skill.taint) == ("send-an-invoice", "draft", "import")
    assert (skill.drafted_by, skill.description) == (world.operator.label, parsed_value("description"))
    [file] = skill.files
    assert (file.name, file.size_bytes, file.is_imported) == ("addresses.csv", len(CSV), True)
    with acting_as(world.operator):
        [record] = ChangeRecord.objects.filter(subject_id=skill.pk, act=Act.SKILL_DRAFT)
        [proposal] = Proposal.objects.visible_to(world.operator).open()
    assert record.evidence["imported_from"] == "theirs.zip"
    assert record.evidence["front_matter"]["license"] == "CC-BY-4.0"
    assert (proposal.taint, proposal.target_id) == ("import", skill.pk)
    stored = skills(world)[0]
    assert stored.content_sha256 == stored.sha256, "the database stamps what the row says"


def parsed_value(field: str) -> str:
    [found] = read_skills_file(io.BytesIO(SKILL_MD))
    assert found.text is not None
    return found.text.values[field]


def test_what_is_kept_of_the_format_is_part_of_what_is_approved_and_nobody_changes_it(world: World) -> None:
    skill = import_one_skill(world, SKILL_MD)
    plain = replace_front_matter(skill, "")
    assert plain.sha256 != skill.sha256
    approve_read_skill(skill, world.operator)
    revise_skill(skill, actor=world.operator, values={"body": "Another."})
    assert json.loads(skills(world)[0].front_matter)["metadata"]["author"] == "example-org"
    assert skills(world)[0].approved_sha256 == skill.sha256


def replace_front_matter(skill: Skill, front_matter: str) -> Skill:
    return Skill(
        **{name: getattr(skill, name) for name in ("name", "title", "description", "body")}, front_matter=front_matter
    )


def test_export_and_import_and_export_again_are_the_same_bytes_but_for_the_version(world: World) -> None:
    skill = import_one_skill(world, make_zip(SKILL_FILES))
    upload_file(skill, actor=world.operator, name="SKILL.md", content=b"Not this one.")
    upload_file(skill, actor=world.operator, name="terms.txt", content=b"Pay first.")
    approve_read_skill(skill, world.operator)
    revise_skill(skill, actor=world.operator, values={"title": "Ein Titel: --- „ja“", "category": "Billing"})
    first = export_skill(skill, world.operator)
    assert list(files_of(first)) == [
        *("send-an-invoice/SKILL.md", "send-an-invoice/references/addresses.csv"),
        *("send-an-invoice/references/SKILL.md", "send-an-invoice/terms.txt"),
    ]
    other = make_world()
    again = import_one_skill(other, first)
    approve_read_skill(again, other.operator)
    second = export_skill(again, other.operator)
    assert (again.version, skill.version) == (2, 5)
    assert second == first.replace(b'preceptor-version: "5"', b'preceptor-version: "2"') or files_of(second) == {
        name: content.replace(b'preceptor-version: "5"', b'preceptor-version: "2"')
        for name, content in files_of(first).items()
    }
    assert again.approved_sha256 == skill.approved_sha256
    assert export_skill(again, other.operator) == second


def test_only_what_a_person_approved_leaves(world: World) -> None:
    # R018, R095
    approved, draft = make_skill(world, "approved"), make_skill(world)
    retired, held = make_skill(world, "deprecated"), make_skill(world, "approved")
    quarantine_skill(held, actor=world.operator, reason="Odd.")
    for skill, state_text in ((draft, "draft"), (retired, "deprecated"), (held, "in quarantine")):
        with pytest.raises(Conflict, match=f"this skill is {state_text}"):
            select_approved_skill(skill.pk, actor=world.operator)
    [only] = select_approved_skills(actor=world.operator)
    assert (only.pk, archive_name([only])) == (approved.pk, f"{approved.name}.zip")
    deprecate_skill(approved, actor=world.operator)
    with pytest.raises(Conflict, match="no approved skill"):
        select_approved_skills(actor=world.operator)


def test_an_agent_exports_its_own_and_nobody_another_tenants(world: World) -> None:
    # R006, R014
    mine = make_skill_with_file(world, "approved")
    neighbour = make_neighbour(world)
    theirs = drafted_for(world, neighbour.pk)
    approve_read_skill(theirs, world.operator)
    assert [skill.pk for skill in select_approved_skills(actor=world.bot)] == [mine.pk]
    with pytest.raises(NotVisible):
        select_approved_skill(theirs.pk, actor=world.bot)
    with pytest.raises(NotVisible):
        select_approved_skill(mine.pk, actor=make_world().operator)
    both = select_approved_skills(actor=world.operator)
    assert archive_name(both) == "skills.zip"
    assert [name.split("/")[0] for name in files_of(build_archive(both, actor=world.operator))] == [
        "billing",
        "support",
        "support",
    ]
    assert archive_name([both[1], both[1]]) == "skills-support.zip"
    assert (
        len(
            {
                build_archive(select_approved_skills(actor=actor), actor=actor)
                for actor in (world.operator, world.admin, world.system)
            }
        )
        == 1
    )


def drafted_for(world: World, agent_id: int) -> Skill:
    [item] = draft_imported_skills(
        read_skills_file(io.BytesIO(SKILL_MD)), agent_id, actor=world.operator, source="SKILL.md"
    )
    assert item.skill is not None
    return item.skill


def test_platform_staff_take_nothing_away(world: World) -> None:
    skill = make_skill(world, "approved")
    staff = staff_actor(make_staff().pk, world.tenant.pk)
    with pytest.raises(NotPermitted, match="Ask a member"):
        select_approved_skill(skill.pk, actor=staff)
    with pytest.raises(NotPermitted, match="Ask a member"):
        select_approved_skills(actor=staff)


def test_an_export_holds_no_name_of_anybody(world: World) -> None:
    skill = make_skill_with_file(world, "approved")
    content = export_skill(skill, world.operator)
    for private_value in (
        world.operator.label,
        world.operator_user.username,
        world.tenant.name,
        world.tenant.key,
        world.bot.label,
    ):
        assert private_value.encode() not in content


def test_a_file_that_is_gone_or_another_stops_the_export(world: World, settings: Settings) -> None:
    skill = make_skill_with_file(world, "approved")
    stored = settings.ATTACHMENTS_DIR / skill.files[0].key
    stored.write_bytes(b"other")
    with pytest.raises(NotVisible, match="missing or differs from the uploaded one"):
        export_skill(skill, world.operator)


def test_what_is_here_already_is_left_alone_and_the_rest_is_taken(world: World) -> None:
    # R098
    content = make_zip({**SKILL_FILES, "two/SKILL.md": make_skill_md("two"), "odd/SKILL.md": b"x"})
    assert [item.outcome for item in import_skills(world, content)] == [
        ImportOutcome.DRAFTED,
        ImportOutcome.DRAFTED,
        ImportOutcome.REFUSED,
    ]
    deprecate_skill(skills(world)[0], actor=world.operator)
    assert [item.outcome for item in import_skills(world, content)] == [
        ImportOutcome.EXISTS,
        ImportOutcome.EXISTS,
        ImportOutcome.REFUSED,
    ]
    assert len(skills(world)) == 2


def test_a_look_writes_nothing_and_foresees_what_comes(world: World) -> None:
    found = read_skills_file(io.BytesIO(make_zip({**SKILL_FILES, "odd/SKILL.md": b"x"})))
    items = preview_import(found, world.agent.pk, actor=world.operator)
    assert [item.outcome for item in items] == [ImportOutcome.NEW, ImportOutcome.REFUSED]
    assert skills(world) == []


def test_only_those_named_are_taken(world: World) -> None:
    found = read_skills_file(io.BytesIO(make_zip({**SKILL_FILES, "two/SKILL.md": make_skill_md("two")})))
    chosen = frozenset({"two"})
    items = draft_imported_skills(found, world.agent.pk, actor=world.operator, source="x", names=chosen)
    assert [item.incoming.name for item in items] == ["two"]
    assert [skill.name for skill in skills(world)] == ["two"]


def test_a_zip_without_a_skill_and_one_that_is_broken_are_refused_whole(world: World) -> None:
    for content in (make_zip({"readme.md": b"x"}), make_zip(SKILL_FILES)[:-40], make_zip({"../SKILL.md": SKILL_MD})):
        with pytest.raises(Invalid) as refusal:
            import_skills(world, content)
        assert "file" in refusal.value.fields
    assert skills(world) == []


def test_an_agent_imports_drafts_of_its_own_that_are_nobodys_words_but_strangers(world: World) -> None:
    skill = import_one_skill(world, make_zip(SKILL_FILES), world.bot)
    assert (skill.drafted_by, skill.taint, len(skill.files)) == (world.bot.label, "import", 1)
    found, neighbour = read_skills_file(io.BytesIO(SKILL_MD)), make_neighbour(world)
    [foreign] = draft_imported_skills(found, neighbour.pk, actor=world.bot, source="SKILL.md")
    assert foreign.outcome is ImportOutcome.REFUSED
    assert [each.agent_id for each in skills(world)] == [world.agent.pk]


def test_the_system_imports_texts_and_nobody_attaches_files_without_a_name(world: World) -> None:
    [item] = import_skills(world, make_zip(SKILL_FILES), world.system)
    assert (item.outcome, "Name the member who imports it" in item.reason) == (ImportOutcome.REFUSED, True)
    assert import_one_skill(world, make_skill_md("two"), world.system).taint == "import"


def test_who_may_not_attach_files_imports_none(world: World) -> None:
    # R017
    barred = replace(world.operator, grants=world.operator.grants - {codename(Act.SKILL_ATTACH)})
    [item] = import_skills(world, make_zip(SKILL_FILES), barred)
    assert item.outcome is ImportOutcome.REFUSED
    assert skills(world) == []


def test_what_came_along_unread_is_confirmed_by_hand(world: World) -> None:
    # R091
    plug = b"\x89PNG\r\n\x1a\n" + bytes(20)
    skill = import_one_skill(world, make_zip({**SKILL_FILES, "send-an-invoice/assets/plug.png": plug}))
    assert findings_in(skill) == ("attached file plug.png",)
    upload_file(skill, actor=world.operator, name="own.png", content=plug)
    assert findings_in(skill) == ("attached file plug.png",), "what a person chose by itself needs no second look"


def test_learning_that_is_frozen_takes_nothing_and_says_so(world: World) -> None:
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.admin, reason="Rest.")
    [item] = import_skills(world, make_zip(SKILL_FILES), world.bot)
    assert (item.outcome, "frozen" in item.reason.lower()) == (ImportOutcome.REFUSED, True), item.reason
    assert skills(world) == []


def test_a_tenant_that_is_full_takes_no_more_files(world: World, settings: Settings) -> None:
    settings.ATTACHMENTS_TENANT_BYTES = 5
    [item] = import_skills(world, make_zip(SKILL_FILES))
    assert (item.outcome, "do not fit" in item.reason) == (ImportOutcome.REFUSED, True)


@pytest.mark.slow
def test_more_than_is_sent_at_once_is_for_the_command(world: World, settings: Settings) -> None:
    settings.ATTACHMENT_BYTES = 60_000_000
    # A picture: of that much text the scanners would read every word.
    picture = b"\x89PNG\r\n\x1a\n" + bytes(50_000_000)
    skill = make_skill_with_file(world, "approved", "plug.png", picture)
    with pytest.raises(Conflict, match="export_skills"):
        export_skill(skill, world.operator)
