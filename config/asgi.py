"""The ASGI entry point: Django, and the MCP endpoint beside it; the request middleware surrounds both."""

import os
from threading import Thread

from django.core.asgi import get_asgi_application

from apps.mcp_server.asgi_dispatcher import AsgiDispatcher
from apps.telemetry.request_logging import RequestLogMiddleware
from apps.tenants.checks import log_role_violations

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = RequestLogMiddleware(AsgiDispatcher(get_asgi_application()))

# In a thread of its own: the server imports this module within its event loop, which must not wait for the database.
Thread(target=log_role_violations, name="roles apart", daemon=True).start()
