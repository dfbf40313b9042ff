"""Document sources: a folder, an HTTP search."""
