"""The conformance suite of stores, in parts."""
