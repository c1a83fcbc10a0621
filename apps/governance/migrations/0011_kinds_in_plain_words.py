"""Two kinds of proposals get names that fit beside the others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("governance", "0010_shared_targets_of_people"),
    ]

    operations = [
        migrations.AlterField(
            model_name="proposal",
            name="kind",
            field=models.CharField(
                choices=[
                    ("persona.patch", "Persona patch"),
                    ("persona.fields", "Persona sections"),
                    ("skill.new", "New skill"),
                    ("skill.revision", "Skill revision"),
                    ("skill.deprecation", "Skill deprecation"),
                    ("memory.lines", "New memory lines"),
                    ("memory.body", "Memory"),
                    ("block.lines", "New memory block lines"),
                    ("block.body", "Memory block"),
                    ("profile.change", "Customer profile"),
                    ("rule.lines", "New rules"),
                    ("rule.change", "Change of a rule"),
                ],
                max_length=30,
            ),
        ),
    ]
