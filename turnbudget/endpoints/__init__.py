"""LLM endpoints: measured and fitted to a preset, shown, and served as simulated ones."""
