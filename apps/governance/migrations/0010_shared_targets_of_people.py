"""What people ask for everybody neither shows to agents nor stands in the way of what they ask."""

from typing import ClassVar

from django.db import migrations, models
from django.db.models.lookups import IsNull


class Migration(migrations.Migration):
    """One unique index anew."""

    dependencies: ClassVar = [
        ("governance", "0009_proposals_about_shared_rules"),
    ]
    operations: ClassVar = [
        migrations.RemoveConstraint("proposal", "one_open_proposal_per_target_and_kind"),
        migrations.AddConstraint(
            "proposal",
            models.UniqueConstraint(
                models.F("tenant"),
                models.F("target_type"),
                models.F("target_id"),
                models.F("kind"),
                IsNull(models.F("agent"), rhs=True),
                condition=models.Q(state="open"),
                name="one_open_proposal_per_target_and_kind",
                violation_error_message="There is an open proposal for this already; revise it.",
            ),
        ),
    ]
