"""The council: seats agents, hears them all at once until its deadline, and chooses one reply."""
