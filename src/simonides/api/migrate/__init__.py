"""Moving a whole store to another database, with a spot check afterwards."""
