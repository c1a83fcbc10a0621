"""When each sweep is woken, in seconds. Sweeps find whatever a lost message should have woken.

Turns are not among them: the engine itself asks what is due.
"""

from typing import Any


def sweeps(interval_seconds: float) -> dict[str, dict[str, Any]]:  # Any: the form of Celery's beat table
    """The beat table; resolved conversations are looked for as often as the installation says."""
    return {
        "sweep stored files": {"task": "apps.skills.tasks.sweep", "schedule": 86_400.0, "options": {"expires": 3600.0}},
        "sweep expired proposals": {
            "task": "apps.review.tasks.sweep",
            "schedule": 3600.0,
            "options": {"expires": 3600.0},
        },
        "sweep scratch": {"task": "apps.notebook.tasks.sweep", "schedule": 3600.0, "options": {"expires": 3600.0}},
        "sweep listings": {"task": "apps.runtime.tasks.sweep_listings", "schedule": 60.0, "options": {"expires": 60.0}},
        "sweep questions": {
            "task": "apps.runtime.tasks.sweep_questions",
            "schedule": 60.0,
            "options": {"expires": 60.0},
        },
        "sweep resolved conversations": {
            "task": "apps.learning.tasks.sweep",
            "schedule": interval_seconds,
            "options": {"expires": interval_seconds * 2},
        },
        "sweep days": {"task": "apps.learning.tasks.sweep_days", "schedule": 300.0, "options": {"expires": 300.0}},
        "sweep digests": {"task": "apps.learning.tasks.sweep_digests", "schedule": 60.0, "options": {"expires": 60.0}},
        "sweep contradictions": {
            "task": "apps.runtime.tasks.sweep_contradictions",
            "schedule": 60.0,
            "options": {"expires": 60.0},
        },
        "sweep distillation": {
            "task": "apps.learning.tasks.sweep_distillation",
            "schedule": 60.0,
            "options": {"expires": 60.0},
        },
        "sweep lessons": {"task": "apps.learning.tasks.sweep_lessons", "schedule": 60.0, "options": {"expires": 60.0}},
    }
