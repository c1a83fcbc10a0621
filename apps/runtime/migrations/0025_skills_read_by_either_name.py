"""A runbook is read by either of two tools; the index held the one of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0024_taken_elsewhere"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="toolstep", name="skill_fetched"),
        migrations.AddIndex(
            model_name="toolstep",
            index=models.Index(
                condition=models.Q(("name__in", ["get_skill", "skill_view"])),
                fields=["tenant", "began_at"],
                name="skill_was_read",
            ),
        ),
    ]
