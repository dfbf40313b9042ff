"""Limits that a policy file can set: budgets, ceilings, quotas, gates."""
