"""What happens to memories by itself, as time passes."""
