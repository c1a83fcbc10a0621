"""Addresses of the API, version 1. A trailing slash is welcome and not needed."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, URLResolver, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from apps.api.framework.base_views import Nowhere, Rows
from apps.api.framework.bulk import BulkView
from apps.api.framework.versions import Versioned
from apps.api.openapi.swagger_page import ReadingPage
from apps.api.resources.agents.agent_tokens import TokenView
from apps.api.resources.agents.agent_tools import AgentToolView, ServerToolView
from apps.api.resources.agents.agents import AgentView
from apps.api.resources.agents.delegation import InvokableView
from apps.api.resources.agents.model_endpoints import EndpointTestView, EndpointView, PriceView
from apps.api.resources.agents.schedules import ScheduleView
from apps.api.resources.agents.tool_servers import RefreshView, ToolServerView
from apps.api.resources.audit.audit_log import ChangeView, RefusalView, VerificationView
from apps.api.resources.audit.restore import CheckpointRestoreView, CheckpointView, RestoreView
from apps.api.resources.conversations.assistant_talks import TalkMessageView, TalkView
from apps.api.resources.conversations.conversations import ConversationView
from apps.api.resources.conversations.messages import EventView, MessageView
from apps.api.resources.conversations.playground_trials import TrialMessageView, TrialView
from apps.api.resources.conversations.sessions import SessionView
from apps.api.resources.desk.drafts import DraftView
from apps.api.resources.desk.escalations import EscalationView
from apps.api.resources.desk.reply_reports import ReportView
from apps.api.resources.desk.send_rules import SendRuleView
from apps.api.resources.desk.tool_approvals import ToolApprovalView
from apps.api.resources.explain.agent_prompt import PromptView
from apps.api.resources.explain.exposure import CarriedView
from apps.api.resources.explain.reply_explanation import WhyView
from apps.api.resources.explain.session_comparison import ApartView
from apps.api.resources.learning.contradictions import ContradictionView
from apps.api.resources.learning.edit_clusters import EditClusterView
from apps.api.resources.learning.examples import ExampleView
from apps.api.resources.learning.extractions import ExtractionView
from apps.api.resources.learning.learning_versions import RunView, VersionView
from apps.api.resources.learning.lessons import CaseView, LessonView
from apps.api.resources.learning.reflections import ReflectionView
from apps.api.resources.memory.agent_memory import BlockView, MemoryView
from apps.api.resources.memory.customer_profiles import ProfileView
from apps.api.resources.memory.memory_lines import MemoryLineView
from apps.api.resources.memory.memory_tiers import TierRunView, TierView
from apps.api.resources.memory.notebook import NoteView
from apps.api.resources.personas.identity_cards import IdentityCardView
from apps.api.resources.personas.overlays import MemberOverlayView, OverlayView
from apps.api.resources.personas.personas import PersonaView
from apps.api.resources.personas.standing_rules import RuleView
from apps.api.resources.review.comments import CommentView
from apps.api.resources.review.proposals import ProposalView
from apps.api.resources.search import SearchView
from apps.api.resources.skills.skill_attachments import AttachmentsView, AttachmentView
from apps.api.resources.skills.skill_import_export import ExportsView, ExportView, ImportView
from apps.api.resources.skills.skills import SkillView
from apps.api.resources.tenants.grants import GrantsView, LimitView
from apps.api.resources.tenants.kill_switches import SwitchView
from apps.api.resources.tenants.members import MemberView
from apps.api.resources.tenants.role_grants import RoleGrantsView
from apps.api.resources.tenants.spend import SpendView
from apps.api.resources.tenants.tenant_settings import SettingsView
from apps.api.resources.tenants.webhooks import DeliveryView, WebhookView
from apps.api.sse.conversation_stream import stream
from apps.api.sse.review_stream import review_stream
from apps.runtime.explain.exposure import TOLD

router = SimpleRouter()
router.trailing_slash = "/?"
router.register("agents", AgentView, "agent")
router.register("personas", PersonaView, "persona")
router.register("overlays", OverlayView, "overlay")
router.register("identity-cards", IdentityCardView, "identity-card")
router.register("rules", RuleView, "rule")
router.register("skills", SkillView, "skill")
router.register("memories", MemoryView, "memory")
router.register("memory-blocks", BlockView, "memory-block")
router.register("profiles", ProfileView, "profile")
router.register("notes", NoteView, "note")
router.register("conversations", ConversationView, "conversation")
router.register("messages", MessageView, "message")
router.register("talks", TalkView, "talk")
router.register("trials", TrialView, "trial")
router.register("member-overlays", MemberOverlayView, "member-overlay")
router.register("drafts", DraftView, "draft")
router.register("escalations", EscalationView, "escalation")
router.register("schedules", ScheduleView, "schedule")
router.register("send-rules", SendRuleView, "send-rule")
router.register("invokables", InvokableView, "invokable")
router.register("endpoints", EndpointView, "endpoint")
router.register("tool-servers", ToolServerView, "tool-server")
router.register("server-tools", ServerToolView, "server-tool")
router.register("agent-tools", AgentToolView, "agent-tool")
router.register("webhooks", WebhookView, "webhook")
router.register("deliveries", DeliveryView, "delivery")
router.register("tool-approvals", ToolApprovalView, "tool-approval")
router.register("settings", SettingsView, "settings")
router.register("tokens", TokenView, "token")
router.register("grants", GrantsView, "grant")
router.register("role-grants", RoleGrantsView, "role-grant")
router.register("prices", PriceView, "price")
router.register("sessions", SessionView, "session")
router.register("proposals", ProposalView, "proposal")
router.register("switches", SwitchView, "switch")
router.register("members", MemberView, "member")
router.register("limits", LimitView, "limit")
router.register("checkpoints", CheckpointView, "checkpoint")
router.register("spend", SpendView, "spend")
router.register("memory-lines", MemoryLineView, "memory-line")
router.register("tiers", TierView, "tier")
router.register("tier-runs", TierRunView, "tier-run")
router.register("extractions", ExtractionView, "extraction")
router.register("contradictions", ContradictionView, "contradiction")
router.register("reflections", ReflectionView, "reflection")
router.register("learning-versions", VersionView, "learning-version")
router.register("digest-runs", RunView, "digest-run")
router.register("lessons", LessonView, "lesson")
router.register("edit-clusters", EditClusterView, "edit-cluster")
router.register("comments", CommentView, "comment")
router.register("reports", ReportView, "report")
router.register("examples", ExampleView, "example")
router.register("lesson-cases", CaseView, "lesson-case")
router.register("changes", ChangeView, "change")
router.register("refusals", RefusalView, "refusal")
router.register("verifications", VerificationView, "verification")


def _model(view: type[Rows[Any]]) -> Any:
    return view.queryset.model if view.queryset is not None else None


RESTORING = [
    re_path(
        rf"^{prefix}/(?P<pk>[0-9]{{1,18}})/versions/(?P<number>[0-9]{{1,9}})/restore/?$",
        RestoreView.as_view(model=_model(view)),
        name=f"{name}-restore",
    )
    for prefix, view, name in router.registry
    if issubclass(view, Versioned)
]
CARRIED = [
    re_path(
        rf"^{prefix}/(?P<pk>[0-9]{{1,18}})/carried/?$",
        CarriedView.as_view(model=_model(view)),
        name=f"{name}-carried",
    )
    for prefix, view, name in router.registry
    if issubclass(view, Rows) and _model(view) in TOLD
]
BULK = [
    re_path(rf"^{prefix}/bulk/?$", BulkView.as_view(prefix=prefix, offered=view.in_bulk), name=f"{name}-bulk")
    for prefix, view, name in router.registry
    if issubclass(view, Rows) and view.in_bulk
]
urlpatterns: list[URLPattern | URLResolver] = [
    *router.urls,
    *RESTORING,
    *CARRIED,
    *BULK,
    re_path(r"^checkpoints/(?P<pk>[0-9]{1,18})/restore/?$", CheckpointRestoreView.as_view(), name="checkpoint-restore"),
    re_path(r"^agents/(?P<pk>[0-9]{1,18})/prompt/?$", PromptView.as_view(), name="agent-prompt"),
    re_path(r"^sessions/(?P<pk>[0-9]{1,18})/apart/?$", ApartView.as_view(), name="session-apart"),
    re_path(r"^search/?$", SearchView.as_view(), name="search"),
    re_path(r"^turns/(?P<pk>[0-9]{1,18})/why/?$", WhyView.as_view(), name="turn-why"),
    re_path(r"^endpoints/(?P<pk>[0-9]{1,18})/test/?$", EndpointTestView.as_view(), name="endpoint-test"),
    re_path(r"^tool-servers/(?P<pk>[0-9]{1,18})/refresh/?$", RefreshView.as_view(), name="tool-server-refresh"),
    re_path(r"^conversations/(?P<pk>[0-9]{1,18})/stream/?$", stream, name="conversation-stream"),
    re_path(r"^review/stream/?$", review_stream, name="review-stream"),
    re_path(r"^talks/(?P<pk>[0-9]{1,18})/messages/?$", TalkMessageView.as_view(), name="talk-messages"),
    re_path(r"^trials/(?P<pk>[0-9]{1,18})/messages/?$", TrialMessageView.as_view(), name="trial-messages"),
    re_path(r"^events/(?P<pk>[0-9]{1,18})/?$", EventView.as_view(), name="event-detail"),
    re_path(r"^skills/export/?$", ExportsView.as_view(), name="skill-exports"),
    re_path(r"^skills/import/?$", ImportView.as_view(), name="skill-import"),
    re_path(r"^skills/(?P<pk>[0-9]{1,18})/export/?$", ExportView.as_view(), name="skill-export"),
    re_path(r"^skills/(?P<skill_id>[0-9]{1,18})/attachments/?$", AttachmentsView.as_view(), name="attachment-list"),
    re_path(
        r"^skills/(?P<skill_id>[0-9]{1,18})/attachments/(?P<name>[^/]+)/?$",
        AttachmentView.as_view(),
        name="attachment-detail",
    ),
    re_path(r"^schema/?$", SpectacularAPIView.as_view(authentication_classes=[]), name="schema"),
    re_path(
        r"^docs/?$",
        login_required(ReadingPage.as_view(authentication_classes=[], url_name="schema")),
        name="api-docs",
    ),
    re_path("", Nowhere.as_view()),
]
