"""L0, working memory: slots, budgets and the prompt of one task (WM). Empty so far."""
