"""Tasks without a plan: made so that an argument says it, or by taking facts away from tasks that have one."""
