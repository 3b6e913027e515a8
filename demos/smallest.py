"""The smallest agent of a new domain: ``python demos/smallest.py`` lets you talk to it."""

from turnbudget import Form, Slot, chat

DAY = Slot(name="day", type="date", ask="Which day?")
GUESTS = Slot(name="guests", type="number", cues=("for",), ask="How many people?")
DONE = "A table for {guests} on {day}. See you then!"
table = Form("table", [DAY, GUESTS], trigger=["table"], done=DONE, action="book")

if __name__ == "__main__":
    chat(table)
