"""Commands to the memory in ten languages, one data file each."""
