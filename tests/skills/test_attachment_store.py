"""Where files lie: swept when nothing names them, and the same promises with a bucket, held by a real S3 server."""

from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from itertools import count
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import boto3
import pytest
from django.conf import settings as product
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import InvalidStorageError, storages
from django.test import Client
from django.utils import timezone
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from apps.governance.errors import NotVisible
from apps.skills.actions import detach_file
from apps.skills.attachments.attachment_access import read_content
from apps.skills.attachments.blob_store import read_bytes, store_bytes
from apps.skills.attachments.orphan_sweep import sweep_files
from apps.skills.attachments.signed_links import make_link
from apps.skills.tasks import sweep
from apps.tenants.authentication.signed_link_holders import HolderKind, SignedLinkHolder
from config.env_settings import Environment
from config.settings import attachment_storage
from tests.support.drivers.management_command import run_command
from tests.support.worlds.world import World, make_skill_with_file, make_world

pytestmark = pytest.mark.django_db

CONTENT = b"Plan,Price\nPro,20\n"
BUCKET = "preceptor-test"
_numbers = count(1)


@pytest.fixture
def world() -> World:
    # Its files outlive the test, so the tenant is this test's own.
    return make_world(f"stores-{next(_numbers)}")


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """A store of this test's own."""
    settings.STORAGES = {
        **product.STORAGES,
        "attachments": attachment_storage(Environment(attachments_dir=tmp_path / "files")),
    }
    return tmp_path / "files"


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    """A server that speaks S3 on loopback."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(settings: Settings, s3_endpoint: str) -> str:
    """The product, set to a private bucket."""
    environment = Environment(
        attachments_s3_bucket=BUCKET,
        s3_endpoint_url=s3_endpoint,
        s3_region="us-east-1",
        s3_access_key_id="test",
        s3_secret_access_key="test",
    )
    settings.STORAGES = {**product.STORAGES, "attachments": attachment_storage(environment)}
    settings.ATTACHMENTS_S3_BUCKET = BUCKET
    client = boto3.client(
        "s3",
        endpoint_url=s3_endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    client.create_bucket(Bucket=BUCKET)
    return f"{s3_endpoint}/{BUCKET}"


def in_two_days() -> timedelta:
    return timedelta(days=2)


def test_what_nothing_names_is_removed_after_a_day(world: World, folder: Path) -> None:
    file = make_skill_with_file(world).files[0]
    orphan = store_bytes(world.tenant.pk, b"cut off")
    assert sweep_files(timezone.now()) == 0, "an upload of a moment ago may still be named"
    assert sweep_files(timezone.now() + in_two_days()) == 1
    assert read_bytes(orphan) is None
    assert read_bytes(file.key) == CONTENT


def test_what_was_removed_from_a_skill_stays_while_its_history_tells_of_it(world: World, folder: Path) -> None:
    skill = make_skill_with_file(world)
    key = skill.files[0].key
    detach_file(skill, actor=world.bot, name="prices.csv")
    assert sweep_files(timezone.now() + in_two_days()) == 0
    assert read_bytes(key) == CONTENT


def test_files_of_a_tenant_this_database_does_not_know_are_left_alone(world: World, folder: Path) -> None:
    # R006
    stranger = store_bytes(10**9, b"of another installation")
    assert sweep_files(timezone.now() + in_two_days()) == 0
    assert read_bytes(stranger) is not None


def test_the_command_and_the_beat_sweep(world: World, folder: Path) -> None:
    assert run_command("sweep_attachments").out == "Removed 0 unused stored files.\n"
    store_bytes(world.tenant.pk, b"cut off")
    sweep()
    assert product.CELERY_BEAT_SCHEDULE[sweep.name]["task"] == sweep.name


def test_nobody_leads_the_store_out_of_its_folder(folder: Path) -> None:
    with pytest.raises(SuspiciousFileOperation):
        read_bytes("../../etc/passwd")


def test_no_address_of_the_web_leads_into_the_folder(world: World, folder: Path) -> None:
    file = make_skill_with_file(world, "approved").files[0]
    for address in (f"/static/{file.key}", f"/media/{file.key}", f"/files/{file.key}", f"/attachments/{file.key}"):
        response = Client().get(address)
        assert response.status_code == HTTPStatus.NOT_FOUND
        assert CONTENT not in response.content


def test_a_bucket_keeps_files_private_and_gives_them_by_an_address_signed_for_a_minute(
    world: World, bucket: str
) -> None:
    # R091
    skill = make_skill_with_file(world, "approved")
    file = skill.files[0]
    assert read_content(file) == CONTENT
    link = make_link(file, skill.pk, SignedLinkHolder(world.tenant.pk, HolderKind.PERSON, world.operator_user.pk))
    response = Client().get(f"/files/{link.token}")
    assert response.status_code == HTTPStatus.FOUND
    address = response.headers["Location"]
    asked = parse_qs(urlsplit(address).query)
    # moto does not enforce it, so what is asked of the bucket is read here.
    assert asked["X-Amz-Expires"] == ["60"]
    assert asked["response-content-disposition"] == ["attachment; filename=\"prices.csv\"; filename*=UTF-8''prices.csv"]
    with urlopen(address) as download:  # noqa: S310  # the server of this test
        assert download.read() == CONTENT
        assert download.headers["Content-Disposition"].startswith("attachment;")
    with pytest.raises(HTTPError) as refusal:
        urlopen(f"{bucket}/{file.key}")  # noqa: S310  # the same without a signature
    assert refusal.value.code == HTTPStatus.FORBIDDEN
    refusal.value.close()


def test_a_bucket_is_swept_like_the_folder_and_what_is_gone_is_said(world: World, bucket: str) -> None:
    file = make_skill_with_file(world).files[0]
    orphan = store_bytes(world.tenant.pk, b"cut off")
    assert sweep_files(timezone.now() + in_two_days()) == 1
    assert read_bytes(orphan) is None
    storages["attachments"].delete(file.key)
    with pytest.raises(NotVisible, match="attach it again"):
        read_content(file)


def test_without_a_bucket_the_extra_is_not_needed() -> None:
    assert "storages" not in attachment_storage(Environment())["BACKEND"]
    with pytest.raises(InvalidStorageError):
        storages["elsewhere"]
