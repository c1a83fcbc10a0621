"""The Celery application and its beat table. The database is the truth; Celery is the alarm clock."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.signals import worker_ready

from apps.tenants.checks import warn_of_breaches

# The package announces its successor at every import; the notice is not about our code.
warnings.filterwarnings("ignore", message="The 'django-fsm' package", category=UserWarning)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("preceptor")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def look_at_roles(**said: Any) -> None:
    """Workers say at their start what the web process says at its own."""
    del said
    warn_of_breaches()
