"""Training: parameter groups, recipes, and the loop."""
