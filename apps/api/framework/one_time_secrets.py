"""One-time secrets: a secret is returned only by the request that creates it."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.api.framework.base_views import Row, RowViewSet
from apps.api.models import IdempotencyRecord
from apps.api.protocol.serializers import RowSerializer


class SecretOnceField(CharField):
    """A field for a secret that only the current request knows."""

    def __init__(self, **options: Any) -> None:
        super().__init__(source="*", read_only=True, **options)

    def to_representation(self, value: object) -> str:
        """Return the value that the view put into the serializer context."""
        secret: str = self.context[str(self.field_name)]
        return secret


class SecretOnceViewSet(RowViewSet[Row]):
    """A view set whose response to a creating request contains a secret, once."""

    # Responses are not stored, because the response to a repeated request must not contain the secret.
    keeps_words: ClassVar[bool] = False

    def tell_once(
        self,
        kind: type[RowSerializer[Row]],
        row_id: int,
        ignored: Sequence[str] = (),
        status: int = 201,
        **secret_values: str,
    ) -> Response:
        """Return the row in its current state with the secrets of this request, and headers that forbid caching."""
        row = self.get_queryset().get(pk=row_id)
        context = {**self.get_serializer_context(), "ignored_fields": list(ignored), **secret_values}
        return Response(kind(row, context=context).data, status=status, headers={"Cache-Control": "private, no-store"})

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Return the row that the write created or changed, without its secret."""
        return self.answer(kept.row_id or 0, status=kept.status)
