"""A tenant's own model endpoints and model prices, in addition to those of the installation."""

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
# A model's name, or a prefix followed by a star.
MODEL: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*\*?\Z"
model_rule = RegexValidator(MODEL, "Enter a model's name, or a prefix followed by a star.")
# A thousand dollars per million tokens.
HIGHEST_MICRO_USD: Final = 1_000_000_000


def validate_reachable_url(url: str) -> None:
    """Refuse an address that tenants' endpoints may not use."""
    if flaw := url_flaw(url, settings.REACHABLE_NETWORKS):
        raise ValidationError(flaw)


class SecretManager(models.Manager["SealedSecret"]):
    """A manager that does not load the sealed text, which people's database role may not read.

    Code that decrypts a secret selects the text explicitly.
    """

    def get_queryset(self) -> models.QuerySet["SealedSecret"]:
        """Return a queryset that does not load the sealed text."""
        return super().get_queryset().defer("ciphertext")


class SealedSecret(models.Model):
    """An encrypted key of an external service. People store it and never see it again; only workers decrypt it.

    It is not a governed row. The governed row that uses it refers to its id, so that the row's change records show when the key
    changed.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    ciphertext = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SecretManager()

    def __str__(self) -> str:
        return f"Secret {self.pk}"


class Endpoint(Governed):
    """An address that serves the Messages API, with its key (R131)."""

    key = models.CharField(max_length=40, validators=[key_rule])
    title = models.CharField(max_length=120, validators=[validate_storable_text])
    base_url = models.CharField(
        "address",
        max_length=300,
        validators=[validate_storable_text, validate_reachable_url],
        help_text="Such as https://models.example. Another host, port or scheme deletes the key. Enter it again then.",
    )
    # The database keeps the reference within the tenant, and deletes a key that no row refers to.
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
        """Whether a key is stored for the endpoint."""
        return self.secret_id is not None


def _price_field(label: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        label,
        validators=[MaxValueValidator(HIGHEST_MICRO_USD)],
        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
    )


class ModelPrice(Governed):
    """This tenant's price of a model from a given moment on. It overrides the product's price list."""

    model = models.CharField(
        max_length=80,
        validators=[model_rule],
        help_text="A model's name, or a prefix followed by a star, such as gpt-*. The longest match applies.",
    )
    valid_from = models.DateTimeField(
        "from", help_text="Calls from then on have these prices; earlier ones keep theirs."
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
