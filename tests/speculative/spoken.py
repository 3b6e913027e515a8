"""Dialogues of a small taxi office, said in a few ways, for tests."""

from __future__ import annotations

GREETING = "hello this is city cabs how can i help you"
ELSE = "is there anything else i can help you with"
BYE = "thank you for calling have a nice day"
NAMES = ("mary smith", "john brown", "linda jones", "david miller", "susan wilson", "robert davis")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
FARES = ("twelve", "thirty", "forty five", "sixty", "ninety", "twenty two")


def booking(index):
    day = DAYS[index % 6]
    return (
        ("agent", GREETING),
        ("caller", f"[noise] hi my name is {NAMES[index % 6]} i would like to book a taxi"),
        ("agent", "[noise] okay what day would you like the taxi"),
        ("caller", ("{} please", "uh that'd be {} please")[index % 2].format(day)),
        ("agent", f"okay your taxi has been booked for {day} {ELSE}"),
        ("caller", ("no that's all thank you", "no that's it thanks")[index % 2]),
        ("agent", BYE),
    )


def cancelling(index):
    return (
        ("agent", GREETING),
        ("caller", f"hello my name is {NAMES[index % 6]} please cancel my order"),
        ("agent", "sure what is the order number"),
        ("caller", f"my order number is four four two seven {('one', 'nine')[index % 2]}"),
        ("agent", f"your order has been cancelled you get {FARES[index % 6]} dollars back {ELSE}"),
        ("caller", ("nope that's everything", "no that's all thank you")[index % 2]),
        ("agent", f"alright {BYE}"),
    )


def calls(count):
    """Return so many calls, of both kinds in turn."""
    return [(booking, cancelling)[number % 2](number // 2) for number in range(count)]
