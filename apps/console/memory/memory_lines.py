"""Lines of memory: the author and source of each, its dates, and the line that replaced it."""

from operator import attrgetter
from typing import Any

from django.http import HttpRequest
from django.utils.http import urlencode

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column, person_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_urls import exposure_url, url_of_subject
from apps.console.memory.line_dates import DueFilter
from apps.console.review.provenance import SOURCE_SENTENCES
from apps.conversations.models import Conversation
from apps.governance.models import Taint
from apps.memory.models import MemoryLine


def line_panels(line: MemoryLine, request: HttpRequest) -> dict[str, Any]:
    """Return the author, the text that contains the line, and the conversation it came from."""
    row = line.memory or line.block
    source = Conversation.objects.visible_to(actor_of(request)).filter(pk=line.source_conversation_id or 0).first()
    return {
        "by": people_of(request)[line.author],
        "taint_sentence": SOURCE_SENTENCES[Taint(line.taint)],
        "text_url": url_of_subject(row._meta.label_lower, row.pk) if row else "",
        "told_url": f"{exposure_url(row)}?{urlencode({'line': line.text})}" if row else "",
        "source": source,
        "source_url": url_of_subject("conversations.conversation", source.pk) if source else "",
        "follower_url": url_of_subject("memory.memoryline", line.superseded_by_id) if line.superseded_by_id else "",
    }


class MemoryLineAdmin(GovernedAdmin):
    """Read-only: the ledger of the lines of memory and blocks."""

    list_display = ("beginning", "agent", "stands_in", "status", "whose_words", "author_name", "since", "until")
    list_display_links = ("beginning",)
    list_filter = ("status", DueFilter, "taint", "agent")
    list_select_related = ("agent", "block")
    search_fields = ("text", "agent__key")
    search_help_text = "Search line or agent"
    empty = "No line yet. Whatever agents and people write into memory or a block is listed here line by line."
    fields = ()
    change_form_template = "console/memory/memory_line.html"
    panels = PanelReader(line_panels)

    beginning = column("Line", str, ordering="text")
    stands_in = column("Of", attrgetter("where"))
    author_name = person_column("Written or approved by", "author")
    until = moment_column("Until", "valid_until", missing="")
    since = moment_column("Since", "created_at")
