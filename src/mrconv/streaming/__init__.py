"""Trained models sample by sample or chunk by chunk, exactly."""
