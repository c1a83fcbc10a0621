"""Guardrails of an agent, and the checks that nothing learned loosens or contradicts one."""
