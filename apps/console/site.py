"""The admin site: access, its pages, and Home."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from unfold.sites import UnfoldAdminSite

from apps.console.accounts.browser_sessions import browser_session_urls
from apps.console.accounts.login import MemberLoginForm, PasswordPage
from apps.console.accounts.login_links import invitation_page, login_link_page
from apps.console.accounts.notification_preferences import notification_preferences_page
from apps.console.accounts.second_factor import factor_urls
from apps.console.accounts.tenant_switch import VisitAdmin, leave_tenant, switch_tenant
from apps.console.agents.agent_setup import new_agent_urls
from apps.console.agents.agent_tools import AgentToolAdmin
from apps.console.agents.agents import AgentAdmin, TokenAdmin
from apps.console.agents.delegation import InvokableAdmin
from apps.console.agents.model_endpoints import EndpointAdmin, PriceAdmin, endpoint_test_page
from apps.console.agents.schedules import ScheduleAdmin
from apps.console.agents.tool_servers import ToolServerAdmin, refresh_page
from apps.console.audit.audit_log import AuditCheckAdmin, ChangeRecordAdmin, RefusalAdmin, audit_chain_urls
from apps.console.audit.restore import CheckpointAdmin, restore_page
from apps.console.chat.assistant_talks import talk_urls
from apps.console.chat.playground_trials import trial_urls
from apps.console.conversations.conversations import ConversationAdmin
from apps.console.dashboard.health import health_page
from apps.console.dashboard.home import RANGES, overview
from apps.console.dashboard.live_updates import live_urls
from apps.console.dashboard.pending_work import pending_counts
from apps.console.dashboard.search import search_page
from apps.console.dashboard.spend import SpendAdmin
from apps.console.dashboard.statistics_page import charts_page
from apps.console.desk.drafts import DraftAdmin
from apps.console.desk.escalations import EscalationAdmin
from apps.console.desk.reply_reports import ReportAdmin
from apps.console.desk.send_rules import SendRuleAdmin
from apps.console.desk.tool_approvals import ToolApprovalAdmin
from apps.console.explain.agent_prompt import prompt_page
from apps.console.explain.exposure import exposure_page
from apps.console.explain.reply_explanation import reply_explanation_page
from apps.console.explain.session_comparison import session_comparison_page
from apps.console.explain.sessions import SessionAdmin
from apps.console.framework.request_context import actor_of, people_of, settings_of
from apps.console.learning.contradictions import ContradictionAdmin
from apps.console.learning.edit_clusters import EditClusterAdmin
from apps.console.learning.examples import ExampleAdmin
from apps.console.learning.extractions import ExtractionAdmin
from apps.console.learning.learning_versions import DigestRunAdmin, LearningVersionAdmin
from apps.console.learning.lessons import LessonAdmin
from apps.console.learning.reflections import ReflectionAdmin
from apps.console.memory.agent_memory import BlockAdmin, MemoryAdmin
from apps.console.memory.customer_profiles import ProfileAdmin
from apps.console.memory.memory_lines import MemoryLineAdmin
from apps.console.memory.memory_tiers import TierAdmin, TierRunAdmin
from apps.console.memory.notebook import NoteAdmin
from apps.console.personas.identity_cards import IdentityCardAdmin
from apps.console.personas.overlays import OverlayAdmin
from apps.console.personas.personas import PersonaAdmin
from apps.console.personas.standing_rules import RuleAdmin
from apps.console.review.bulk_decisions import bulk_decision_urls
from apps.console.review.comments import CommentAdmin
from apps.console.review.proposals import ProposalAdmin
from apps.console.review.saved_filters import filter_urls
from apps.console.skills.skill_attachments import download, upload
from apps.console.skills.skill_import_export import skill_export_urls, skill_import_urls
from apps.console.skills.skills import SkillAdmin
from apps.console.tenants.grants import GrantsAdmin, LimitAdmin, RoleGrantsAdmin
from apps.console.tenants.kill_switches import SwitchAdmin, switches_on
from apps.console.tenants.members import MemberAdmin
from apps.console.tenants.policy_page import policy_table_page
from apps.console.tenants.tenant_settings import SettingsAdmin
from apps.console.tenants.webhooks import WebhookAdmin
from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.reports.models import Report
from apps.governance.models import AuditCheck, ChangeRecord, Proposal, Refusal
from apps.kill_switches.models import KillSwitch
from apps.learning.contradictions.models import Contradiction
from apps.learning.digest.models import DigestRun
from apps.learning.distillation.models import TierRun
from apps.learning.extraction.models import Extraction
from apps.learning.lessons.models import EditCluster, Example, LearningVersion, Lesson
from apps.learning.reflection.models import Reflection
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryLine, MemoryTier
from apps.notebook.models import Note
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.restore.models import Checkpoint
from apps.review.models import Comment
from apps.runtime.models import Session, Spend
from apps.schedules.models import Schedule
from apps.skills.models import Skill
from apps.tenants.models import (
    Agent,
    AgentToken,
    Endpoint,
    InvokableAgent,
    Membership,
    ModelPrice,
    StaffAccess,
    TenantSettings,
)
from apps.tenants.models.grants import AgentGrants, MemberLimit, RoleGrants
from apps.tools.models import AgentTool, ToolApproval, ToolServer
from apps.webhooks.models import Webhook

ADMINS_BY_MODEL = {
    Agent: AgentAdmin,
    AgentGrants: GrantsAdmin,
    AgentMemory: MemoryAdmin,
    AgentToken: TokenAdmin,
    AgentTool: AgentToolAdmin,
    AuditCheck: AuditCheckAdmin,
    ChangeRecord: ChangeRecordAdmin,
    Checkpoint: CheckpointAdmin,
    Comment: CommentAdmin,
    Contradiction: ContradictionAdmin,
    Conversation: ConversationAdmin,
    CustomerProfile: ProfileAdmin,
    Draft: DraftAdmin,
    Endpoint: EndpointAdmin,
    Escalation: EscalationAdmin,
    Extraction: ExtractionAdmin,
    Reflection: ReflectionAdmin,
    Report: ReportAdmin,
    InvokableAgent: InvokableAdmin,
    DigestRun: DigestRunAdmin,
    EditCluster: EditClusterAdmin,
    Example: ExampleAdmin,
    LearningVersion: LearningVersionAdmin,
    Lesson: LessonAdmin,
    MemoryTier: TierAdmin,
    RoleGrants: RoleGrantsAdmin,
    TierRun: TierRunAdmin,
    MemberLimit: LimitAdmin,
    Membership: MemberAdmin,
    MemoryBlock: BlockAdmin,
    MemoryLine: MemoryLineAdmin,
    ModelPrice: PriceAdmin,
    IdentityCard: IdentityCardAdmin,
    Note: NoteAdmin,
    Persona: PersonaAdmin,
    PersonaOverlay: OverlayAdmin,
    Proposal: ProposalAdmin,
    Refusal: RefusalAdmin,
    Schedule: ScheduleAdmin,
    Webhook: WebhookAdmin,
    SendRule: SendRuleAdmin,
    Session: SessionAdmin,
    Skill: SkillAdmin,
    Spend: SpendAdmin,
    TenantSettings: SettingsAdmin,
    StaffAccess: VisitAdmin,
    StandingRule: RuleAdmin,
    KillSwitch: SwitchAdmin,
    ToolApproval: ToolApprovalAdmin,
    ToolServer: ToolServerAdmin,
}

# Pages that belong to no model: the address, and the name and view of its URL.
STANDALONE_PAGES: Mapping[str, tuple[str, Callable[..., HttpResponseBase]]] = {
    "figures": ("statistics", charts_page),
    "health": ("health", health_page),
    "policy": ("policy", policy_table_page),
    "restore": ("restore", restore_page),
    "search": ("search", search_page),
    "told": ("notification_preferences", notification_preferences_page),
}


def standalone_urls(site: UnfoldAdminSite) -> list[URLPattern]:
    """Return the URL patterns of pages that belong to no model."""
    pages = (
        path(f"{address}/", site.admin_view(partial(page, site)), name=name)
        for address, (name, page) in STANDALONE_PAGES.items()
    )
    own = (
        *factor_urls(site),
        *browser_session_urls(site),
        *filter_urls(site),
        *bulk_decision_urls(site),
        *audit_chain_urls(site),
    )
    return [
        *trial_urls(site),
        *live_urls(site),
        *new_agent_urls(site),
        *skill_export_urls(site),
        *skill_import_urls(site),
        *own,
        *pages,
    ]


class ConsoleSite(UnfoldAdminSite):
    """The console. A request with an actor may open its pages; everything else is decided by the acts.

    Platform staff without an actor reach only the page to enter a tenant: the middleware redirects them to it.
    """

    login_form = MemberLoginForm
    index_template = "console/dashboard/home.html"
    enable_nav_sidebar = True

    def has_permission(self, request: HttpRequest) -> bool:
        return getattr(request, "actor", None) is not None or getattr(request, "may_enter", False)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [
            path("login-link/<str:coded_id>/<str:token>/", login_link_page, {"site": self}, name="login_link"),
            path("skills/skill/<int:skill_id>/files/", self.admin_view(upload), {"site": self}, name="upload_file"),
            path(
                "skills/skill/<int:skill_id>/files/<int:at>/",
                self.admin_view(download),
                {"site": self},
                name="download_file",
            ),
            *self._explain_urls(),
            path(
                "tenants/endpoint/<int:endpoint_id>/test/",
                self.admin_view(endpoint_test_page),
                {"site": self},
                name="try_endpoint",
            ),
            path(
                "tools/toolserver/<int:server_id>/refresh/",
                self.admin_view(refresh_page),
                {"site": self},
                name="refresh_server",
            ),
            *talk_urls(self),
            *standalone_urls(self),
            path("invitation/<str:token>/", invitation_page, {"site": self}, name="invitation"),
            path("tenant/", self.admin_view(partial(switch_tenant, self)), name="switch_tenant"),
            path("tenant/leave/", self.admin_view(leave_tenant), name="leave_tenant"),
            *super().get_urls(),
        ]

    def _explain_urls(self) -> list[URLPattern]:
        """Return the URL patterns of pages about prompts, exposure and the explanation of replies."""
        return [
            path("prompt/<int:agent_id>/", self.admin_view(prompt_page), {"site": self}, name="agent_prompt"),
            path(
                "carried/<str:record_type>/<int:record_id>/",
                self.admin_view(exposure_page),
                {"site": self},
                name="exposure",
            ),
            path(
                "sessions/<int:session_id>/apart/",
                self.admin_view(session_comparison_page),
                {"site": self},
                name="session_comparison",
            ),
            path(
                "turns/<int:turn_id>/why/",
                self.admin_view(reply_explanation_page),
                {"site": self},
                name="reply_explanation",
            ),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Add the open staff visit and the active kill switches to the values of every page."""
        visit = getattr(request, "visit", None)
        return {**super().each_context(request), "visit": visit, "switches_on": switches_on(request)}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return nothing: the sidebar replaces Django's list of apps, which would take a tenth of a page's time."""
        return []

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Show the password form, which asks for the old password only if there is one."""
        shown = {**self.each_context(request), **(extra_context or {})}
        return PasswordPage.as_view(extra_context=shown)(request)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        asked = RANGES.asked(request)
        home = overview(actor_of(request), pending_counts(request), settings_of(request), asked, timezone.now())
        shown = {"home": home, "people": people_of(request), "title": "Home", **(extra_context or {})}
        page: TemplateResponse = super().index(request, shown)
        return page

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to Home: an app has no page of its own."""
        return HttpResponseRedirect(reverse("admin:index"))


site = ConsoleSite(name="admin")
for model, pages in ADMINS_BY_MODEL.items():
    site.register(model, pages)
