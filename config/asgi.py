"""The ASGI entry point: Django, and the MCP endpoint beside it."""

import os
from threading import Thread

from django.core.asgi import get_asgi_application

from apps.mcp_server.mounting import Dispatcher
from apps.tenants.checks import warn_of_breaches

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = Dispatcher(get_asgi_application())

# In a thread of its own: the server imports this within its event loop, and waits for no database.
Thread(target=warn_of_breaches, name="roles apart", daemon=True).start()
