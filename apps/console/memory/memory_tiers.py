"""Distilled tiers of memory: an agent's summaries of the last days, weeks and months, and the runs that wrote them."""

from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from apps.console.framework.badges import badge
from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column, choice_column, column, moment_column, person_column
from apps.console.framework.markdown_rendering import render_markdown
from apps.console.framework.page_actions import Button, EditAction, PanelReader
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.learning.distillation.models import TierClock, TierRun
from apps.learning.distillation.pipeline import facts_of_row
from apps.learning.distillation.tier_editing import correct_tier, run_tier
from apps.learning.distillation.tier_schedule import BUDGET_TOKENS, Tier
from apps.llm.token_estimate import estimate_tokens
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import approve_tier, clear_tier

RUNS_SHOWN: Final = 20
Status = MemoryTier.Status


def tier_panels(tier: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the rendered text, its size, its next run and its latest runs."""
    of_tier = {"tenant_id": tier.tenant_id, "agent_id": tier.agent_id, "tier": tier.tier}
    return {
        "body_html": render_markdown(tier.body),
        "facts": facts_of_row(tier),
        "tokens": estimate_tokens(tier.body),
        "budget": BUDGET_TOKENS[Tier(tier.tier)],
        "clock": TierClock.objects.filter(**of_tier).first(),
        "runs": TierRun.objects.filter(**of_tier)[:RUNS_SHOWN],
    }


def run_panels(run: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the tier of the run, if it exists by now."""
    return {"tier": MemoryTier.objects.filter(tenant_id=run.tenant_id, agent=run.agent_id, tier=run.tier).first()}


def _correct(tier: MemoryTier, *, actor: Actor, body: str, read_at: int | None) -> MemoryTier:
    return correct_tier(tier, actor=actor, text=body, read_at=read_at)


def _run(tier: MemoryTier, *, actor: Actor) -> MemoryTier:
    run_tier(tier.agent_id, tier.tier, actor=actor)
    return tier


def _is_unapproved(tier: MemoryTier) -> bool:
    return not tier.is_approved


def _has_facts(tier: MemoryTier) -> bool:
    return bool(tier.tier != MemoryTier.Tier.SHORT)


def _list_url(tier: MemoryTier) -> str:
    return reverse("admin:memory_memorytier_changelist")


class TierAdmin(GovernedAdmin):
    """Up to three tiers per agent: written by the product, corrected by people."""

    list_display = ("of_agent", "reaches", "beginning", "stands", "author", "updated")
    list_display_links = ("of_agent",)
    list_filter = ("agent", "tier", "status")
    list_select_related = ("agent",)
    search_fields = ("agent__key", "body")
    search_help_text = "Search agent or text"
    empty = (
        "Nothing has been distilled yet. Switch it on where an agent is set up: from the next night on, what its"
        " conversations came to becomes part of its memory."
    )
    fields = ("body",)
    change_form_template = "console/memory/memory_tier.html"
    edit_label = "Correct it"
    saved = "Saved. The next session carries it, and the next rewrite starts from it."
    amends = (EditAction(Act.TIER_AMEND, _correct, when=_has_facts),)
    panels = PanelReader(tier_panels)
    buttons = (
        Button(
            "approve",
            "Approve as it stands",
            Act.TIER_APPROVE,
            approve_tier,
            done="Approved. The next session of every customer carries it as prose.",
            consequence="The next prompt of every customer of agent {agent} carries this text as prose, until it is distilled"
            " anew. What waits for a person is in no prompt until then; the rest is quoted data.",
            form=OptionalReasonForm,
            when=_is_unapproved,
            folded=False,
        ),
        Button(
            "run",
            "Distil now",
            Act.TIER_RUN,
            _run,
            takes_read_at=False,
            done="Started. Within a minute a run below shows the result.",
            consequence="It is distilled within a minute, beside its plan.",
        ),
        Button(
            "clear",
            "Clear",
            Act.TIER_CLEAR,
            clear_tier,
            done="Cleared. The next run starts it anew.",
            consequence="The next session of agent {agent} carries nothing of this tier, and the next run begins it anew."
            " The words stay in the history of changes.",
            form=OptionalReasonForm,
            leads_to=_list_url,
        ),
    )

    of_agent = column("Agent", lambda row: str(row.agent), ordering="agent__key")
    reaches = choice_column("Tier", "tier")
    beginning = beginning_column("Text", "body")
    stands = column("State", lambda row: badge(row.get_status_display()), ordering="status")
    author = person_column("Written or approved by", "updated_by")


class TierRunAdmin(GovernedAdmin):
    """Read-only: each run of the distiller, the latest first."""

    list_display = ("when", "of_agent", "tier", "verdict", "why", "facts_before", "facts_after")
    list_display_links = ("when",)
    list_filter = ("verdict", "tier", "agent")
    list_select_related = ("agent",)
    empty = "No run yet. Tiers are distilled by the clock once an agent is set up so, or when you ask for it."
    fields = ()
    change_form_template = "console/memory/memory_tier_run.html"
    panels = PanelReader(run_panels)

    when = moment_column("When", "created_at")
    of_agent = column("Agent", lambda row: str(row.agent), ordering="agent__key")
    why = column("Why", lambda row: " ".join(row.reasons)[:160])
