"""Language models, embedders, document sources and the machine itself, behind ports."""
