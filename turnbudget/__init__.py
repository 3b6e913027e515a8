"""turnbudget: voice agents that answer in time. The public names; heavy engines load when used."""
