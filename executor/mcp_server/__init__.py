"""Serve a domain to agents over MCP, the Model Context Protocol: planning, explaining, and carrying out plans.

`build_server` puts the tools together; `planning_tools` answers questions about problems, `run_tools` carries plans
out. The package `mcp` is imported by `build_server` and `http_endpoint` only.
"""
