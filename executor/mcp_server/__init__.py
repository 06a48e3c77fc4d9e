"""Serve a domain to agents over MCP, the Model Context Protocol: planning, explaining, and carrying out plans.

`build_server` puts the tools together: those of `question_tools` and `running_tools`. Their work is done by
`planning_tools` and `run_tools`, which know nothing of MCP. Only the command imports what imports the package `mcp`.
"""
