"""What is false, secret, poisoned or second-hand in what is or is to be remembered (HY)."""
