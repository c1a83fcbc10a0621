"""MCP at `/mcp`: the API's own requests as tools for an agent's token, and nothing an agent may not do over REST."""
