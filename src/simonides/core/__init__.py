"""The values that every room shares: scopes, records, outcomes, policy, settings, errors."""
