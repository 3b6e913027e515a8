// The page: a button, what is said, and each turn as it ends. What it shows it was told; it measures one thing
// itself, when the first sound of a reply was heard, and lays that beside the ledger.

import { $, fact, h, ms } from "./common.js";
import { Line, Trouble } from "./talk-line.js";
import { agreement, inTime, legend, sounded, turn } from "./talk-turn.js";
import { Axis } from "./talk-waterfall.js";

const FRESH_MS = 45000;    // a pass is good for a minute
const NEAR_US = 150e3;     // the page's clock and the server's agree to this, to tell which sound is whose
const LOUDEST_DB = 50;     // the meter's length
const STATES = {
  idle: "Not connected", asking: "Asking for the microphone…", connecting: "Connecting…", listening: "Listening",
  hearing: "Hearing you", thinking: "Thinking", speaking: "Speaking", held: "Waiting for you",
  reconnecting: "Connection lost, trying again…", asleep: "Paused while the page slept",
};
const LOOKS = { asking: "thinking", connecting: "thinking", held: "hearing", reconnecting: "trouble", asleep: "trouble" };

let line = null;            // the call, while there is one
let began = 0;              // when it began, in ms
let token = { text: document.querySelector("meta[name=token]").content, at: performance.now() };
let heard = [];             // first sounds that this page heard: {ms, us}
let floor = "listening";    // who has it, as the server told last
let network = null;
let axis = null;
const calls = { rows: [] }; // every row, with `here`: when its first sound was heard here

/* ---- what is shown ---- */
function show(state) {
  document.body.dataset.state = LOOKS[state] || state;
  $("status").textContent = STATES[state];
  const inCall = state !== "idle" && state !== "asking";
  $("talk").textContent = inCall ? "Hang up" : "Talk";
  $("talk").setAttribute("aria-pressed", String(inCall));
  $("talk").setAttribute("aria-disabled", String(state === "asking"));  // disabled, it would lose the focus
}
function tell(text, plain) {
  $("notice").hidden = !text;
  $("notice").className = plain ? "notice plain" : "notice";
  $("notice").textContent = text || "";
}
function sayAloud(text) {
  $("said").append(h("p", {}, text));
  while ($("said").children.length > 40) $("said").firstChild.remove();
}
function rank(values, p) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)] : null;
}
function headline() {
  const turns = calls.rows.filter(({ row }) => row.kind === "turn");
  $("headline").hidden = !turns.length;
  if (!turns.length) return;
  const last = turns.at(-1), { row, here } = last;
  const first = turns.map((it) => it.row.first_sound_us).filter((us) => us !== null);
  const heardHere = turns.map((it) => it.here).filter((us) => us !== null);
  const both = turns.map((it) => agreement(it.row, it.here)).filter((one) => one !== null);
  const apart = both.length ? Math.max(...both.map((one) => Math.abs(one.us))) : null;
  const good = turns.filter((it) => inTime(it.row)).length;
  const lanes = turns.map((it) => (sounded(it.row) === null ? null : sounded(it.row) - it.row.first_sound_us)).filter((us) => us !== null);
  const [number, unit] = ms(row.first_sound_us).split("\u00a0");
  $("headline").replaceChildren(
    h("div", {}, h("p", { class: "big" + (inTime(row) ? "" : " late") }, number, unit ? h("small", {}, unit) : null),
      h("p", { class: "of" }, row.first_sound_us === null ? `Turn ${row.turn} had no sound: ${row.outcome}.` : `from your last word until our first sound left, in turn ${row.turn}; ${inTime(row) ? "in time" : "late"}.`)),
    h("dl", { class: "facts" },
      fact(`In time, of ${turns.length}`, String(good), `within ${ms(row.budget_us)} of your last word`, good < turns.length),
      fact("First sound, median", ms(rank(first, 50)), `p95 ${ms(rank(first, 95))} · n ${first.length}`),
      fact("Heard here, median", ms(rank(heardHere, 50)), heardHere.length ? `by this page’s own clock · n ${heardHere.length}` : "not measured"),
      fact("Sent to sounded, median", ms(rank(lanes, 50)), network ? `round trip ${(network.tripMs ?? 0).toFixed(1)} ms · ${Math.round(network.heldMs)} ms held against jitter` : "network and jitter buffer"),
      fact("Page and ledger", apart === null ? "–" : ms(apart), apart === null ? "nothing to compare" : `apart at most · n ${both.length}`, apart !== null && !both.every((one) => one.good))));
}
function draw(row, here) {
  if (!axis) {
    axis = new Axis(row.budget_us);
    $("ruler").replaceChildren(h("div", {}), axis.ruler());
    $("empty").hidden = true;
    $("drawn").hidden = false;
  }
  const atEnd = window.innerHeight + window.scrollY > document.body.scrollHeight - 160;
  $("rows").append(turn(row, here, axis));
  $("legend").replaceChildren(...legend(calls.rows.map((it) => it.row)));
  headline();
  if (atEnd) window.scrollTo(0, document.body.scrollHeight);
}

