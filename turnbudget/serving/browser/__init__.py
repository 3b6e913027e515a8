"""The page with a talk button, and the calls it makes."""
