"""Remote seats: agents in other processes or on other machines, asked over MQTT 5."""
