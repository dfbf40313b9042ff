"""Files and tables beside the memories: safety records, key vault, anchor."""
