"""What all databases share: columns, change rules, portable rows, SQL files."""
