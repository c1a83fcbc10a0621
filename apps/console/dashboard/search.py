"""Search over messages, memory, skills, customer notes, proposals and changes by words; the newest first, day by day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.apps import apps
from django.contrib.admin import AdminSite
from django.core.validators import MinLengthValidator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.framework.actor_names import ActorNames, agents_named, people_of_tenant
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import title_of
from apps.console.framework.row_urls import url_of_subject
from apps.conversations.models import Message
from apps.governance.actors import Actor
from apps.governance.database.full_text_search import SearchHits, rows_with_words
from apps.governance.models import ChangeRecord, Proposal
from apps.memory.models import MemoryLine, ProfileLine
from apps.runtime.search import KINDS, MAX_CHARACTERS, MAX_RESULTS, MIN_CHARACTERS, SearchedKind, readable_rows
from apps.text_analysis.search_excerpts import ExcerptPiece, make_excerpt, query_words

PAGE_SIZE: Final = 50
# The label of each tab, and the kinds of rows it shows.
TABS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "all": ("All", tuple(KINDS)),
    "conversations": ("Conversations", ("message",)),
    "skills": ("Skills", ("skill",)),
    "memory": ("Memory", ("memory_line", "memory_block")),
    "customers": ("Customers", ("profile_line",)),
    "proposals": ("Proposals", ("proposal",)),
    "changes": ("Changes", ("change",)),
}


class SearchInput(UnfoldAdminTextInputWidget):
    """A search field that browsers let people clear, and that the key `/` focuses."""

    input_type = "search"


class SearchForm(forms.Form):
    """The words to search for."""

    q = forms.CharField(
        label="Words",
        max_length=MAX_CHARACTERS,
        validators=[MinLengthValidator(MIN_CHARACTERS, "Type at least two letters.")],
        error_messages={"required": "Type what to look for."},
        widget=SearchInput(attrs={"id": "searchbar", "autocomplete": "off", "maxlength": MAX_CHARACTERS}),
    )

    def clean_q(self) -> str:
        """Refuse a query that requires no word, because every row would match it."""
        asked = str(self.cleaned_data["q"])
        if not query_words(asked):
            raise forms.ValidationError("Type at least one word that the results must contain.")
        return asked


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A row that contains the words."""

    label: str
    title: str
    url: str
    who: str
    at: datetime
    excerpt: Sequence[ExcerptPiece]

    @property
    def day(self) -> date:
        """The day in the tenant's time zone."""
        return timezone.localtime(self.at).date()


@dataclass(frozen=True, slots=True)
class SearchTab:
    """A tab, with the number of rows of its kinds."""

    label: str
    url: str
    count: str
    selected: bool


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A page of results."""

    tabs: Sequence[SearchTab]
    hits: Sequence[SearchResult]
    is_common: bool
    newer: str
    older: str


def search_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the results. A GET changes nothing, so its address can be bookmarked."""
    form = SearchForm(request.GET if "q" in request.GET else None, label_suffix="")
    results = find_results(actor_of(request), form.cleaned_data["q"], request.GET) if form.is_valid() else None
    shown = {"title": "Search", "form": form, "results": results}
    return TemplateResponse(request, "console/dashboard/search.html", {**site.each_context(request), **shown})


