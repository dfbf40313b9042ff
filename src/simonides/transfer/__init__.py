"""In and out: transcripts now; backup, export, migration and foreign stores come later."""
