"""The rule that reads from a transcript what a caller wanted, task by task, and what counts as the same."""

from __future__ import annotations

from laws import each

from turnbudget.recorded.wanted import Wanted, same, told, wanted


def turns(*lines):
    """Return lines "agent: …" / "caller: …" as pairs."""
    return [tuple(line.split(": ", 1)) for line in lines]


READ = {
    "a card": (
        ["caller: i lost my debit card send me a new one", "agent: which card would you like to replace",
         "caller: [noise] my debit card"],
        Wanted("replace card", {"card": "debit"}),
    ),
    "a balance, corrected": (
        ["caller: i need my balance", "agent: which account would you like to check",
         "caller: checking no i mean savings", "agent: your savings account balance is nine dollars"],
        Wanted("check balance", {"account": "savings"}),
    ),
    "a transfer, the destination said first": (
        ["agent: what is the transfer amount", "caller: uh a hundred and one dollars",
         "agent: what is the source account", "caller: into my savings from checking"],
        Wanted("transfer money", {"amount": "101 dollars", "source": "checking", "destination": "savings"}),
    ),
    "an amount without its unit": (
        ["agent: what is the transfer amount", "caller: two hundred", "agent: the source account please",
         "caller: savings"],
        Wanted("transfer money", {"amount": "200", "source": "savings", "destination": "checking"}),
    ),
    "an appointment": (
        ["agent: what day would you like", "caller: friday please", "agent: what time",
         "caller: two fifteen p m"],
        Wanted("schedule appointment", {"day": "friday", "time": "215 p m"}),
    ),
    "a telephone number in pieces, said twice": (
        ["agent: what is your phone number to reset the password", "caller: five five five", "agent: okay",
         "caller: oh one two", "agent: again please", "caller: five five five", "agent: [noise]",
         "caller: zero one two", "agent: [noise]", "caller: nine nine double eight"],
        Wanted("reset password", {"phone": "5550129988"}),
    ),
    "hours, nothing to fill in": (
        ["caller: when are you open", "agent: the branch hours are nine to five"],
        Wanted("get branch hours", {}),
    ),
    "an address in pieces, the zip again": (
        ["agent: what is your home address", "caller: it's five hundred first street", "agent: [noise]",
         "caller: and that's in forest ranch", "agent: okay", "caller: oregon zip is four six", "agent: ",
         "caller: eight nine six", "agent: the zip again please", "caller: four six eight nine six"],
        Wanted("order checks", {"address": "500 first street forest ranch oregon 46896"}),
    ),
    "a bill": (
        ["agent: what is the company name", "caller: uh river water", "agent: and the company address",
         "caller: eight seventy one main street harper valley california eight one six two three",
         "agent: the bill amount please", "caller: ninety two dollars"],
        Wanted("pay bill", {
            "company": "river water",
            "company_address": "871 main street harper valley california 81623",
            "amount": "92 dollars",
        }),
    ),
    "an agent who says nothing that tells": (
        ["agent: okay", "caller: i would like to schedule an appointment on monday"],
        Wanted("schedule appointment", {"day": "monday"}),
    ),
    "nothing at all": (["caller: hello"], Wanted("", {})),
}  # fmt: skip


@each(("lines", "expected"), READ.values(), ids=READ)
def test_the_rule_reads(lines, expected):
    assert wanted(turns(*lines)) == expected


@each(
    ("slot", "right", "got"),
    [
        ("time", "430 p m", "16:30"),
        ("time", "11:00 AM", "eleven a m"),
        ("time", "4:30", "4:30 PM"),
        ("amount", "132", "$132.00"),
        ("amount", "101 dollar", "101"),
        ("phone", "715-139-0787", "7151390787"),
        ("day", "Monday", "monday"),
        ("company", "Smart Electic", "smart electric"),
        ("address", "001 Main Street, Forest Ranch, 70023", "001 main street forrest ranch 70023"),
    ],
)  # fmt: skip
def test_the_same_said_otherwise_is_the_same(slot, right, got):
    assert same(slot, right, got)


@each(
    ("slot", "right", "got"),
    [
        ("time", "430 p m", "4:30 AM"),
        ("amount", "132", "123"),
        ("amount", "132", ""),
        ("phone", "7151390787", "7151390788"),
        ("card", "credit", "debit"),
        ("card", "credit", ""),
        ("address", "001 main street forest ranch 70023", "001 main street forest ranch"),
        ("address", "001 main street forest ranch 70023", "1 main street forest ranch 70023"),
    ],
)  # fmt: skip
def test_another_value_is_not_the_same(slot, right, got):
    assert not same(slot, right, got)


def test_metadata_give_what_the_caller_tells_and_not_what_the_bank_knows():
    fields = {"task_type": "check balance", "account balance": 134, "balance check account type": "checking"}
    assert told(fields) == Wanted("check balance", {"account": "checking"})
