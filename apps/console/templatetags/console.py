"""Filters for console templates: values in, text out."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from apps.console.dashboard.live_updates import WATCHED_LISTS, live_url_name
from apps.console.dashboard.navigation import LIST_TITLES
from apps.console.framework.actor_names import ActorNames, agents_named
from apps.console.framework.badges import badge, grounded, source_badge
from apps.console.framework.page_actions import ButtonForm
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import title_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.token_usage import dollars, grouped
from apps.conversations.models import InboundEvent
from apps.governance.governed_write import may
from apps.governance.policy.acts import Act
from apps.runtime.turn_store.journal_rows import SENDERS

register = template.Library()
register.filter(agents_named)
register.filter(badge)
register.filter(grounded)
register.filter(grouped)
register.filter(source_badge)


@register.filter
def person(label: str, people: ActorNames) -> str:
    """Return the name behind an actor's label."""
    return people[label] if label else ""


@register.filter
def sender(event: InboundEvent) -> str:
    """Return the sender that an event has in the transcript."""
    return SENDERS[InboundEvent.Kind(event.kind)].value


@register.filter
def short(digest: str) -> SafeString:
    """Show the beginning of a hash, with all of it in the tooltip."""
    return format_html('<code title="{}">{}</code>', digest, digest[:12])


@register.filter
def money(micro_usd: int | None) -> str:
    """Format an amount; None means that it is not known."""
    return "not known" if micro_usd is None else dollars(micro_usd)


@register.filter
def page(row: Any) -> str:
    """Return the address of a row's page."""
    return url_of_subject(row._meta.label_lower, row.pk)


@register.filter
def called(row: Any) -> str:
    """Return the title of a row."""
    return title_of(row)


@register.filter
def listed(opts: Any) -> str:
    """Return the heading of a model's list: the title of the menu item that leads to it."""
    return LIST_TITLES.get(f"{opts.app_label}_{opts.model_name}_changelist") or str(capfirst(opts.verbose_name_plural))


@register.filter
def beside(decisions: list[ButtonForm] | None, is_beside: bool) -> list[ButtonForm]:
    """Return the decisions that a page shows outside its list of decisions, or all the others."""
    return [shown for shown in decisions or () if shown.button.beside is is_beside]


@register.filter
def about(sentence: str, agent: Any) -> str:
    """Return a button's consequence with the name of the agent."""
    return sentence.replace("{agent}", str(agent))


@register.filter
def news_of_list(shown: Any) -> str:
    """Return the address that an open list polls; empty if the list has no live counts."""
    return reverse(f"admin:{live_url_name(shown.model)}") if shown.model in WATCHED_LISTS else ""


@register.filter
def news_of_row(row: Any) -> str:
    """Return the address that the open page of a row polls; empty if it has no live counts."""
    return f"{reverse(f'admin:{live_url_name(type(row))}')}?row={row.pk}" if type(row) in WATCHED_LISTS else ""


@register.filter
def offers(request: Any, act: str) -> bool:
    """Return whether the reader may perform this act; only then the link to its page is shown."""
    return may(actor_of(request), Act(act))
