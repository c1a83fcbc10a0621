"""What opens something stands in the answer that makes it, and in no other."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.api.framework.base_views import Row, RowViewSet
from apps.api.models import IdempotencyRecord
from apps.api.protocol.serializers import RowSerializer


class SecretOnceField(CharField):
    """What nothing but this request knows, under the field's own name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(source="*", read_only=True, **options)

    def to_representation(self, value: object) -> str:
        """As the view says it."""
        secret: str = self.context[str(self.field_name)]
        return secret


class SecretOnceViewSet(RowViewSet[Row]):
    """Rows of which some answers tell more, once."""

    # What is answered twice lacks it the second time.
    keeps_words: ClassVar[bool] = False

    def tell_once(
        self,
        kind: type[RowSerializer[Row]],
        row_id: int,
        ignored: Sequence[str] = (),
        status: int = 201,
        **secret_values: str,
    ) -> Response:
        """The row as it now stands, with what nothing but this request knows; no cache may keep it."""
        row = self.get_queryset().get(pk=row_id)
        context = {**self.get_serializer_context(), "ignored_fields": list(ignored), **secret_values}
        return Response(kind(row, context=context).data, status=status, headers={"Cache-Control": "private, no-store"})

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """The row that the write made or changed, without what was told once."""
        return self.answer(kept.row_id or 0, status=kept.status)
