"""How often each sweep runs, in seconds. Sweeps find work whose wake-up message was lost.

Turns are not among them: the engine itself looks for due turns.
"""

from collections.abc import Mapping
from typing import Any, Final

MINUTE: Final = 60.0
HOUR: Final = 60 * MINUTE

SWEEP_INTERVALS: Final[Mapping[str, float]] = {
    "apps.api.tasks.sweep_answers": 10 * MINUTE,
    "apps.learning.tasks.sweep_days": 5 * MINUTE,
    "apps.learning.tasks.sweep_digests": MINUTE,
    "apps.learning.tasks.sweep_distillation": MINUTE,
    "apps.learning.tasks.sweep_lessons": MINUTE,
    "apps.notebook.tasks.sweep": HOUR,
    "apps.notifications.tasks.sweep": MINUTE,
    "apps.notifications.tasks.sweep_review_webhooks": MINUTE,
    "apps.review.tasks.sweep": HOUR,
    "apps.review.tasks.sweep_bulk": MINUTE,
    "apps.runtime.tasks.sweep_contradictions": MINUTE,
    "apps.runtime.tasks.sweep_listings": MINUTE,
    "apps.runtime.tasks.sweep_paused_delegations": MINUTE,
    "apps.skills.tasks.sweep": 24 * HOUR,
}
LONGEST_EXPIRY_SECONDS: Final = HOUR


def beat_table(interval_seconds: float) -> dict[str, dict[str, Any]]:  # Any: the form of Celery's beat table
    """Return the beat table; the installation sets how often resolved conversations are looked for.

    A message that no worker took is dropped when the next one comes, or after an hour.
    """
    table = {
        task: _beat_entry(seconds, min(seconds, LONGEST_EXPIRY_SECONDS), task)
        for task, seconds in SWEEP_INTERVALS.items()
    }
    resolved = "apps.learning.tasks.sweep"
    return {**table, resolved: _beat_entry(interval_seconds, 2 * interval_seconds, resolved)}


def _beat_entry(seconds: float, expires: float, task: str) -> dict[str, Any]:
    return {"task": task, "schedule": seconds, "options": {"expires": expires}}
