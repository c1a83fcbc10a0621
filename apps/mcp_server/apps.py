"""The MCP endpoint as a Django app."""

from django.apps import AppConfig


class McpServerConfig(AppConfig):
    """The app configuration of mcp_server."""

    name = "apps.mcp_server"
