"""Settings of a beat for stories that wait for sweeps: the product's schedule, in which a minute takes six seconds."""

from config.settings import *  # noqa: F403  # a module of settings
from config.settings import CELERY_BEAT_SCHEDULE as _TABLE

_BEAT_SPEEDUP = 10
CELERY_BEAT_SCHEDULE = {task: entry | {"schedule": entry["schedule"] / _BEAT_SPEEDUP} for task, entry in _TABLE.items()}
