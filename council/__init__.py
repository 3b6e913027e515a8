"""The council: seats agents and chooses one reply. Nothing is in it yet; a turn asks one responder."""
