from __future__ import annotations

import html.parser
import re
import shutil
import subprocess

import msgspec
import pytest
from sample_run import FORESEEN, PREPARED, SHELF, STARTS, header, sample_rows, turn

from turnbudget.runs.records import Comparison, Row, Side, Summary
from turnbudget.runs.report import embed, page
from turnbudget.runs.summary import summarise

EVIL = '</script><script>document.title="taken over"</script><!--<img src=x onerror=alert(1)>\u2028&amp;'


class Reader(html.parser.HTMLParser):
    """Reads a page as a browser would: its elements, and the text of the embedded run."""

    def __init__(self):
        super().__init__()
        self.tags = []
        self.run = ""
        self._inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") == "run"

    def handle_endtag(self, _):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.run += data


def read(*rows, **named):
    reader = Reader()
    reader.feed(page(summarise(rows, header(rows, **named)), rows).decode())
    return reader


def embedded(reader):
    return msgspec.json.decode(reader.run, type=dict[str, msgspec.Raw])


def test_page_carries_every_row_and_the_summary_as_they_were_written():
    rows = sample_rows()
    run = embedded(read(*rows))
    assert msgspec.json.decode(run["rows"], type=list[Row]) == rows
    assert msgspec.json.decode(run["summary"], type=Summary) == summarise(rows, header(rows))


def test_caller_who_says_a_script_runs_none():
    plain, attacked = read(turn()), read(turn(heard=EVIL, said=EVIL, reference=EVIL, call=EVIL), name=EVIL)
    assert [tag for tag, _ in attacked.tags] == [tag for tag, _ in plain.tags]
    assert msgspec.json.decode(embedded(attacked)["rows"], type=list[Row])[0].heard == EVIL


def test_text_that_looks_like_a_place_in_the_template_stays_text():
    reader = read(turn(heard="{{run}} {{title}}"), name="{{run}}")
    assert msgspec.json.decode(embedded(reader)["summary"], type=Summary).name == "{{run}}"


def test_embedded_json_holds_nothing_that_ends_a_script():
    text = embed({"said": EVIL})
    assert not set("<>&\u2028\u2029") & set(text)
    assert msgspec.json.decode(text) == {"said": EVIL}


def test_page_asks_nothing_of_any_network():
    rows = sample_rows()
    text = page(summarise(rows, header(rows)), rows).decode()
    assert not re.search(r"https?://|//cdn|@import|url\(|fetch\(|XMLHttpRequest|WebSocket", text)
    assert "default-src 'none'" in text
    assert not [attrs for tag, attrs in read(*rows).tags if tag == "link" or "src" in attrs]


def test_page_draws_with_text_nodes_only():
    text = page(summarise([], header()), []).decode()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)


def test_page_knows_light_dark_narrow_and_still():
    text = page(summarise([], header()), []).decode()
    assert "light-dark(" in text
    assert "prefers-reduced-motion" in text
    assert 'name="viewport"' in text
    assert "<noscript>" in text
    assert "{{" not in text


def test_same_rows_give_the_same_bytes():
    rows = sample_rows()
    assert page(summarise(rows, header(rows)), rows) == page(summarise(rows, header(rows)), sample_rows())


def test_thousand_turns_make_a_page_of_a_few_megabytes():
    rows = sample_rows(calls=8, count=125)
    assert len(page(summarise(rows, header(rows)), rows)) < 3_000_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser, where there is one that may read our files."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no chromium to draw the page with")
    if "it draws" not in shown(found, tmp_path_factory.mktemp("probe"), b"<p>it draws</p>"):
        pytest.skip(f"{found} cannot draw a page of ours here")
    return found


def drawn(browser, folder, rows, **named):
    return shown(browser, folder, page(summarise(rows, header(rows, **named)), rows))


def shown(browser, folder, content):
    file = folder / "report.html"
    file.write_bytes(content)
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    )
    command = [browser, *flags, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)  # noqa: S603 - our own file
    return done.stdout.decode()


def test_browser_draws_every_turn_and_runs_nothing_a_caller_said(browser, tmp_path):
    rows = [*sample_rows(1, 12), turn(heard=EVIL, said=EVIL, call="evil")]
    text = drawn(browser, tmp_path, rows, name="sample")
    assert text.count("<article") == len(rows)
    assert "<title>sample · turnbudget</title>" in text
    assert "<img" not in text


def test_browser_draws_an_empty_run(browser, tmp_path):
    assert "Nothing was replayed" in drawn(browser, tmp_path, [], wer=None)


OPEN = b"<script type=module>for (const it of document.querySelectorAll('details')) it.open = true</script>"


def test_browser_tells_no_end_of_speech_where_we_spoke_unasked(browser, tmp_path):
    for rows, told in (([turn(kind="greeting")], "decided to say it"), ([turn()], "speech ended")):
        text = shown(browser, tmp_path, page(summarise(rows, header(rows)), rows) + OPEN)
        assert {"decided to say it", "speech ended"} & set(re.findall(r"<td>([^<]+)</td>", text)) == {told}


def test_page_carries_what_each_hit_came_to():
    rows = [turn(lanes=SHELF, false_cut=True), turn(lanes=SHELF), turn()]
    assert msgspec.json.decode(embedded(read(*rows))["verdicts"]) == [
        {"told": "wrong hit: begun before the caller's real end", "wrong": True},
        {"told": "hit", "wrong": False},
        {"told": "miss: its opening was not ready", "wrong": False},
    ]


def test_browser_draws_what_was_guessed_and_the_comparison(browser, tmp_path):
    rows = [turn(lanes=PREPARED, guesses=(*STARTS, *FORESEEN)), turn(lanes=SHELF, false_cut=True)]
    run = summarise(rows, header(rows, name="it-on"))
    sides = [Side(label=label, folder=f"it-{label}", summary=run) for label in ("off", "on")]
    text = shown(browser, tmp_path, page(run, rows, Comparison(sides=tuple(sides))))
    said = re.sub(r"<[^>]+>", "", text)
    assert "hit · the last of 2 head starts kept, its reply ready · foreseen at 0.62 and said" in said
    spaced = said.replace("\u00a0", " ").replace("&nbsp;", " ")
    assert "57 ms of work not used · 33 ms CPU of renders not used" in spaced
    assert "CPU of renders not used33 ms" in spaced
    assert "wrong hit: begun before the caller's real end" in said
    assert 'href="../it-off/report.html"' in text
    assert 'href="../it-on/report.html"' not in text
