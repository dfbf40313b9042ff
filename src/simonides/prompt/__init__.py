"""The one way into a prompt: the core block, what bears on the question, and a receipt."""
