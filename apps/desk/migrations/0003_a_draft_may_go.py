import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("desk", "0002_walls"),
        ("skills", "0007_names_and_files_held"),
    ]

    operations = [
        migrations.AlterField(
            model_name="sendrule",
            name="skill",
            field=models.ForeignKey(
                blank=True,
                help_text="Holds for a reply once the agent has read this skill for it. Empty: for every reply.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="skills.skill",
            ),
        ),
    ]
