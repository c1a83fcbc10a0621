"""The ASGI entry point."""

import os
from threading import Thread

from django.core.asgi import get_asgi_application

from apps.tenants.checks import warn_of_breaches

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

# In a thread of its own: the server imports this within its event loop, and waits for no database.
Thread(target=warn_of_breaches, name="roles apart", daemon=True).start()
