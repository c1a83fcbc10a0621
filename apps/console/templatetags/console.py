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
from apps.governance.governed_write import may
from apps.governance.policy.acts import Act

register = template.Library()
register.filter(agents_named)
register.filter(badge)
register.filter(grounded)
register.filter(grouped)
register.filter(source_badge)


@register.filter
def person(label: str, people: ActorNames) -> str:
    """The name behind an actor's label."""
    return people[label] if label else ""


@register.filter
def short(digest: str) -> SafeString:
    """The beginning of a hash, the whole of it on demand."""
    return format_html('<code title="{}">{}</code>', digest, digest[:12])


@register.filter
def money(micro_usd: int | None) -> str:
    """An amount; None is one that nobody knows."""
    return "not known" if micro_usd is None else dollars(micro_usd)


@register.filter
def page(row: Any) -> str:
    """The page of a row."""
    return url_of_subject(row._meta.label_lower, row.pk)


@register.filter
def called(row: Any) -> str:
    """What a row is called."""
    return title_of(row)


@register.filter
def listed(opts: Any) -> str:
    """The heading of a noun's list: the words by which the menu leads to it."""
    return LIST_TITLES.get(f"{opts.app_label}_{opts.model_name}_changelist") or str(capfirst(opts.verbose_name_plural))


@register.filter
def beside(decisions: list[ButtonForm] | None, is_beside: bool) -> list[ButtonForm]:
    """The decisions that a page shows elsewhere, or all the others."""
    return [shown for shown in decisions or () if shown.button.beside is is_beside]


@register.filter
def about(sentence: str, agent: Any) -> str:
    """A button's consequence, with the agent it is about."""
    return sentence.replace("{agent}", str(agent))


@register.filter
def news_of_list(shown: Any) -> str:
    """Where an open list asks what is new; empty where nothing tells."""
    return reverse(f"admin:{live_url_name(shown.model)}") if shown.model in WATCHED_LISTS else ""


@register.filter
def news_of_row(row: Any) -> str:
    """Where the open page of a row asks; empty where nothing tells."""
    return f"{reverse(f'admin:{live_url_name(type(row))}')}?row={row.pk}" if type(row) in WATCHED_LISTS else ""


@register.filter
def offers(request: Any, act: str) -> bool:
    """Whether whoever reads the page may do this at all: a link to where it is done is shown to them alone."""
    return may(actor_of(request), Act(act))
