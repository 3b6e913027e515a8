"""Simulated LLM serving: labelled as such, on the loop's clock, honest enough to plan with."""
