"""The books by REST: verified by people at a word, taken out by admins, and no agent's business."""

import psycopg
from django.conf import settings
from django.utils import timezone

from apps.tenants.audit_export import MOST_ENTRIES
from tests.support.audit_records import is_export_complete
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.worlds.world import make_persona, make_skill, make_world


def test_the_books_are_verified_and_say_what_was_altered(committing: str) -> None:
    # R017
    world, other = make_world(), make_world()
    make_persona(world)
    operator = person_client(world.operator_user)
    sound, again = (operator.post("verifications/", None, Idempotency_Key="k") for _ in range(2))
    assert (sound.status, sound.body["finding_count"], sound.body["findings"]) == (201, 0, [])
    assert (again.body, again.headers["Idempotent-Replayed"]) == (sound.body, "true")
    [kept] = operator.get("verifications/").body["results"]
    assert (kept["position"], kept["sha256"], kept["finding_count"]) == (
        sound.body["position"],
        sound.body["sha256"],
        0,
    )
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_changerecord SET actor_label = 'operator:9' WHERE act = 'persona.create'")
        [(record_id,)] = superuser.execute("SELECT id FROM governance_changerecord WHERE act = 'persona.create'")
    found = operator.post("verifications/", None).body
    assert (found["finding_count"], found["findings"][0]["kind"]) == (1, "altered")
    assert found["findings"][0]["row"] == f"change record {record_id}"
    assert [row["finding_count"] for row in operator.get("verifications/").body["results"]] == [1, 0]
    assert person_client(other.operator_user).get("verifications/").body["results"] == []


def test_what_is_too_long_to_wait_for_is_left_to_the_command(committing: str) -> None:
    world = make_world()
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_auditlink SET position = position + %s", [MOST_ENTRIES])
    operator = person_client(world.operator_user)
    refused = operator.post("verifications/", None)
    assert (refused.status, refused.code) == (409, "conflict")
    assert "manage.py verify_audit" in refused.body["detail"]
    assert operator.get("verifications/").body["results"] == []


def test_an_admin_takes_out_the_books_of_some_days(committing: str) -> None:
    world, other = make_world(), make_world()
    make_skill(world)
    make_skill(other)
    today = timezone.now().date().isoformat()
    admin, path = person_client(world.admin_user), f"verifications/export/?since=2026-01-01&until={today}"
    answer = admin.get(path)
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "private, no-store")
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="books-{world.tenant.key}-2026-01-01-{today}.jsonl"'
    )
    assert answer.body.count(b"\n") > 3
    assert is_export_complete(answer.body, world)
    assert admin.get("verifications/export/?since=2001-01-01&until=2001-01-02").body == b""


def test_operators_take_no_books_out_and_agents_read_nothing_of_them(operator: RestClient, bot: RestClient) -> None:
    days = "since=2026-01-01&until=2026-01-02"
    assert operator.get(f"verifications/export/?{days}").code == "not_permitted"
    for asked in (
        bot.get("verifications/"),
        bot.get(f"verifications/export/?{days}"),
        bot.post("verifications/", None),
    ):
        assert asked.code == "not_permitted"


def test_days_that_are_none_are_refused_by_their_names(admin: RestClient) -> None:
    for query, fields in (
        ("", {"since", "until"}),
        ("?since=2026-01-01", {"until"}),
        ("?since=yesterday&until=2026-01-01", {"since"}),
        ("?since=2026-01-01&until=2026-01-02&colour=red", {"colour"}),
    ):
        refused = admin.get(f"verifications/export/{query}")
        assert (refused.status, set(refused.body["errors"])) == (400, fields)