/* ---- the call ---- */
const on = {
  connected() {
    began ||= performance.now();
    document.body.classList.remove("fresh");
    floor = "listening";
    show(line.asleep ? "asleep" : floor);
  },
  state({ state, partial }) {
    floor = state;
    if (!line.asleep) show(state);
    // The words stay while they are thought about; our voice ends them.
    if (partial || state === "speaking" || state === "listening") $("words").textContent = partial;
  },
  row({ row, zero_at: zeroAt, zero_us: zeroUs }) {
    const here = heardAt(row, zeroAt, zeroUs);
    calls.rows.push({ row, here });
    if (row.kind === "turn") sayAloud(`You: ${row.asked || row.heard || "nothing that was understood"}.`);
    if (row.said) sayAloud(`Reply${row.first_sound_us === null ? "" : `, after ${ms(row.first_sound_us)}`}: ${row.said}`);
    draw(row, here);
  },
  level(level) {
    const db = level > 0 ? 20 * Math.log10(level) : -100;
    $("level").style.transform = `scaleX(${Math.max(0, Math.min(1, 1 + db / LOUDEST_DB)).toFixed(2)})`;
    const seconds = Math.floor((performance.now() - began) / 1000);
    const text = Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
    if (began && $("clock").textContent !== text) $("clock").textContent = text;
  },
  sounded(told) { heard = [...heard.slice(-99), told]; },
  network(told) { network = told; },
  reconnecting() { show("reconnecting"); },
  asleep(asleep) { show(asleep ? "asleep" : floor); },
  over({ because, refused }) {
    line = null;
    $("words").textContent = "";
    $("level").style.transform = "scaleX(0)";
    show("idle");
    const text = because || "the server ended the call";
    tell(refused ? `No call: ${text.replace(/\.$/, "")}.` : `The call is over: ${text.replace(/\.$/, "")}.`, !refused);
    $("talk").focus({ preventScroll: true });
  },
};

/** When the first sound of the row's reply was heard here, from the capture of the caller's last voiced sample. */
function heardAt(row, zeroAt, zeroUs) {
  if (row.first_sound_us === null || row.kind !== "turn" || !line) return null;
  const leftUs = zeroUs + row.first_sound_us;
  const found = heard.find((one) => one.us !== null && one.us > leftUs - NEAR_US && one.us < leftUs + 1e6);
  return found ? line.since(zeroAt, found.ms) : null;
}

/** A pass for one more call: the one that came with the page, or a fresh one from it. */
async function pass() {
  const { text, at } = token;
  token = { text: "", at: 0 };
  if (text && performance.now() - at < FRESH_MS) return text;
  const answer = await fetch(location.pathname + location.search, { cache: "no-store" });
  if (!answer.ok) throw new Trouble("The server gives no pass for a call just now. Try again in a moment.");
  return new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("meta[name=token]").content;
}
async function talk() {
  tell("");
  show("asking");
  [began, heard] = [0, []];
  try {
    line = new Line(await pass(), "talk");
    for (const [name, action] of Object.entries(on)) line.addEventListener(name, ({ detail }) => action(detail));
    await line.open();
    if (line && !line.began) show("connecting");
  } catch (error) {
    line?.finish({ refused: true, because: "" });
    line = null;
    show("idle");
    tell(error instanceof Trouble ? error.message : `The call could not begin (${error.message}). Reload the page.`);
  }
}
$("talk").addEventListener("click", () => {
  if ($("talk").getAttribute("aria-disabled") !== "true") (line ? line.hangUp() : talk());
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) line?.wake(); });
window.addEventListener("pagehide", () => line?.hangUp("the page was left"));
show("idle");
