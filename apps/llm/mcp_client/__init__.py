"""The MCP client for external tool servers, the only importer of the MCP package; it checks no permissions."""
