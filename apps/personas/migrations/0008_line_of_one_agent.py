"""A line belongs to one agent. Where two have cards for it, this stops and names the line; move one card first (R133)."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """A constraint."""

    dependencies: ClassVar = [
        ("personas", "0007_walls_of_overlays_of_members"),
    ]
    operations: ClassVar = [
        migrations.AddConstraint(
            model_name="identitycard",
            constraint=models.UniqueConstraint(
                condition=models.Q(("line_key", ""), _negated=True),
                fields=("tenant", "line_key"),
                name="line_is_of_one_agent",
                violation_error_message="This line belongs to another agent. Name another line, or write on that agent's card.",
            ),
        ),
    ]
