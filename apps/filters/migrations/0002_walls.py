"""The wall around saved filters: a person's own and the tenant's shared ones; neither agents nor workers see one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RaiseWall, RoleSQL, Wall

FILTERS = Wall(operator="SELECT, INSERT, DELETE", worker="", agent="", versioned=False)
# A filter is written by whom it belongs to. A shared one is taken away by its maker or an admin, others see it only.
OF_PERSONS = """
CREATE POLICY filters_savedfilter_seen ON filters_savedfilter AS RESTRICTIVE FOR SELECT TO @operator@, @staff@
    USING (user_id = app_member() OR is_shared);
CREATE POLICY filters_savedfilter_saved ON filters_savedfilter AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (user_id = app_member());
CREATE POLICY filters_savedfilter_deleted ON filters_savedfilter AS RESTRICTIVE FOR DELETE TO @operator@
    USING (user_id = app_member() OR is_shared AND EXISTS (
        SELECT 1 FROM tenants_membership AS member WHERE member.tenant_id = filters_savedfilter.tenant_id
            AND member.user_id = app_member() AND member.role = 'admin' AND member.is_active))
"""


class Migration(migrations.Migration):
    """Row security and grants."""

    dependencies: ClassVar = [("filters", "0001_tables"), ("governance", "0012_member")]
    operations: ClassVar = [RaiseWall("filters_savedfilter", FILTERS), RoleSQL(OF_PERSONS)]
