"""What a text says, without a model: analyser, normalisation, linear-time patterns."""
