"""The Django app of the MCP server."""

from django.apps import AppConfig


class McpServerConfig(AppConfig):
    """The Django app configuration of the MCP server."""

    name = "apps.mcp_server"
