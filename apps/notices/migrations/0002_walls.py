"""The walls around notices: people write their own terms, workers tell, agents see nothing; and a look for who is due."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, DueWork, RaiseWall, Wall

SAID = "escalations, calls, drafts, reviews, turns, deliveries, digest_hour, quiet_from, quiet_until, timezone"
TERMS = Wall(
    operator=f"SELECT, INSERT, UPDATE ({SAID}, digested_at, next_look_at)",
    worker="SELECT, UPDATE (told, digested_at, next_look_at, lease_until, fence)",
    agent="",
    crossing="SELECT (id, tenant_id, next_look_at, lease_until)",
    versioned=False,
)
STAYS = """CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, terms_id, is_digest, created_at
    ON notices_notice FOR EACH ROW EXECUTE FUNCTION refuse_change()"""
NOTICES = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (status, tries, failure, sent_at)",
    agent="",
    versioned=False,
    states={"waiting": ("sent", "dead", "moot"), "sent": (), "dead": (), "moot": ()},
    extra=(STAYS,),
)
OF_NOTICES = """
    SELECT terms.tenant_id, terms.id, terms.next_look_at FROM notices_noticeterms AS terms
        WHERE greatest(terms.next_look_at, terms.lease_until) <= statement_timestamp()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers, composite keys and one function."""

    dependencies: ClassVar = [
        ("notices", "0001_tables"),
        ("governance", "0003_walls"),
        ("learning", "0030_leaves_customers_their_money"),
    ]
    operations: ClassVar = [
        RaiseWall("notices_noticeterms", TERMS),
        RaiseWall("notices_notice", NOTICES),
        ComposeKey("notices_noticeterms"),
        ComposeForeignKey("notices_notice", "terms_id", "notices_noticeterms"),
        DueWork("notice", OF_NOTICES),
    ]
