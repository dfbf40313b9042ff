"""Who may do what: rights, grants, and the audit trail that proves what was done."""
