"""What the service offers, one file for each group of paths."""
