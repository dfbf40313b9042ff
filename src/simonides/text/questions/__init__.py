"""What a question asks for: intent, answer keys, relations."""
