"""Addresses of the API, version 1. A trailing slash is optional."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, URLResolver, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from apps.api.framework.base_views import RowViewSet, UnknownAddressView
from apps.api.framework.bulk import BulkView
from apps.api.framework.versions import VersionedViewSet
from apps.api.openapi.swagger_page import SwaggerPageView
from apps.api.resources.agents.agent_tokens import TokenView
from apps.api.resources.agents.agent_tools import AgentToolView, ServerToolView
from apps.api.resources.agents.agents import AgentView
from apps.api.resources.agents.delegation import InvokableView
from apps.api.resources.agents.model_endpoints import EndpointTestView, EndpointView, PriceView
from apps.api.resources.agents.schedules import ScheduleView
from apps.api.resources.agents.tool_servers import ToolServerRefreshView, ToolServerView
from apps.api.resources.audit.audit_log import ChangeRecordView, RefusalView, VerificationView
from apps.api.resources.audit.restore import CheckpointRestoreView, CheckpointView, RestoreView
from apps.api.resources.conversations.assistant_talks import TalkMessageView, TalkView
from apps.api.resources.conversations.conversations import ConversationView
from apps.api.resources.conversations.messages import InboundEventView, MessageView
from apps.api.resources.conversations.playground_trials import TrialMessageView, TrialView
from apps.api.resources.conversations.sessions import SessionView
from apps.api.resources.desk.drafts import DraftView
from apps.api.resources.desk.escalations import EscalationView
from apps.api.resources.desk.reply_reports import ReplyReportView
from apps.api.resources.desk.send_rules import SendRuleView
from apps.api.resources.desk.tool_approvals import ToolApprovalView
from apps.api.resources.explain.agent_prompt import AgentPromptView
from apps.api.resources.explain.exposure import ExposureView
from apps.api.resources.explain.reply_explanation import ReplyExplanationView
from apps.api.resources.explain.session_comparison import SessionComparisonView
from apps.api.resources.learning.contradictions import ContradictionView
from apps.api.resources.learning.edit_clusters import EditClusterView
from apps.api.resources.learning.examples import ExampleView
from apps.api.resources.learning.extractions import ExtractionView
from apps.api.resources.learning.learning_versions import DigestRunView, LearningVersionView
from apps.api.resources.learning.lessons import LessonCaseView, LessonView
from apps.api.resources.learning.reflections import ReflectionView
from apps.api.resources.memory.agent_memory import MemoryBlockView, MemoryView
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
from apps.api.resources.skills.skill_import_export import SkillExportsView, SkillExportView, SkillImportView
from apps.api.resources.skills.skills import SkillView
from apps.api.resources.tenants.grants import AgentGrantsView, MemberLimitView
from apps.api.resources.tenants.kill_switches import KillSwitchView
from apps.api.resources.tenants.members import MemberView
from apps.api.resources.tenants.role_grants import RoleGrantsView
from apps.api.resources.tenants.spend import SpendView
from apps.api.resources.tenants.tenant_settings import SettingsView
from apps.api.resources.tenants.webhooks import DeliveryView, WebhookView
from apps.api.sse.conversation_stream import conversation_stream
from apps.api.sse.review_stream import review_stream
from apps.runtime.explain.exposure import EXPOSED_MODELS

router = SimpleRouter()
router.trailing_slash = "/?"
router.register("agents", AgentView, "agent")
router.register("personas", PersonaView, "persona")
router.register("overlays", OverlayView, "overlay")
router.register("identity-cards", IdentityCardView, "identity-card")
router.register("rules", RuleView, "rule")
router.register("skills", SkillView, "skill")
router.register("memories", MemoryView, "memory")
router.register("memory-blocks", MemoryBlockView, "memory-block")
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
router.register("grants", AgentGrantsView, "grant")
router.register("role-grants", RoleGrantsView, "role-grant")
router.register("prices", PriceView, "price")
router.register("sessions", SessionView, "session")
router.register("proposals", ProposalView, "proposal")
router.register("switches", KillSwitchView, "switch")
router.register("members", MemberView, "member")
router.register("limits", MemberLimitView, "limit")
router.register("checkpoints", CheckpointView, "checkpoint")
router.register("spend", SpendView, "spend")
router.register("memory-lines", MemoryLineView, "memory-line")
router.register("tiers", TierView, "tier")
router.register("tier-runs", TierRunView, "tier-run")
router.register("extractions", ExtractionView, "extraction")
router.register("contradictions", ContradictionView, "contradiction")
router.register("reflections", ReflectionView, "reflection")
router.register("learning-versions", LearningVersionView, "learning-version")
router.register("digest-runs", DigestRunView, "digest-run")
router.register("lessons", LessonView, "lesson")
router.register("edit-clusters", EditClusterView, "edit-cluster")
router.register("comments", CommentView, "comment")
router.register("reports", ReplyReportView, "report")
router.register("examples", ExampleView, "example")
router.register("lesson-cases", LessonCaseView, "lesson-case")
router.register("changes", ChangeRecordView, "change")
router.register("refusals", RefusalView, "refusal")
router.register("verifications", VerificationView, "verification")


def _view_model(view: type[RowViewSet[Any]]) -> Any:
    return view.queryset.model if view.queryset is not None else None


RESTORE_URLS = [
    re_path(
        rf"^{prefix}/(?P<pk>[0-9]{{1,18}})/versions/(?P<number>[0-9]{{1,9}})/restore/?$",
        RestoreView.as_view(model=_view_model(view)),
        name=f"{name}-restore",
    )
    for prefix, view, name in router.registry
    if issubclass(view, VersionedViewSet)
]
EXPOSURE_URLS = [
    re_path(
        rf"^{prefix}/(?P<pk>[0-9]{{1,18}})/carried/?$",
        ExposureView.as_view(model=_view_model(view)),
        name=f"{name}-carried",
    )
    for prefix, view, name in router.registry
    if issubclass(view, RowViewSet) and _view_model(view) in EXPOSED_MODELS
]
BULK_URLS = [
    re_path(rf"^{prefix}/bulk/?$", BulkView.as_view(prefix=prefix, offered=view.in_bulk), name=f"{name}-bulk")
    for prefix, view, name in router.registry
    if issubclass(view, RowViewSet) and view.in_bulk
]
urlpatterns: list[URLPattern | URLResolver] = [
    *router.urls,
    *RESTORE_URLS,
    *EXPOSURE_URLS,
    *BULK_URLS,
    re_path(r"^checkpoints/(?P<pk>[0-9]{1,18})/restore/?$", CheckpointRestoreView.as_view(), name="checkpoint-restore"),
    re_path(r"^agents/(?P<pk>[0-9]{1,18})/prompt/?$", AgentPromptView.as_view(), name="agent-prompt"),
    re_path(r"^sessions/(?P<pk>[0-9]{1,18})/apart/?$", SessionComparisonView.as_view(), name="session-apart"),
    re_path(r"^search/?$", SearchView.as_view(), name="search"),
    re_path(r"^turns/(?P<pk>[0-9]{1,18})/why/?$", ReplyExplanationView.as_view(), name="turn-why"),
    re_path(r"^endpoints/(?P<pk>[0-9]{1,18})/test/?$", EndpointTestView.as_view(), name="endpoint-test"),
    re_path(
        r"^tool-servers/(?P<pk>[0-9]{1,18})/refresh/?$", ToolServerRefreshView.as_view(), name="tool-server-refresh"
    ),
    re_path(r"^conversations/(?P<pk>[0-9]{1,18})/stream/?$", conversation_stream, name="conversation-stream"),
    re_path(r"^review/stream/?$", review_stream, name="review-stream"),
    re_path(r"^talks/(?P<pk>[0-9]{1,18})/messages/?$", TalkMessageView.as_view(), name="talk-messages"),
    re_path(r"^trials/(?P<pk>[0-9]{1,18})/messages/?$", TrialMessageView.as_view(), name="trial-messages"),
    re_path(r"^events/(?P<pk>[0-9]{1,18})/?$", InboundEventView.as_view(), name="event-detail"),
    re_path(r"^skills/export/?$", SkillExportsView.as_view(), name="skill-exports"),
    re_path(r"^skills/import/?$", SkillImportView.as_view(), name="skill-import"),
    re_path(r"^skills/(?P<pk>[0-9]{1,18})/export/?$", SkillExportView.as_view(), name="skill-export"),
    re_path(r"^skills/(?P<skill_id>[0-9]{1,18})/attachments/?$", AttachmentsView.as_view(), name="attachment-list"),
    re_path(
        r"^skills/(?P<skill_id>[0-9]{1,18})/attachments/(?P<name>[^/]+)/?$",
        AttachmentView.as_view(),
        name="attachment-detail",
    ),
    re_path(r"^schema/?$", SpectacularAPIView.as_view(authentication_classes=[]), name="schema"),
    re_path(
        r"^docs/?$",
        login_required(SwaggerPageView.as_view(authentication_classes=[], url_name="schema")),
        name="api-docs",
    ),
    re_path("", UnknownAddressView.as_view()),
]
