"""The Celery application and its beat table. The database is the truth; Celery is the alarm clock."""

import os
import warnings

from celery import Celery

# The package announces its successor at every import; the notice is not about our code.
warnings.filterwarnings("ignore", message="The 'django-fsm' package", category=UserWarning)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("preceptor")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
