"""REST and MCP servers: thin faces of the manager (UX-1). Empty so far."""
