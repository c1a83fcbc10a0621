"""Files of skills over REST: upload, links that live minutes, and what a link is worth when it is used."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as product
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.skills.actions import deprecate_skill, detach_file
from apps.skills.attachments.signed_links import SALT, make_link
from apps.skills.models import Skill
from apps.tenants.actions import revoke_token
from apps.tenants.authentication.signed_link_holders import HolderKind, SignedLinkHolder
from apps.tenants.models import AgentToken, User
from tests.support.drivers.rest_client import ROOT, Answer, RestClient, agent_client, person_client
from tests.support.worlds.world import World, make_skill, make_skill_with_file

CONTENT = b"Plan,Price\nPro,20\n"


def upload(
    asker: RestClient, skill: Skill, content: bytes = CONTENT, name: str = "prices.csv", **fields: str
) -> Answer:
    body = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile(name, content), **fields})
    response = asker.client.generic("POST", f"{ROOT}/skills/{skill.pk}/attachments/", body, MULTIPART_CONTENT)
    return Answer(response.status_code, response.json(), response.headers)


def list_attachments(asker: RestClient, skill: Skill) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = asker.get(f"skills/{skill.pk}/attachments/").body["attachments"]
    return files


def open_link(link: str) -> Any:  # Any: the test client's response
    """What anybody gets who holds the link and nothing else."""
    return Client().get(link)


def test_a_file_is_uploaded_listed_and_downloaded_by_its_link(world: World, bot: RestClient) -> None:
    # R090, R091, R099
    skill = make_skill(world)
    made = upload(bot, skill)
    assert made.status == 201
    [file] = list_attachments(bot, skill)
    assert {name: file[name] for name in ("name", "media_type", "size_bytes", "uploaded_by")} == {
        "name": "prices.csv",
        "media_type": "text/csv",
        "size_bytes": len(CONTENT),
        "uploaded_by": "agent:support",
    }
    response = open_link(file["link"])
    assert (response.status_code, response.content) == (200, CONTENT)


def test_a_download_runs_nothing_and_is_kept_nowhere(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    upload(bot, skill, name='Ümläut "x".csv')
    response = open_link(list_attachments(bot, skill)[0]["link"])
    assert response.headers["Content-Disposition"] == (
        "attachment; filename=\"_ml_ut x.csv\"; filename*=UTF-8''%C3%9Cml%C3%A4ut%20x.csv"
    )
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "private, no-store"
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert Client().post(list_attachments(bot, skill)[0]["link"]).status_code == 405


def test_a_skill_shows_its_files_and_the_first_as_the_attachment(world: World, bot: RestClient) -> None:
    # Z-20
    skill = make_skill(world)
    assert bot.get(f"skills/{skill.pk}/").body["attachment"] is None
    upload(bot, skill)
    upload(bot, skill, b"Pay first.", "terms.txt")
    shown = bot.get(f"skills/{skill.pk}/").body
    assert [file["name"] for file in shown["attachments"]] == ["prices.csv", "terms.txt"]
    assert shown["attachment"]["name"] == "prices.csv"
    assert "key" not in shown["attachment"], "where bytes lie is nobody's business"
    ordered = bot.patch(f"skills/{skill.pk}/attachments/", {"names": ["terms.txt", "prices.csv"]})
    assert ordered.status == 200
    assert bot.get(f"skills/{skill.pk}/").body["attachment"]["name"] == "terms.txt"
    assert bot.delete(f"skills/{skill.pk}/attachments/terms.txt").status == 204
    assert [file["name"] for file in list_attachments(bot, skill)] == ["prices.csv"]


def test_what_cannot_be_taken_is_said_with_field_and_limit(world: World, bot: RestClient, settings: Settings) -> None:
    skill = make_skill(world)
    refused = upload(bot, skill, b"MZ", "run.exe")
    assert (refused.status, refused.code) == (400, "invalid")
    assert "Files with the extension .exe are not accepted" in refused.body["errors"]["name"][0]
    settings.ATTACHMENT_BYTES = 5
    assert "6 bytes; at most 5 are allowed" in upload(bot, skill, b"x" * 6).body["detail"]
    huge = upload(bot, skill, b"x" * 30_000)
    assert (huge.status, huge.code) == (413, "too_large")
    assert upload(bot, skill, b"x", tenant="2").body["errors"]["tenant"]
    assert bot.post(f"skills/{skill.pk}/attachments/", {"file": "x"}).status == 400
    stale = upload(bot, skill, b"x", version=str(skill.version + 7))
    assert (stale.status, stale.code) == (409, "stale")
    assert list_attachments(bot, skill) == []


def test_a_person_uploads_with_the_proof_that_the_page_was_ours(world: World) -> None:
    skill = make_skill_with_file(world, "approved")
    made = upload(person_client(world.operator_user), skill, b"Pay first.", "terms.txt", reason="Asked for.")
    assert made.status == 201
    refused = upload(person_client(world.operator_user, enforce_csrf_checks=True), skill, b"x", "x.txt")
    assert (refused.status, refused.code) == (403, "csrf_failed")


def test_an_agent_is_told_why_it_may_not_change_what_is_approved(world: World, bot: RestClient) -> None:
    # R018
    skill = make_skill_with_file(world, "approved")
    refused = upload(bot, skill, b"x", "x.txt")
    assert (refused.status, refused.code) == (403, "not_permitted")
    assert "Ask an operator" in refused.body["detail"]
    assert bot.delete(f"skills/{skill.pk}/attachments/prices.csv").status == 403


def test_an_agent_gets_no_link_to_what_nobody_approved(world: World, bot: RestClient) -> None:
    # R095
    skill = make_skill_with_file(world, "approved")
    assert len(list_attachments(bot, skill)) == 1
    deprecate_skill(skill, actor=world.operator)
    assert bot.get(f"skills/{skill.pk}/attachments/").status == 403
    assert len(list_attachments(person_client(world.operator_user), skill)) == 1


def test_another_tenants_files_are_not_there(world: World, other: World) -> None:
    # R006
    skill = make_skill_with_file(world, "approved")
    for stranger in (agent_client(other), person_client(other.operator_user)):
        assert stranger.get(f"skills/{skill.pk}/attachments/").status == 404
        assert upload(stranger, skill).status == 404
        assert stranger.delete(f"skills/{skill.pk}/attachments/prices.csv").status == 404
    # Signed by us for a member of the other tenant: the wall says no, whatever the link says.
    for tenant_id in (other.tenant.pk, world.tenant.pk):
        forged = make_link(
            skill.files[0], skill.pk, SignedLinkHolder(tenant_id, HolderKind.PERSON, other.operator_user.pk)
        )
        assert open_link(f"/files/{forged.token}").status_code == 404


def test_a_link_is_refused_in_the_same_words_whatever_is_wrong(
    world: World, bot: RestClient, settings: Settings
) -> None:
    # R091
    skill = make_skill_with_file(world, "approved")
    link = list_attachments(bot, skill)[0]["link"]
    assert open_link(link).status_code == 200
    token_fields = signing.loads(link.removeprefix("/files/"), salt=SALT)
    expired = signing.dumps([*token_fields[:-1], int((timezone.now() - timedelta(seconds=1)).timestamp())], salt=SALT)
    other_name = signing.dumps([*token_fields[:4], "other.csv", *token_fields[5:]], salt=SALT)
    other_kind = signing.dumps([token_fields[0], "system", *token_fields[2:]], salt=SALT)
    forged = signing.dumps(token_fields, salt=SALT, key="not ours")
    links = [f"/files/{token}" for token in (expired, other_name, other_kind, forged, "x", f"{link[7:-2]}xx")]
    answers = {(open_link(each).status_code, open_link(each).content) for each in links}
    assert len(answers) == 1
    detach_file(skill, actor=world.operator, name="prices.csv")
    assert {(open_link(link).status_code, open_link(link).content)} == answers
    assert answers.pop()[0] == 404


def test_a_link_lives_no_longer_than_five_minutes(world: World, bot: RestClient) -> None:
    skill = make_skill_with_file(world, "approved")
    expires = signing.loads(list_attachments(bot, skill)[0]["link"].removeprefix("/files/"), salt=SALT)[-1]
    assert 0 < expires - timezone.now().timestamp() <= product.ATTACHMENT_LINK_SECONDS <= 300


def test_a_link_ends_with_the_token_it_was_given_to(world: World, bot: RestClient) -> None:
    link = list_attachments(bot, make_skill_with_file(world, "approved"))[0]["link"]
    assert open_link(link).status_code == 200
    with acting_as(world.admin):
        token = AgentToken.objects.visible_to(world.admin).get()
    revoke_token(token, actor=world.admin)
    assert open_link(link).status_code == 404


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_service": True}])
def test_a_link_ends_with_the_person_it_was_given_to(
    world: World, operator: RestClient, change: dict[str, bool]
) -> None:
    skill = make_skill_with_file(world)
    link = list_attachments(operator, skill)[0]["link"]
    assert open_link(link).status_code == 200
    if "is_active" in change:
        User.objects.filter(pk=world.operator_user.pk).update(**change)
        assert open_link(link).status_code == 404
    else:
        nobody = make_link(
            skill.files[0], skill.pk, SignedLinkHolder(world.tenant.pk, HolderKind.PERSON, world.agent.service_user_id)
        )
        assert open_link(f"/files/{nobody.token}").status_code == 404


def test_a_link_to_what_was_deprecated_meanwhile_is_dead_for_the_agent(world: World, bot: RestClient) -> None:
    # R095
    skill = make_skill_with_file(world, "approved")
    link, persons = (
        list_attachments(bot, skill)[0]["link"],
        list_attachments(person_client(world.operator_user), skill)[0]["link"],
    )
    deprecate_skill(skill, actor=world.operator)
    assert open_link(link).status_code == 404
    assert open_link(persons).status_code == 200
