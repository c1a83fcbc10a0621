"""What stood in a memory or a block before, and what of it holds no more: the latest of it on the page of the text."""

from typing import Any, Final

from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from apps.console.row_urls import url_of_subject
from apps.memory.line_ledger import Remembered, ledger_of
from apps.memory.models import AgentMemory, MemoryLine

SHOWN: Final = 10
LIST: Final = "admin:memory_memoryline_changelist"


def former_panel(row: Remembered) -> dict[str, Any]:
    """The lines that were replaced or taken out, the latest first, and those that stand there and hold no more."""
    ledger, now = ledger_of(row).select_related("superseded_by"), timezone.now()
    gone = list(ledger.exclude(status=MemoryLine.Status.ACTIVE).order_by("-ended_at", "-id")[: SHOWN + 1])
    over = list(
        ledger.filter(status=MemoryLine.Status.ACTIVE, valid_until__lte=now).order_by("-valid_until", "-id")[:SHOWN]
    )
    place = "memory" if isinstance(row, AgentMemory) else "block"
    return {
        "gone": [_shown(line) for line in gone[:SHOWN]],
        "over": [_shown(line) for line in over],
        "has_more": len(gone) > SHOWN,
        "lines_url": f"{reverse(LIST)}?{urlencode({f'{place}__exact': row.pk})}",
    }


def _shown(line: MemoryLine) -> dict[str, Any]:
    return {"line": line, "url": url_of_subject("memory.memoryline", line.pk)}
