"""Guesses: likelier with each word, calibrated, and never with what this call does not know."""

from __future__ import annotations

import pytest
from laws import each
from spoken import BYE, ELSE, GREETING, calls

from turnbudget.speculative.bank import match as matching
from turnbudget.speculative.bank.bank import Bank, Calibration, Caller, Reply, State
from turnbudget.speculative.bank.calibration import Trial, calibrated, honest, reliability
from turnbudget.speculative.bank.guess import LIKELIEST, Examples, Guesser, Meanings
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.bank.words import alike, content

DAY = "Okay. What day would you like the taxi?"
MEANT = [("hat", 3, ("red hat", "red")), ("shoe", 5, ("blue shoe", "a red one"))]
"""What callers mean, how often, and in which words."""


@pytest.fixture(scope="module")
def guesser():
    return Guesser(mine(calls(24)))


def test_a_guess_grows_with_the_words(guesser):
    partials = ("", "please", "please cancel", "please cancel my order")
    odds = [{g.text: g.odds for g in guesser.guesses(GREETING, text, {})} for text in partials]
    cancels = [each["What is the order number?"] for each in odds]
    assert cancels == sorted(cancels)
    assert cancels[0] < 0.6 < cancels[-1]
    assert len(odds[0]) == 2


def test_meanings_are_weighed_by_each_word_against_one_that_nobody_knows():
    callers = [Caller(state="s", name=name, count=count, examples=texts) for name, count, texts in MEANT]
    meanings = Meanings([(each, Examples(each.examples)) for each in callers], 9)
    odds = {
        "hat": 3 * (2 + 1 / 9) / 4 * (1 + 1 / 9) / 4,
        "shoe": 5 * (1 + 1 / 9) / 5 * (0 + 1 / 9) / 5,
    }
    total = 1 / 9 / 9 + sum(odds.values())
    found = {caller.name: share for caller, share in meanings.weigh("red hat")}
    assert found == pytest.approx({name: each / total for name, each in odds.items()})


@each("said", ["red hat", "shoe", "", "a", "the blue hat three", "word 1 2 3", "sun 7 8"])
@each("most", [1, 5, 16, 1_000])
def test_the_nearest_examples_are_those_with_most_words_in_common(said, most):
    texts = [*MEANT[0][2], *MEANT[1][2], *(f"word {n} {n % 7} {n % 3}" for n in range(40)), "a", "the blue"]
    words = frozenset(content(said))
    whole = sorted(texts, key=lambda text: (text != said, -alike(words, frozenset(content(text))), text))
    assert Examples(texts).nearest(said, most) == whole[:most]


def test_of_ten_thousand_meanings_and_examples_only_the_likeliest_are_looked_at(monkeypatch):
    """A bank of 10⁵ lines is asked on the loop, at each word of each call."""
    things = [a + b + c + d for a in "bdfgklmnpr" for b in "aeiou" for c in "bdgklmnrst" for d in "aeiou"] * 4
    texts = [f"i want the {thing} {number // 2500 * 'x'}" for number, thing in enumerate(things)]
    state = State(name="help", says=("how can i help you",))
    callers = [Caller(state="help", name="any", count=9_000_000, examples=tuple(texts))]
    callers += [Caller(state="help", name=text, count=1, examples=(f"{text} two",)) for text in texts]
    replies = [
        Reply(state="help", caller=each.name, says=f"{each.name}.", act="a", count=9, of=9, odds=0.9)
        for each in callers
    ]
    guesser = Guesser(Bank(state=(state,), caller=tuple(callers), reply=tuple(replies)))
    assert len(guesser.candidates(state, "i want a baba", {})) == LIKELIEST
    shown = []
    share = matching.may_share
    monkeypatch.setattr(matching, "may_share", lambda *both, **how: shown.append(both) or share(*both, **how))
    found = matching.match(guesser, "How can I help you?", "please i want a baba", 0.0)
    assert isinstance(found, matching.Match | matching.Miss)
    assert 0 < len(shown) <= matching.NEAREST


def test_other_words_for_a_question_are_the_same_state(guesser):
    assert guesser.state("What day would you like your taxi, please?") == guesser.state(DAY)
    assert guesser.state("Which moon do you prefer?") is None


def test_a_guess_waits_for_its_slots(guesser):
    assert guesser.guesses(DAY, "that'd be", {}) == ()
    [guess] = guesser.guesses(DAY, "that'd be Sunday", {})
    assert guess.text.startswith("Your taxi has been booked for Sunday.")
    assert "ask day" in guess.because


def test_what_only_a_look_up_knows_is_not_guessed(guesser):
    known = {"order": "44271", "amount": "12"}
    assert guesser.guesses("What is the order number?", "four four two seven one", known) == ()


def test_nothing_known_is_asked_for(guesser):
    texts = [guess.text for guess in guesser.guesses(GREETING, "book a taxi", {"day": "Friday"})]
    assert "What day would you like the taxi?" not in texts


