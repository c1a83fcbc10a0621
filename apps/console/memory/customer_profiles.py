"""Console admin of customer profiles (slot 5), with panels for line sources and for everything else about the customer.

The sources panel covers the current lines and the latest removed ones. The other panel lists conversations by channel, open drafts
and escalations, notes, and sessions.
"""

from collections.abc import Iterable
from typing import Any, Final

from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column, moment_column, person_column
from apps.console.framework.page_actions import CreateAction, EditAction, PanelReader, as_mapping
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.memory.line_dates import DueNotesFilter, ProfileLineDatesForm, line_dates_button
from apps.console.review.content_flags import find_content_flags
from apps.console.review.inbox_filters import open_proposals_about
from apps.console.review.provenance import provenance_panel
from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.memory_warnings import profile_contradictions
from apps.memory.actions import amend_profile, create_profile
from apps.memory.line_dates import set_profile_line_dates
from apps.memory.models import CustomerProfile, ProfileLine
from apps.memory.profile_line_ledger import lines_of_profile
from apps.notebook.models import Note
from apps.prompt.text_limits import SECTION_CHARACTERS
from apps.runtime.models import Session

ROWS_SHOWN: Final = 10


def related_rows(end_user_key: str, actor: Actor) -> dict[str, Any]:
    """Return the latest rows that the actor sees; sessions, drafts and escalations only of the listed conversations."""
    theirs = Conversation.objects.visible_to(actor).of_customers().filter(end_user_key=end_user_key)
    listed = list(theirs.select_related("agent")[:ROWS_SHOWN])
    threads = [conversation.pk for conversation in listed]
    by_channel = theirs.order_by().values("channel").annotate(count=Count("pk"), latest=Max("created_at"))
    notes = Note.objects.visible_to(actor).open().filter(end_user_key=end_user_key).select_related("agent")
    drafts = Draft.objects.visible_to(actor).filter(conversation_id__in=threads, status=Draft.Status.OPEN)
    escalations = Escalation.objects.visible_to(actor).filter(conversation_id__in=threads).open()
    return {
        "conversations": listed,
        "channels": list(by_channel.order_by("-latest")),
        "notes": list(notes[:ROWS_SHOWN]),
        "drafts": list(drafts.select_related("agent")[:ROWS_SHOWN]),
        "escalations": list(escalations.select_related("agent")[:ROWS_SHOWN]),
        "sessions": list(
            Session.objects.filter(tenant_id=actor.tenant_id, conversation_id__in=threads)
            .select_related("agent", "conversation")
            .order_by("-pk")[:ROWS_SHOWN]
        ),
    }


REMOVED_SHOWN: Final = 10
_ACTIVE: Final = ProfileLine.Status.ACTIVE


def line_sources_panel(profile: Any, actor: Actor) -> dict[str, Any]:
    """Return the lines with the author of each, and its conversation where the reader may see that one."""
    standing, gone = _current_lines(profile), list(_removed_lines(profile))
    sources = _sources([*standing, *gone], actor)
    return {
        "noted": [_line_context(line, profile, sources) for line in standing],
        "noted_before": [_line_context(line, profile, sources) for line in gone],
    }


def _current_lines(profile: CustomerProfile) -> list[ProfileLine]:
    return list(lines_of_profile(profile).filter(status=_ACTIVE).order_by("-field", "id"))


def _removed_lines(profile: CustomerProfile) -> QuerySet[ProfileLine]:
    gone = lines_of_profile(profile).exclude(status=_ACTIVE).select_related("superseded_by")
    return gone.order_by("-ended_at", "-id")[:REMOVED_SHOWN]


def _sources(lines: Iterable[ProfileLine], actor: Actor) -> dict[int, Conversation]:
    ids = {line.source_conversation_id for line in lines if line.source_conversation_id}
    return Conversation.objects.visible_to(actor).in_bulk(ids)


def _line_context(line: ProfileLine, profile: Any, sources: dict[int, Conversation]) -> dict[str, Any]:
    source = sources.get(line.source_conversation_id or 0)
    return {
        "line": line,
        "is_over": line.valid_until is not None and line.valid_until <= timezone.now(),
        "by": profile.people[line.author],
        "source": source,
        "url": url_of_subject("conversations.conversation", source.pk) if source else "",
    }


TEXT_FIELDS = ("preferences", "notes")


def customer_panels(profile: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the source of each line, and everything else about the customer."""
    actor = actor_of(request)
    return {
        **provenance_panel(profile, [getattr(profile, name) for name in TEXT_FIELDS], actor),
        **line_sources_panel(profile, actor),
        **related_rows(profile.end_user_key, actor),
        "author": profile.people[profile.updated_by],
        "flags": find_content_flags({name: getattr(profile, name) for name in TEXT_FIELDS}),
        "proposals": open_proposals_about(profile, actor),
        "clashes": profile_contradictions(profile),
    }


def _create(*, actor: Actor, end_user_key: str, **texts: str) -> CustomerProfile:
    return create_profile(end_user_key, actor=actor, values=texts)


class ProfileAdmin(GovernedAdmin):
    """One profile per end user, shared by all agents of the tenant."""

    list_display = ("end_user_key", "beginning", "author", "last_seen")
    search_fields = ("end_user_key", "preferences", "notes")
    search_help_text = "Search key, preferences or notes"
    empty = "No customer is known yet. Agents note here what a customer tells them."
    add_fields = ("end_user_key", *TEXT_FIELDS)
    fields = TEXT_FIELDS
    counts = dict.fromkeys(TEXT_FIELDS, SECTION_CHARACTERS)
    change_form_template = "console/memory/customer_profile.html"
    creates = CreateAction(Act.PROFILE_AMEND, _create, add_fields)
    amends = (EditAction(Act.PROFILE_AMEND, as_mapping(amend_profile)),)
    buttons = (line_dates_button(Act.PROFILE_SET_LINE_DATES, set_profile_line_dates, ProfileLineDatesForm),)
    list_filter = (DueNotesFilter,)
    panels = PanelReader(customer_panels)

    beginning = beginning_column("Preferences", "preferences")
    last_seen = moment_column("Last seen", "last_seen_at")
    author = person_column("Last written by", "updated_by")
