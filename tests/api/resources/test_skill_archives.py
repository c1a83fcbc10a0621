"""Skills in the open format over REST: a zip of what is approved, and what became of each that came."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.skills.import_export.zip_archives import ARCHIVE_BYTES
from apps.skills.models import Skill, SkillUse
from tests.support.drivers.rest_client import ROOT, Answer, RestClient, agent_client, person_client
from tests.support.factories.zip_archives import SKILL_MD, make_skill_md, make_zip
from tests.support.worlds.world import World, make_neighbour, make_skill, make_skill_with_file

SKILL_FILES = {
    "send-an-invoice/SKILL.md": SKILL_MD,
    "send-an-invoice/references/addresses.csv": b"name,address\n",
    "send-an-invoice/scripts/run.py": b"print()",
    "odd/SKILL.md": b"nothing",
}


def send(asker: RestClient, content: bytes, name: str = "theirs.zip", **fields: str) -> Answer:
    body = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile(name, content), **fields})
    response = asker.client.generic("POST", f"{ROOT}/skills/import/", body, MULTIPART_CONTENT)
    return Answer(response.status_code, response.json(), response.headers)


def names_in(answer: Answer) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        return archive.namelist()


def skills(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).order_by("pk"))


def test_each_skill_that_came_has_its_own_result(world: World, operator: RestClient) -> None:
    answer = send(operator, make_zip(SKILL_FILES), agent_key="support")
    assert (answer.status, answer.body["drafted"]) == (200, 1)
    one, odd = answer.body["skills"]
    [skill] = skills(world)
    assert (one["name"], one["outcome"], one["skill_id"], one["reason"]) == ("send-an-invoice", "drafted", skill.pk, "")
    assert (one["files"], one["findings"]) == (["addresses.csv"], [])
    assert one["left_out"][0].startswith("scripts/run.py: Files with the extension .py are not accepted.")
    assert (odd["folder"], odd["outcome"], odd["skill_id"]) == ("odd", "refused", None)
    assert "has no front matter" in odd["reason"]
    shown = operator.get(f"skills/{skill.pk}/").body
    assert shown["front_matter"]["license"] == "CC-BY-4.0"
    again = send(operator, make_zip(SKILL_FILES), agent_key="support").body
    assert (again["drafted"], again["skills"][0]["outcome"]) == (0, "exists")


def test_a_check_says_the_same_and_writes_nothing(world: World, bot: RestClient) -> None:
    answer = send(bot, make_zip(SKILL_FILES), dry_run="true")
    assert [each["outcome"] for each in answer.body["skills"]] == ["new", "refused"]
    assert (answer.body["drafted"], skills(world)) == (0, [])


def test_an_agent_imports_and_exports_its_own_by_its_token(world: World, bot: RestClient, operator: RestClient) -> None:
    # R018, R093
    assert send(bot, SKILL_MD, "SKILL.md").body["drafted"] == 1
    [draft] = skills(world)
    assert (draft.drafted_by, draft.taint) == ("agent:support", "import")
    refused = bot.get(f"skills/{draft.pk}/export/")
    assert (refused.status, refused.code) == (409, "conflict")
    assert bot.get("skills/export/").status == 409
    skill = make_skill_with_file(world, "approved")
    for path in (f"skills/{skill.pk}/export/", "skills/export/", "skills/export/?agent_key=support"):
        answer = bot.get(path)
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/zip")
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert names_in(answer) == [f"{skill.name}/SKILL.md", f"{skill.name}/prices.csv"]
        assert answer.body == operator.get(path).body
    with acting_as(world.operator):
        assert not SkillUse.objects.exists(), "taking a copy away is no use of it"


def test_what_looks_like_somebodys_leaves_by_a_persons_word_alone(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    skill = make_skill(world, "approved", body="Write to ada@example.org.")
    for path in (f"skills/{skill.pk}/export/", "skills/export/"):
        refused = operator.get(path)
        assert (refused.status, refused.code) == (409, "findings_unconfirmed")
        assert refused.body["findings"] == [f"“ada@example.org” (e-mail) in support/{skill.name}, body"]
        assert operator.get(f"{path}?confirm_findings=true").status == 200
        assert operator.get(f"{path}?confirm_findings=false").status == 409
        assert operator.get(f"{path}?confirm_findings=yes").body["errors"] == {
            "confirm_findings": ["Send true or false."]
        }
        assert "A person has to review" in bot.get(f"{path}?confirm_findings=true").body["detail"]


def test_what_cannot_be_read_or_is_not_known_is_refused_with_the_field(world: World, operator: RestClient) -> None:
    broken = send(operator, b"PK\x03\x04", agent_key="support")
    assert (broken.status, broken.code, list(broken.body["errors"])) == (400, "invalid", ["file"])
    assert send(operator, SKILL_MD).body["errors"]["agent_key"]
    assert send(operator, SKILL_MD, agent_key="nobody").body["errors"]["agent_key"]
    assert send(operator, SKILL_MD, agent_key="support", status="approved").body["errors"]["status"]
    assert operator.post("skills/import/", {"file": "x"}).status in {400, 415}
    assert operator.get("skills/export/?agent_key=nobody").status == 400
    assert operator.get("skills/export/?status=draft").status == 400
    assert skills(world) == []


def test_a_body_is_refused_by_its_announced_length(operator: RestClient) -> None:
    answer = operator.client.generic(
        "POST",
        f"{ROOT}/skills/import/",
        b"x",
        MULTIPART_CONTENT,
        CONTENT_LENGTH=str(ARCHIVE_BYTES + 20_001),
    )
    assert answer.status_code == 413


def test_another_tenants_skills_are_not_there(world: World, other: World) -> None:
    # R006
    skill = make_skill(world, "approved")
    for stranger in (agent_client(other), person_client(other.operator_user)):
        assert stranger.get(f"skills/{skill.pk}/export/").status == 404
        assert stranger.get("skills/export/").status == 409
        assert stranger.get("skills/export/?agent_key=billing").status == 400
    make_neighbour(world, "billing")
    theirs, nowhere = (
        send(person_client(other.operator_user), SKILL_MD, agent_key=key) for key in ("billing", "nobody")
    )
    assert (theirs.status, nowhere.status) == (400, 400)
    assert theirs.body["errors"]["agent_key"][0].replace("billing", "nobody") == nowhere.body["errors"]["agent_key"][0]


def test_an_import_needs_the_proof_that_the_page_was_ours(world: World) -> None:
    stranger = person_client(world.operator_user, enforce_csrf_checks=True)
    refused = send(stranger, SKILL_MD, agent_key="support")
    assert (refused.status, refused.code) == (403, "csrf_failed")
    assert skills(world) == []


@pytest.mark.parametrize("content", [make_skill_md("a"), make_zip({"a/SKILL.md": make_skill_md("a")})])
def test_files_larger_than_the_installation_takes_are_left_out(
    world: World, operator: RestClient, settings: Settings, content: bytes
) -> None:
    settings.ATTACHMENT_BYTES = 5
    assert send(operator, content, agent_key="support").body["drafted"] == 1
    full = make_zip({"b/SKILL.md": make_skill_md("b"), "b/x.txt": b"123456"})
    [left] = send(operator, full, agent_key="support").body["skills"][0]["left_out"]
    assert left.startswith("x.txt: The file has 6 bytes; at most 5 are allowed.")