def test_words_never_heard_make_every_guess_unlikely(guesser):
    sure = guesser.guesses(ELSE, "no that's all", {})[0].odds
    lost = guesser.guesses(ELSE, "no that's all but my umbrella lies in the second car", {})
    assert sure > 0.8
    assert all(guess.odds < sure / 2 for guess in lost)


def test_odds_of_rivals_sum_to_no_more_than_one():
    plain = Guesser(mine(calls(8)))  # too few to calibrate: raw odds
    assert plain.bank.calibration == Calibration()
    for text in ("", "a", "please cancel my order", "no"):
        for asked in (GREETING, DAY, ELSE, BYE):
            state = plain.state(asked)
            assert sum(each.odds for each in plain.candidates(state, text, {})) <= 1 + 1e-9 if state else True


def test_calibration_takes_back_what_was_promised_too_freely():
    trials = [Trial(0.9, number % 2 == 0) for number in range(200)]
    calibration = calibrated(trials)
    assert honest(0.9, calibration) == pytest.approx(0.5, abs=0.02)
    assert calibrated([]) == Calibration()
    assert honest(0.7, Calibration()) == pytest.approx(0.7)


def test_calibration_keeps_the_order_of_guesses():
    upside_down = [Trial(0.9, fits=False), Trial(0.1, fits=True)] * 50
    calibration = calibrated(upside_down)
    assert honest(0.9, calibration) > honest(0.1, calibration)


def test_a_calibration_does_not_run_away_where_odds_part_right_from_wrong():
    """Undamped, Newton's step overshot, the slope ran away and every guess was promised for certain."""
    trials = [Trial(0.02 + 0.001 * (number % 7), fits=number % 5 == 0) for number in range(400)]
    trials += [Trial(0.99, fits=number % 3 > 0) for number in range(60)]
    calibration = calibrated(trials)
    low = honest(0.022, calibration)
    high = honest(0.99, calibration)
    assert low == pytest.approx(0.2, abs=0.03)
    assert high == pytest.approx(2 / 3, abs=0.1)
    assert calibrated([Trial(1.0, fits=True), Trial(0.0, fits=False)] * 500).slope < 50


def test_reliability_shows_what_came_true():
    [low, high] = reliability([Trial(0.1, fits=False), Trial(0.92, fits=True), Trial(0.94, fits=True)])
    assert (low.n, low.fits) == (1, 0.0)
    assert (high.n, high.odds, high.fits) == (2, pytest.approx(0.93), 1.0)


@each(
    ("trials", "slope", "offset"),
    [
        ((0.2, 10), 0.5113, 0.3525),
        ((0.8, 10), 0.5113, -0.3525),
        ((0.3, 15), 0.4233, 0.6807),
        ((0.8, 0), 0.1, -0.8985),
    ],
)
def test_few_trials_move_the_odds_a_part_of_the_way(trials, slope, offset):
    """Of twenty trials at one raw odds so many came true; slope and offset are held near 1 and 0."""
    odds, came = trials
    found = calibrated([Trial(odds, fits=number < came) for number in range(20)])
    assert (found.slope, found.offset) == pytest.approx((slope, offset), abs=0.001)


COLOUR = State(name="colour", says=("what is the colour",), asks="colour", kind="text")
HELP = State(name="help", says=("how can i help you",))


@each(
    ("state", "said", "plain"),
    [
        (COLOUR, "magenta", "{text}"),
        (COLOUR, "turquoise", "{text}"),
        (COLOUR, "cancel", "cancel"),
        (HELP, "magenta", "magenta"),
    ],
)
def test_a_word_is_an_answer_in_its_own_words_unless_callers_say_it_elsewhere(state, said, plain):
    callers = (
        Caller(state="colour", name="colour", count=2, examples=("magenta", "cancel it")),
        Caller(state="help", name="cancel", count=2, examples=("cancel it",)),
    )
    assert Guesser(Bank(state=(COLOUR, HELP), caller=callers)).plain(state, said) == plain


@pytest.mark.parametrize(("known", "ratio"), [({}, 5.0), ({"day": "Friday"}, 1.0)])
def test_a_reply_given_only_when_more_was_known_has_a_fifth_of_its_odds(known, ratio):
    caller = Caller(state="help", name="any", count=9, examples=("red",))
    replies = [
        Reply(state="help", caller="any", says=says, act="a", count=1, of=2, odds=0.5, given=given)
        for says, given in (("One.", ()), ("Two.", ("day",)))
    ]
    found = Guesser(Bank(state=(HELP,), caller=(caller,), reply=tuple(replies))).candidates(
        HELP, "red", known
    )
    odds = {each.reply.says: each.odds for each in found}
    assert odds["One."] / odds["Two."] == pytest.approx(ratio)
