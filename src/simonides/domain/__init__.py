"""Values and pure rules. Standard library only: no clock, no random numbers, no I/O."""
