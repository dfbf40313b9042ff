"""HTTP with retries, limits and a guard against requests to private addresses."""
