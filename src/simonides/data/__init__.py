"""Data in and out, whole: backups put back."""
