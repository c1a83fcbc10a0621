"""Values for unfold's frame around every page: the sidebar, its counts of pending work, and the tenant's name."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.http import HttpRequest
from django.urls import get_script_prefix, reverse

from apps.console.dashboard.pending_work import INBOX, NEW_SKILLS, OTHER_PROPOSALS, pending_counts
from apps.console.framework.change_lists import TAB
from apps.console.framework.request_context import settings_of
from apps.console.review.inbox_filters import KIND, OTHER
from apps.governance.database.actor_transaction import current_actor
from apps.governance.models import Proposal
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A page the sidebar leads to."""

    title: str
    icon: str
    view: str
    tab: str = ""
    kind: str = ""


MENU_GROUPS = (
    (
        "",
        (
            MenuItem("Home", "home", "index"),
            MenuItem("Search", "search", "search"),
            MenuItem("Figures", "monitoring", "statistics"),
            MenuItem("Assistant", "support_agent", "assistant"),
            MenuItem("Playground", "toys", "playground"),
        ),
    ),
    (
        "Review",
        (
            MenuItem("Skill drafts", "rate_review", INBOX, kind=Proposal.Kind.SKILL_NEW.value),
            MenuItem("Other proposals", "approval", INBOX, kind=OTHER),
            MenuItem("Reply drafts", "mark_email_unread", "desk_draft_changelist"),
            MenuItem("Escalations", "contact_support", "desk_escalation_changelist"),
            MenuItem("Reported replies", "report", "desk_report_changelist"),
            MenuItem("Calls to approve", "approval_delegation", "tools_toolapproval_changelist"),
        ),
    ),
    (
        "What happened",
        (
            MenuItem("Conversations", "forum", "conversations_conversation_changelist"),
            MenuItem("Extractions", "school", "learning_extraction_changelist"),
            MenuItem("Reflections", "nights_stay", "learning_reflection_changelist"),
            MenuItem("Distillations", "filter_alt", "learning_tierrun_changelist"),
            MenuItem("Lessons", "lightbulb", "learning_lesson_changelist"),
            MenuItem("Edits", "edit_attributes", "learning_editcluster_changelist"),
            MenuItem("Digests", "summarize", "learning_digestrun_changelist"),
            MenuItem("Sessions", "data_object", "runtime_session_changelist"),
            MenuItem("Spend", "payments", "runtime_spend_changelist"),
            MenuItem("Comments", "comment", "review_comment_changelist"),
            MenuItem("Changes", "history", "governance_changerecord_changelist"),
            MenuItem("Refused attempts", "block", "governance_refusal_changelist"),
            MenuItem("Verifications", "verified", "governance_auditcheck_changelist"),
            MenuItem("Visits of staff", "door_open", "tenants_staffaccess_changelist"),
            MenuItem("Checkpoints", "flag", "restore_checkpoint_changelist"),
        ),
    ),
    (
        "What agents go by",
        (
            MenuItem("Personas", "theater_comedy", "personas_persona_changelist"),
            MenuItem("Overlays", "layers", "personas_personaoverlay_changelist"),
            MenuItem("Identity cards", "badge", "personas_identitycard_changelist"),
            MenuItem("Rules", "gavel", "personas_standingrule_changelist"),
            MenuItem("Skills", "menu_book", "skills_skill_changelist", Skill.Status.APPROVED.value),
            MenuItem("Learning versions", "school", "learning_learningversion_changelist"),
            MenuItem("Examples", "format_quote", "learning_example_changelist"),
            MenuItem("Schedules", "schedule", "schedules_schedule_changelist"),
            MenuItem("Memory", "psychology", "memory_agentmemory_changelist"),
            MenuItem("Memory blocks", "view_agenda", "memory_memoryblock_changelist"),
            MenuItem("Lines of memory", "format_list_bulleted", "memory_memoryline_changelist"),
            MenuItem("Contradictions", "compare_arrows", "learning_contradiction_changelist"),
            MenuItem("Notebook", "edit_note", "notebook_note_changelist"),
            MenuItem("Memory tiers", "stacked_bar_chart", "memory_memorytier_changelist"),
            MenuItem("Customers", "group", "memory_customerprofile_changelist"),
        ),
    ),
    (
        "Set-up",
        (
            MenuItem("Agents", "smart_toy", "tenants_agent_changelist"),
            MenuItem("Who may ask whom", "hub", "tenants_invokableagent_changelist"),
            MenuItem("Members", "badge", "tenants_membership_changelist"),
            MenuItem("Limits of members", "lock", "tenants_memberlimit_changelist"),
            MenuItem("Grants of roles", "tune", "tenants_rolegrants_changelist"),
            MenuItem("Grants on agents", "rule", "tenants_agentgrants_changelist"),
            MenuItem("Tokens", "key", "tenants_agenttoken_changelist"),
            MenuItem("Endpoints", "dns", "tenants_endpoint_changelist"),
            MenuItem("Tool servers", "build", "tools_toolserver_changelist"),
            MenuItem("Tools of agents", "construction", "tools_agenttool_changelist"),
            MenuItem("Webhooks", "webhook", "webhooks_webhook_changelist"),
            MenuItem("Prices", "payments", "tenants_modelprice_changelist"),
            MenuItem("Send rules", "call_split", "desk_sendrule_changelist"),
            MenuItem("Switches", "toggle_off", "kill_switches_killswitch_changelist"),
            MenuItem("Policy", "policy", "policy"),
            MenuItem("Health", "ecg_heart", "health"),
            MenuItem("Settings", "settings", "tenants_tenantsettings_changelist"),
        ),
    ),
)
# Titles of lists by view. The inbox is left out, because two menu items lead to it.
LIST_TITLES = {place.view: place.title for _, places in MENU_GROUPS for place in places if place.view != INBOX}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of the sidebar, with the number of pending rows of each queue."""
    waiting = _waiting_counts(request)
    paths = _paths(get_script_prefix())
    return [
        {"title": title, "items": [_item(place, paths, request, waiting.get(place.title, 0)) for place in places]}
        for title, places in MENU_GROUPS
    ]


@cache
def _paths(script_prefix: str) -> dict[str, str]:
    """Return the path of every menu item, looked up once for each script prefix of the product."""
    # reverse() adds the prefix by itself; the parameter is the key of the cache.
    return {place.view: reverse(f"admin:{place.view}") for _, places in MENU_GROUPS for place in places}


def tenant_name(request: HttpRequest) -> str:
    """Return the name of the present tenant, which is shown under the product's name."""
    return settings_of(request).tenant.name if may_read(request) else ""


