"""Settings: what a configuration says, checked, and the parts of a call made from it."""
