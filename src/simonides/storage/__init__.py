"""The two databases behind one narrow interface, with one schema and one set of statements."""
