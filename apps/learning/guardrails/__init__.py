"""Guardrails of an agent, and checks that nothing learned loosens or contradicts one."""
