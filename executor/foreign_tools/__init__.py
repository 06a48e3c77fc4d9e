"""Turn tools of MCP servers, pydantic-ai, LangChain and plain functions into actions with contracts."""
