"""What is false, secret, poisoned or second-hand in what is to be remembered, or is already (HY)."""
