"""Skills that may be retired, as a filter of the list of skills and a panel on a skill's page."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.change_lists import FixedChoicesFilter
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_urls import url_of_subject
from apps.runtime.skill_retirement import ANY_REASON, candidate_ids, read_curations
from apps.skills.models import Skill
from apps.skills.retirement_rules import RetirementCause

CURATION = "curation"


class CurationFilter(FixedChoicesFilter):
    """Filter by approved skills that agents rarely fetch, that end badly more often, or that a newer one covers."""

    title = "curation"
    parameter_name = CURATION

    offered = (
        (ANY_REASON, "May be retired"),
        (RetirementCause.UNUSED, "Nobody fetches it"),
        (RetirementCause.WORSE, "Ends badly more often"),
        (RetirementCause.SUPERSEDED, "A newer one says the same"),
    )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the skills with such a reason; their figures are read only for this filter."""
        if self.value() is None:
            return queryset
        return queryset.filter(
            pk__in=candidate_ids(self.value() or ANY_REASON, actor=actor_of(request), now=timezone.now())
        )


def curation_panel(skill: Skill, request: HttpRequest) -> dict[str, Any]:
    """Return the use of an approved skill and the reasons to retire it, and the page of the skill that covers it."""
    found = read_curations([skill.pk], actor=actor_of(request), now=timezone.now()).get(skill.pk)
    newer = found.figures.newer if found else None
    return {"curated": found, "newer_url": url_of_subject("skills.skill", newer.skill_id) if newer else ""}
