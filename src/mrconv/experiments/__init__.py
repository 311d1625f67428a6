"""Whole experiments: the demo, and the pages that show what was found."""
