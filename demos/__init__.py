"""Runnable scenarios, above everything else."""
