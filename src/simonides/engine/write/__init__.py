"""Writing memories: judge candidates, prepare the batch, commit it in the owner's write turn."""
