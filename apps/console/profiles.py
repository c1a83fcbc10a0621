"""Customers: what the tenant's agents know of each, slot 5."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.around_customers import around
from apps.console.dated_lines import DatedNote, DueNotesFilter, dating_button
from apps.console.deeds import Amendment, Creation, Values
from apps.console.flags import flags
from apps.console.governed_admin import GovernedAdmin
from apps.console.noted_lines import noted_panel
from apps.console.panels import Panels
from apps.console.proposal_queues import open_about
from apps.console.requests import actor_of
from apps.console.titles import moment
from apps.console.whose import words_panel
from apps.governance.actors import Actor
from apps.governance.policy.table import Act
from apps.learning.contradictions.memory_warnings import clashes_within
from apps.memory.actions import amend_profile, create_profile
from apps.memory.line_dates import date_profile
from apps.memory.models import CustomerProfile
from apps.prompt.text_limits import SECTION_CHARACTERS

TEXTS = ("preferences", "notes")


def customer_panels(profile: Any, request: HttpRequest) -> dict[str, Any]:
    """Whose words stand there line by line, and what else there is about the customer."""
    actor = actor_of(request)
    return {
        **words_panel(profile, [getattr(profile, name) for name in TEXTS], actor),
        **noted_panel(profile, actor),
        **around(profile.end_user_key, actor),
        "author": profile.people[profile.updated_by],
        "flags": flags({name: getattr(profile, name) for name in TEXTS}),
        "proposals": open_about(profile, actor),
        "clashes": clashes_within(profile),
    }


def _create(values: Values, actor: Actor) -> CustomerProfile:
    texts = {name: values[name] for name in TEXTS}
    return create_profile(values["end_user_key"], actor=actor, values=texts)


def _amend(profile: CustomerProfile, values: Values, actor: Actor, read_at: int | None) -> CustomerProfile:
    return amend_profile(profile, actor=actor, values={name: values[name] for name in TEXTS}, read_at=read_at)


class ProfileAdmin(GovernedAdmin):
    """One profile per end user, shared by all agents of the tenant."""

    list_display = ("end_user_key", "beginning", "author", "last_seen")
    search_fields = ("end_user_key", "preferences", "notes")
    search_help_text = "Search key, preferences or notes"
    empty = "No customer is known yet. Agents note here what a customer tells them."
    add_fields = ("end_user_key", *TEXTS)
    fields = TEXTS
    counts = dict.fromkeys(TEXTS, SECTION_CHARACTERS)
    change_form_template = "console/customer.html"
    creates = Creation(Act.PROFILE_AMEND, _create, add_fields)
    amends = (Amendment(Act.PROFILE_AMEND, _amend),)
    buttons = (dating_button(Act.PROFILE_SET_LINE_DATES, date_profile, DatedNote),)
    list_filter = (DueNotesFilter,)
    panels = Panels(customer_panels)

    @admin.display(description="Preferences")
    def beginning(self, profile: CustomerProfile) -> str:
        return profile.preferences[:120] or "(empty)"

    @admin.display(description="Last seen", ordering="last_seen_at")
    def last_seen(self, profile: CustomerProfile) -> str:
        return moment(profile.last_seen_at)

    @admin.display(description="Last written by", ordering="updated_by")
    def author(self, profile: Any) -> str:
        return str(profile.people[profile.updated_by])
