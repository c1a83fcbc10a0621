"""A freeze holds for files as it does for words, and for a proposal that is bound to another text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

FREEZE = """
DROP TRIGGER freeze_learning ON skills_skill;
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF name, title, description, category, body, attachments
    ON skills_skill FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
DROP TRIGGER freeze_learning ON governance_proposal;
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF content, base_sha256
    ON governance_proposal FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning()
"""


class Migration(migrations.Migration):
    """Two triggers anew."""

    dependencies: ClassVar = [
        ("switches", "0002_walls"),
        ("skills", "0004_attachment_walls"),
        ("governance", "0007_review"),
    ]
    operations: ClassVar = [RoleSQL(FREEZE)]
