"""Words: what they mean to a call before anybody answers them, and how they are cut and spoken."""
