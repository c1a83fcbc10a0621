"""No two blocks of an agent have labels that differ in case or in what stands between the words."""

from typing import ClassVar

from django.db import migrations, models
from django.db.models.functions import Lower

from apps.governance.database import RoleSQL
from apps.memory.rules import LABEL, LABEL_RULE

# Which of two is to be called otherwise is for people to say, by an act that stands in the books.
ALIKE = """
DO $$ DECLARE alike record; BEGIN
    FOR alike IN SELECT tenant_id, agent_id, string_agg(label, ', ' ORDER BY label) AS labels FROM memory_memoryblock
        GROUP BY tenant_id, agent_id, regexp_replace(lower(label), '[ _-]', '', 'g') HAVING count(*) > 1
    LOOP
        RAISE EXCEPTION 'Agent % of tenant % has blocks whose labels read alike: %. Rename all but one, then migrate again.',
            alike.agent_id, alike.tenant_id, alike.labels;
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    """A check, and the unique index anew."""

    dependencies: ClassVar = [
        ("memory", "0007_review_walls"),
    ]
    operations: ClassVar = [
        RoleSQL(ALIKE),
        migrations.RemoveConstraint("memoryblock", "agent_has_one_block_per_label"),
        migrations.AddConstraint(
            "memoryblock",
            models.UniqueConstraint(
                models.F("tenant"),
                models.F("agent"),
                models.Func(
                    Lower("label"),
                    models.Value("[ _-]"),
                    models.Value(""),
                    models.Value("g"),
                    function="regexp_replace",
                ),
                name="agent_has_one_block_per_label",
                violation_error_message="This agent has a block of that label already, in some spelling; change that one.",
            ),
        ),
        migrations.AddConstraint(
            "memoryblock",
            models.CheckConstraint(
                condition=models.Q(label__regex=LABEL),
                name="block_label_is_words",
                violation_error_message=LABEL_RULE,
            ),
        ),
    ]
