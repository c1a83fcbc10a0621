import django.db.models.deletion
from django.db import migrations, models

from apps.governance.database import ComposeForeignKey, RoleSQL


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0002_walls"),
    ]

    operations = [
        migrations.AddField(
            model_name="modelcall",
            name="entries",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="expected_read_tokens",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="has_unexpected_miss",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="ledger",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="requested_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="shared_sha256",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="workspace_sha256",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="session",
            name="tools",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runtime.snapshotpart"
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="tools_sha256",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="snapshotpart",
            name="segments",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="asked_segments",
            field=models.JSONField(null=True),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(fields=["tenant", "shared_sha256", "-requested_at"], name="call_by_shared_prefix"),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(fields=["tenant", "workspace_sha256", "-requested_at"], name="call_by_workspace_prefix"),
        ),
        ComposeForeignKey("runtime_session", "tools_id", "runtime_snapshotpart"),
        # Who wrote what was asked, and how a turn ended, is settled when it has ended.
        RoleSQL(
            "CREATE TRIGGER finished_turn_stays BEFORE UPDATE ON runtime_turn FOR EACH ROW"
            " WHEN (OLD.status <> 'running') EXECUTE FUNCTION refuse_change()"
        ),
    ]
