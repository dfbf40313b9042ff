"""The documents of an organisation: files and pages to look things up in, never memories."""