def find_results(actor: Actor, asked: str, given: QueryDict) -> SearchResults:
    """Return those rows with the words that the actor may read."""
    found = rows_with_words(asked, MAX_RESULTS + 1, *KINDS)
    chosen = next((name for name in TABS if name == given.get("kind")), "all")
    _, kinds = TABS[chosen]
    number = given.get("page", "")
    page = min(max(int(number), 1), MAX_RESULTS // PAGE_SIZE) if number.isascii() and number.isdigit() else 1
    placed = _newest_first({kind: found[kind] for kind in kinds})
    hits = placed[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    is_last = len(placed) <= page * PAGE_SIZE or page == MAX_RESULTS // PAGE_SIZE
    return SearchResults(
        tabs=[_tab(name, asked, found, selected=name == chosen) for name in TABS],
        hits=list(_hits(actor, hits, asked)),
        is_common=any(_is_cut(found[kind]) for kind in kinds) or len(placed) > MAX_RESULTS,
        newer=_search_url(asked, chosen, page - 1) if page > 1 else "",
        older="" if is_last else _search_url(asked, chosen, page + 1),
    )


def _newest_first(found: Mapping[str, SearchHits]) -> list[tuple[str, int]]:
    """Return pairs of kind and id, the newest first."""
    each = ((at, row_id, kind) for kind, of_kind in found.items() for row_id, at in of_kind.rows)
    return [(kind, row_id) for _, row_id, kind in sorted(each, reverse=True)]


def _hits(actor: Actor, placed: Sequence[tuple[str, int]], asked: str) -> Iterator[SearchResult]:
    # Names of authors are read only if a change is among the results.
    people = people_of_tenant(actor) if any(kind == "change" for kind, _ in placed) else ActorNames({})
    for kind, row in readable_rows(actor, placed):
        title, url, who = _describe_change(row, people) if isinstance(row, ChangeRecord) else _describe_row(row)
        yield _hit(KINDS[kind], row, asked, title, url, who)


def _describe_change(record: ChangeRecord, people: ActorNames) -> tuple[str, str, str]:
    kind, label = (
        str(apps.get_model(record.subject_type)._meta.verbose_name),
        agents_named(record.subject_label, people),
    )
    is_named = label.casefold().startswith(kind.casefold())
    act = record.act.partition(".")[2].replace("_", " ")
    return (
        label if is_named else f"{kind.capitalize()} {label}",
        url_of_subject(record._meta.label_lower, record.pk),
        f"{act}, by {people[record.actor_label]}",
    )


def _hit(searched: SearchedKind, row: Any, asked: str, title: str, url: str, who: str) -> SearchResult:
    return SearchResult(
        searched.label, title, url, who, getattr(row, searched.at), make_excerpt(searched.text(row), asked)
    )


def _describe_row(row: Any) -> tuple[str, str, str]:
    """Return the title of a row, the address of its page, and its author or state."""
    if isinstance(row, Message):
        thread = row.conversation
        url = f"{url_of_subject('conversations.conversation', thread.pk)}#message-{row.position}"
        return str(thread), url, f"{row.get_sender_display()}, conversation of agent {thread.agent}"
    if isinstance(row, ProfileLine):
        return str(row.profile), url_of_subject(row.profile._meta.label_lower, row.profile.pk), row.get_field_display()
    title = f"{row.where} of agent {row.agent}" if isinstance(row, MemoryLine) else title_of(row)
    if isinstance(row, Proposal):
        return title, url_of_subject(row._meta.label_lower, row.pk), str(row.current_state.label)
    state = {"memory_line": "get_status_display", "skill": "get_status_display"}
    display_method = state.get(row._meta.model_name.removeprefix("memory"))
    return (
        title,
        url_of_subject(row._meta.label_lower, row.pk),
        str(getattr(row, display_method)()) if display_method else "",
    )


def _tab(name: str, asked: str, found: Mapping[str, SearchHits], *, selected: bool) -> SearchTab:
    label, kinds = TABS[name]
    counted = sum(len(found[kind].rows) for kind in kinds)
    more = "+" if counted > MAX_RESULTS or any(_is_cut(found[kind]) for kind in kinds) else ""
    return SearchTab(label, _search_url(asked, name), f"{min(counted, MAX_RESULTS)}{more}", selected)


def _is_cut(found: SearchHits) -> bool:
    return found.is_common or len(found.rows) > MAX_RESULTS


def _search_url(asked: str, tab: str, page: int = 1) -> str:
    given = {"q": asked, **({"kind": tab} if tab != "all" else {}), **({"page": page} if page > 1 else {})}
    return f"?{urlencode(given)}"
