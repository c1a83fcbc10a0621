"""What unfold asks for to draw the frame of every page: the way around, what waits, and whose books are open."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.http import HttpRequest
from django.urls import get_script_prefix, reverse

from apps.console.dashboard.pending_work import INBOX, NEW_SKILLS, OTHERS, awaiting
from apps.console.framework.change_lists import TAB
from apps.console.framework.request_context import settings_of
from apps.console.review.inbox_filters import KIND, OTHER
from apps.governance.database.actor_transaction import acting_actor
from apps.governance.models import Proposal
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class Place:
    """A page the sidebar leads to."""

    title: str
    icon: str
    view: str
    tab: str = ""
    kind: str = ""


GROUPS = (
    (
        "",
        (
            Place("Home", "home", "index"),
            Place("Search", "search", "search"),
            Place("Figures", "monitoring", "figures"),
            Place("Assistant", "support_agent", "assistant"),
            Place("Playground", "toys", "playground"),
        ),
    ),
    (
        "Review",
        (
            Place("Skill drafts", "rate_review", INBOX, kind=Proposal.Kind.SKILL_NEW.value),
            Place("Other proposals", "approval", INBOX, kind=OTHER),
            Place("Reply drafts", "mark_email_unread", "desk_draft_changelist"),
            Place("Escalations", "contact_support", "desk_escalation_changelist"),
            Place("Reported replies", "report", "desk_report_changelist"),
            Place("Calls to approve", "approval_delegation", "tools_toolapproval_changelist"),
        ),
    ),
    (
        "What happened",
        (
            Place("Conversations", "forum", "conversations_conversation_changelist"),
            Place("Extractions", "school", "learning_extraction_changelist"),
            Place("Reflections", "nights_stay", "learning_reflection_changelist"),
            Place("Distillations", "filter_alt", "learning_tierrun_changelist"),
            Place("Lessons", "lightbulb", "learning_lesson_changelist"),
            Place("Edits", "edit_attributes", "learning_editcluster_changelist"),
            Place("Digests", "summarize", "learning_digestrun_changelist"),
            Place("Sessions", "data_object", "runtime_session_changelist"),
            Place("Spend", "payments", "runtime_spend_changelist"),
            Place("Comments", "comment", "review_comment_changelist"),
            Place("Changes", "history", "governance_changerecord_changelist"),
            Place("Refused attempts", "block", "governance_refusal_changelist"),
            Place("Verifications", "verified", "governance_auditcheck_changelist"),
            Place("Visits of staff", "door_open", "tenants_staffaccess_changelist"),
            Place("Checkpoints", "flag", "restore_checkpoint_changelist"),
        ),
    ),
    (
        "What agents go by",
        (
            Place("Personas", "theater_comedy", "personas_persona_changelist"),
            Place("Overlays", "layers", "personas_personaoverlay_changelist"),
            Place("Identity cards", "badge", "personas_identitycard_changelist"),
            Place("Rules", "gavel", "personas_standingrule_changelist"),
            Place("Skills", "menu_book", "skills_skill_changelist", Skill.Status.APPROVED.value),
            Place("Learning versions", "school", "learning_learningversion_changelist"),
            Place("Examples", "format_quote", "learning_example_changelist"),
            Place("Schedules", "schedule", "schedules_schedule_changelist"),
            Place("Memory", "psychology", "memory_agentmemory_changelist"),
            Place("Memory blocks", "view_agenda", "memory_memoryblock_changelist"),
            Place("Lines of memory", "format_list_bulleted", "memory_memoryline_changelist"),
            Place("Contradictions", "compare_arrows", "learning_contradiction_changelist"),
            Place("Notebook", "edit_note", "notebook_note_changelist"),
            Place("Memory tiers", "stacked_bar_chart", "memory_memorytier_changelist"),
            Place("Customers", "group", "memory_customerprofile_changelist"),
        ),
    ),
    (
        "Set-up",
        (
            Place("Agents", "smart_toy", "tenants_agent_changelist"),
            Place("Who may ask whom", "hub", "tenants_invokableagent_changelist"),
            Place("Members", "badge", "tenants_membership_changelist"),
            Place("Limits of members", "lock", "tenants_memberlimit_changelist"),
            Place("Grants of roles", "tune", "tenants_rolegrants_changelist"),
            Place("Grants on agents", "rule", "tenants_agentgrants_changelist"),
            Place("Tokens", "key", "tenants_agenttoken_changelist"),
            Place("Endpoints", "dns", "tenants_endpoint_changelist"),
            Place("Tool servers", "build", "tools_toolserver_changelist"),
            Place("Tools of agents", "construction", "tools_agenttool_changelist"),
            Place("Webhooks", "webhook", "webhooks_webhook_changelist"),
            Place("Prices", "payments", "tenants_modelprice_changelist"),
            Place("Send rules", "call_split", "desk_sendrule_changelist"),
            Place("Switches", "toggle_off", "kill_switches_killswitch_changelist"),
            Place("Policy", "policy", "policy"),
            Place("Health", "ecg_heart", "health"),
            Place("Settings", "settings", "tenants_tenantsettings_changelist"),
        ),
    ),
)
# Lists by the place that leads to them; the inbox has two.
LISTS = {place.view: place.title for _, places in GROUPS for place in places if place.view != INBOX}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of the sidebar, with what waits in each queue."""
    waiting = _waiting(request)
    paths = _paths(get_script_prefix())
    return [
        {"title": title, "items": [_item(place, paths, request, waiting.get(place.title, 0)) for place in places]}
        for title, places in GROUPS
    ]


@cache
def _paths(script_prefix: str) -> dict[str, str]:
    """The path of every place, looked up once for each prefix that the product is served under."""
    del script_prefix  # reverse() puts it in front by itself
    return {place.view: reverse(f"admin:{place.view}") for _, places in GROUPS for place in places}


def tenant_name(request: HttpRequest) -> str:
    """The tenant whose books are open, under the product's name."""
    return settings_of(request).tenant.name if may_read(request) else ""


def _item(place: Place, paths: dict[str, str], request: HttpRequest, waiting: int) -> dict[str, Any]:
    url = paths[place.view]
    item = {
        "title": place.title,
        "icon": place.icon,
        "link": f"{url}{_narrowed(place)}",
        "active": _is_here(place, url, request),
    }
    return {**item, "badge": str(waiting), "badge_variant": "primary"} if waiting else item


def _is_here(place: Place, url: str, request: HttpRequest) -> bool:
    if place.view == "index":
        return request.path == url
    if not request.path.startswith(url):
        return False
    # Two places lead to the inbox: new skills, and everything else.
    return not place.kind or (request.GET.get(KIND) == Proposal.Kind.SKILL_NEW) == (place.kind != OTHER)


def _narrowed(place: Place) -> str:
    chosen = {TAB: place.tab, KIND: place.kind}
    narrowed = urlencode({name: value for name, value in chosen.items() if value})
    return f"?{narrowed}" if narrowed else ""


def _waiting(request: HttpRequest) -> dict[str, int]:
    if not may_read(request):
        return {}
    counted = awaiting(request)
    return {
        "Skill drafts": counted.count(NEW_SKILLS),
        "Other proposals": counted.count(OTHERS),
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
    """Pages outside the wall, such as the one to change a password, and pages after a broken transaction count nothing."""
    acting = acting_actor()
    return acting is not None and acting == getattr(request, "actor", None) and not connection.needs_rollback
