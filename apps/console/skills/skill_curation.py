"""Which skills may be retired, in the list of skills and on the page of one."""

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
    """Approved skills that nobody fetches, that go badly, or that a newer one covers."""

    title = "curation"
    parameter_name = CURATION

    offered = (
        (ANY_REASON, "May be retired"),
        (RetirementCause.UNUSED, "Nobody fetches it"),
        (RetirementCause.WORSE, "Ends badly more often"),
        (RetirementCause.SUPERSEDED, "A newer one says the same"),
    )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The skills with such a reason; their figures are read for this filter alone."""
        if self.value() is None:
            return queryset
        return queryset.filter(
            pk__in=candidate_ids(self.value() or ANY_REASON, actor=actor_of(request), now=timezone.now())
        )


def curation_panel(skill: Skill, request: HttpRequest) -> dict[str, Any]:
    """What became of an approved skill, and the page of the one that covers it."""
    found = read_curations([skill.pk], actor=actor_of(request), now=timezone.now()).get(skill.pk)
    newer = found.figures.newer if found else None
    return {"curated": found, "newer_url": url_of_subject("skills.skill", newer.skill_id) if newer else ""}
