"""An agent's turns take no more steps than a message may ask for: at 30,000 a loop is stopped by its cost alone."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models

from apps.governance.database import RoleSQL

LOWER = """
ALTER TABLE tenants_agent NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER;
UPDATE tenants_agent SET max_steps = least(greatest(max_steps, 1), 40) WHERE max_steps NOT BETWEEN 1 AND 40;
ALTER TABLE tenants_agent FORCE ROW LEVEL SECURITY, ENABLE TRIGGER USER
"""


class Migration(migrations.Migration):
    """What stands is lowered, then a check."""

    dependencies: ClassVar = [
        ("tenants", "0038_walls_of_sign_in_attempts"),
    ]
    operations: ClassVar = [
        RoleSQL(LOWER),
        migrations.AlterField(
            model_name="agent",
            name="max_steps",
            field=models.PositiveSmallIntegerField(
                default=8,
                validators=[MinValueValidator(1), MaxValueValidator(40)],
            ),
        ),
        migrations.AddConstraint(
            "agent",
            models.CheckConstraint(
                condition=models.Q(max_steps__range=(1, 40)),
                name="agent_takes_1_to_40_steps",
            ),
        ),
    ]
