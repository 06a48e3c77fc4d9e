"""Let agents of other frameworks call the tools of a world as a plan, or a goal, needs them.

`planned_calls` is the part that all share; `pydantic_ai_toolset` and `langgraph_nodes` adapt it. The frameworks are
imported by these two only.
"""
