"""Time: the clock, budgets and forecasts on it, what stalls it, and the tasks that share it."""
