"""The saved filter: a name for what the review inbox was narrowed to."""

from typing import ClassVar, Self

from django.db import models
from django.db.models.functions import Now

from apps.governance.actors import PEOPLE, Actor, Role
from apps.review.filters.rules import FILTERS_KEPT, NAME_CHARACTERS, QUERY_CHARACTERS

READERS = PEOPLE | {Role.STAFF}


class SavedFilterQuerySet(models.QuerySet["SavedFilter"]):
    """Adjectives for saved filters."""

    def visible_to(self, actor: Actor) -> Self:
        """A person's own, and those that others share with the tenant; nothing for whoever is no person."""
        if actor.role not in READERS:
            return self.none()
        seen = models.Q(user_id=actor.user_id) | models.Q(is_shared=True)
        return self.filter(seen, tenant_id=actor.tenant_id)

    def own(self, actor: Actor) -> Self:
        """Those that this person saved."""
        return self.filter(tenant_id=actor.tenant_id, user_id=actor.user_id)


class SavedFilter(models.Model):
    """What one person narrowed the inbox to, under a name. It is saved and deleted, and never changes."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="+")
    quota_slot = models.PositiveSmallIntegerField(
        help_text="Each of a person's filters has one, so they cannot be more."
    )
    name = models.CharField(max_length=NAME_CHARACTERS)
    query = models.CharField(
        max_length=QUERY_CHARACTERS, help_text="What stands in the address behind the question mark."
    )
    is_shared = models.BooleanField()
    created_at = models.DateTimeField(db_default=Now())

    objects = SavedFilterQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "user", "name"], name="person_names_a_filter_once"),
            models.UniqueConstraint(fields=["tenant", "user", "quota_slot"], name="person_uses_a_quota_slot_once"),
            models.CheckConstraint(
                condition=models.Q(quota_slot__gte=1, quota_slot__lte=FILTERS_KEPT),
                name="quota_slot_is_within_the_limit",
            ),
            models.CheckConstraint(
                condition=~models.Q(name="") & ~models.Q(query=""), name="saved_filter_has_a_name_and_a_query"
            ),
            models.CheckConstraint(condition=~models.Q(query__regex=r"(^|&)p="), name="saved_filter_names_no_page"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant"], condition=models.Q(is_shared=True), name="shared_filter_of_tenant")
        ]

    def __str__(self) -> str:
        return self.name
