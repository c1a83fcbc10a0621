"""The MCP server at `/mcp`: its tools are requests of the REST API made with an agent's token, under the same permissions."""