def _item(place: MenuItem, paths: dict[str, str], request: HttpRequest, waiting: int) -> dict[str, Any]:
    url = paths[place.view]
    item = {
        "title": place.title,
        "icon": place.icon,
        "link": f"{url}{_filter_query(place)}",
        "active": _is_current(place, url, request),
    }
    return {**item, "badge": str(waiting), "badge_variant": "primary"} if waiting else item


def _is_current(place: MenuItem, url: str, request: HttpRequest) -> bool:
    if place.view == "index":
        return request.path == url
    if not request.path.startswith(url):
        return False
    # Two places lead to the inbox: new skills, and everything else.
    return not place.kind or (request.GET.get(KIND) == Proposal.Kind.SKILL_NEW) == (place.kind != OTHER)


def _filter_query(place: MenuItem) -> str:
    chosen = {TAB: place.tab, KIND: place.kind}
    narrowed = urlencode({name: value for name, value in chosen.items() if value})
    return f"?{narrowed}" if narrowed else ""


def _waiting_counts(request: HttpRequest) -> dict[str, int]:
    if not may_read(request):
        return {}
    counted = pending_counts(request)
    return {
        "Skill drafts": counted.count(NEW_SKILLS),
        "Other proposals": counted.count(OTHER_PROPOSALS),
        "Reply drafts": counted.count("drafts"),
        "Escalations": counted.count("escalations"),
        "Reported replies": counted.count("reports"),
        "Calls to approve": counted.count("calls"),
        "Edits": counted.count("edits"),
        "Contradictions": counted.count("contradictions"),
        "Learning versions": counted.count("versions"),
        "Memory tiers": counted.count("tiers"),
    }


def may_read(request: HttpRequest) -> bool:
    """Return whether counts may be read: not on pages without a tenant (password change), nor in a broken transaction."""
    acting = current_actor()
    return acting is not None and acting == getattr(request, "actor", None) and not connection.needs_rollback
