"""The walls around decisions taken together: a person writes their own, workers read, agents see nothing; a look for what is left."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, DueWork, RaiseWall, Wall

# The worker decides as the person whom the row names, so nobody writes one in another's name, nor adds to another's.
OWN = """CREATE POLICY review_bulkdecision_own ON review_bulkdecision AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (user_id = app_member())"""
OWN_ITEMS = """CREATE POLICY review_bulkitem_own ON review_bulkitem AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (EXISTS (SELECT 1 FROM review_bulkdecision AS decision WHERE decision.id = decision_id
        AND decision.tenant_id = app_tenant() AND decision.user_id = app_member()))"""
STAYS = """CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, decision_id, proposal_id, read_at
    ON review_bulkitem FOR EACH ROW EXECUTE FUNCTION refuse_change()"""
DECISIONS = Wall(
    operator="SELECT, INSERT",
    agent="",
    crossing="SELECT (id, tenant_id, at)",
    versioned=False,
    append_only=True,
    extra=(OWN,),
)
NOTED = "UPDATE (state, refusal, decided_at)"
ITEMS = Wall(
    operator=f"SELECT, INSERT, {NOTED}",
    worker=f"SELECT, {NOTED}",
    agent="",
    crossing="SELECT (tenant_id, decision_id, state)",
    versioned=False,
    states={"waiting": ("done", "refused"), "done": (), "refused": ()},
    state_column="state",
    extra=(OWN_ITEMS, STAYS),
)
OF_BULK = """
    SELECT decision.tenant_id, decision.id, decision.at FROM review_bulkdecision AS decision
        WHERE EXISTS (SELECT 1 FROM review_bulkitem AS item WHERE item.tenant_id = decision.tenant_id
            AND item.decision_id = decision.id AND item.state = 'waiting')
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers, composite keys and one function."""

    dependencies: ClassVar = [
        ("review", "0001_tables"),
        ("governance", "0012_member"),
        ("learning", "0033_work_of_a_tenant"),
    ]
    operations: ClassVar = [
        RaiseWall("review_bulkdecision", DECISIONS),
        RaiseWall("review_bulkitem", ITEMS),
        ComposeKey("review_bulkdecision"),
        ComposeForeignKey("review_bulkitem", "decision_id", "review_bulkdecision"),
        DueWork("bulk", OF_BULK),
    ]
