"""What implements the ports: stores, embedders, models, clocks. Only wiring and tests name them."""
