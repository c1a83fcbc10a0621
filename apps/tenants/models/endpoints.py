"""Where a tenant's agents may think besides the installation's own endpoint, and what models cost it."""

from typing import ClassVar, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import validate_storable_text
from apps.outbound.ssrf import url_flaw

KEY: Final = r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z"
key_rule = RegexValidator(KEY, "Use lower-case letters, digits and single hyphens.")
# A name, or the beginning of names followed by a star.
MODEL: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*\*?\Z"
model_rule = RegexValidator(MODEL, "Write a model's name, or the beginning of some followed by a star.")
# A thousand dollars for a million tokens.
HIGHEST_MICRO_USD: Final = 1_000_000_000


def validate_reachable_url(url: str) -> None:
    """Refuse an address that leads where tenants may not."""
    if flaw := url_flaw(url, settings.REACHABLE_NETWORKS):
        raise ValidationError(flaw)


class SecretManager(models.Manager["SealedSecret"]):
    """Leaves out what people's database role may not read; whoever opens a secret asks for it."""

    def get_queryset(self) -> models.QuerySet["SealedSecret"]:
        """Without the sealed text."""
        return super().get_queryset().defer("ciphertext")


class SealedSecret(models.Model):
    """A key of somebody else's service, encrypted. People lay it down and never see it again; only workers open it.

    It is no governed row: the row that uses it names it by number, so that its change records tell when the key changed.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    ciphertext = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SecretManager()

    def __str__(self) -> str:
        return f"Secret {self.pk}"


class Endpoint(Governed):
    """An address that speaks the Messages API, with the key it wants (R131)."""

    key = models.CharField(max_length=40, validators=[key_rule])
    title = models.CharField(max_length=120, validators=[validate_storable_text])
    base_url = models.CharField(
        "address",
        max_length=300,
        validators=[validate_storable_text, validate_reachable_url],
        help_text="Such as https://models.example. Another host, port or scheme forgets the key; enter it anew then.",
    )
    # The database holds the reference within the tenant, and a key goes once nothing names it.
    secret = models.ForeignKey(SealedSecret, null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+")

    noun = "endpoint"
    objects = GovernedQuerySet["Endpoint"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "key"],
                name="endpoint_key_is_unique_in_tenant",
                violation_error_message="There is an endpoint with this key in the tenant already. Choose another key.",
            ),
            models.CheckConstraint(condition=models.Q(key__regex=KEY), name="endpoint_key_is_lower_case"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def has_key(self) -> bool:
        """Whether a key is kept for it."""
        return self.secret_id is not None


def _price_field(label: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        label,
        validators=[MaxValueValidator(HIGHEST_MICRO_USD)],
        help_text="Micro-dollars for a million tokens: 2000000 is two dollars.",
    )


class ModelPrice(Governed):
    """What a model costs this tenant from a moment on; it stands above the price list that ships with the product."""

    model = models.CharField(
        max_length=80,
        validators=[model_rule],
        help_text="A model's name, or the beginning of one and a star, such as gpt-*. The longest that fits decides.",
    )
    valid_from = models.DateTimeField(
        "from", help_text="Calls asked from then on are priced so; earlier ones keep theirs."
    )
    input_micro_usd = _price_field("input")
    output_micro_usd = _price_field("output")
    cache_read_micro_usd = _price_field("read from the cache")
    cache_write_5m_micro_usd = _price_field("kept for 5 minutes")
    cache_write_1h_micro_usd = _price_field("kept for an hour")

    noun = "price"
    objects = GovernedQuerySet["ModelPrice"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["model", "-valid_from"]
        verbose_name = "price"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "model", "valid_from"],
                name="model_has_one_price_at_a_time",
                violation_error_message="This model has a price from that moment already. Withdraw it first.",
            ),
            models.CheckConstraint(condition=models.Q(model__regex=MODEL), name="priced_model_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.model
