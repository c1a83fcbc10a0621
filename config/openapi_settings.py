"""Settings of drf-spectacular, which writes the OpenAPI schema."""

from typing import Any

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Preceptor API",
    "DESCRIPTION": "Governed learning for customer-facing agents. Refusals are RFC 9457 problem details.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.openapi.schema.name_streams",
        "apps.api.openapi.schema.name_refusals",
        "apps.api.openapi.schema.type_enums",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "PersonaStatus": "apps.personas.models.Persona.Status",
        "RuleStatus": "apps.personas.models.StandingRule.Status",
        "SkillStatus": "apps.skills.models.Skill.Status",
        "ConversationStatus": "apps.conversations.models.Conversation.Status",
        "ConversationOutcome": "apps.conversations.models.Conversation.Outcome",
        **{f"Turn{name}": f"apps.runtime.models.Turn.{name}" for name in ("Status", "Outcome")},
        "LineStatus": "apps.memory.models.MemoryLine.Status",
        "MemoryTierName": "apps.memory.models.MemoryTier.Tier",
        "MemoryTierStatus": "apps.memory.models.MemoryTier.Status",
        "ProposalTier": "apps.governance.models.proposals.RISK_CHOICES",
        "SwitchKind": "apps.kill_switches.models.KillSwitch.Kind",
        "ScheduleStatus": "apps.schedules.models.Schedule.Status",
        "NoteStatus": "apps.notebook.models.Note.Status",
        "CommentStatus": "apps.review.models.Comment.Status",
        **{f"Report{name}": f"apps.desk.reports.models.Report.{name}" for name in ("Status", "Reason", "Outcome")},
        "NoteKind": "apps.notebook.models.Note.Kind",
        "SwitchStatus": "apps.kill_switches.models.KillSwitch.Status",
        **{f"Proposal{name}": f"apps.governance.models.Proposal.{name}" for name in ("Kind", "Reason", "State")},
        **{f"Draft{name}": f"apps.desk.models.Draft.{name}" for name in ("Status", "Reason")},
        **{
            f"Contradiction{name}": f"apps.learning.contradictions.models.Contradiction.{name}"
            for name in ("Status", "Kinds", "Nouns")
        },
        "EditClusterStatus": "apps.learning.lessons.models.EditCluster.Status",
        "ExampleStatus": "apps.learning.lessons.models.Example.Status",
        "LearningVersionStatus": "apps.learning.lessons.models.LearningVersion.Status",
        **{f"Escalation{name}": f"apps.desk.models.Escalation.{name}" for name in ("Status", "Reason")},
        "DeliveryStatus": "apps.webhooks.models.Delivery.Status",
        "MemberRole": "apps.tenants.models.people.ROLES",
        "SendMode": "apps.tenants.models.SEND_MODES",
        "EventStatus": "apps.api.resources.conversations.turn_results.STATUSES",
    },
}
