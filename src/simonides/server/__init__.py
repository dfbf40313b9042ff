"""The doors of a store: REST, events, and MCP, over HTTP and a local socket."""
