// One turn as a row of the page: the words, who spoke and why, and where each millisecond went.

import { STAGES, exact, h, ms, table } from "./common.js";
import { LINE } from "./talk-waterfall.js";

const AGREE_US = 40e3;
const SEAT = "seat:";
const REPLY = "reply of ";

/** What the row says of the way to the caller's ear; null if no mark came back. */
export function sounded(row) {
  const lane = row.lanes.find((one) => one.name === LINE);
  return lane ? lane.ended_us : null;
}

/** Whether ledger and page tell the same of the first sound; null where one of them tells nothing. */
export function agreement(row, hereUs) {
  const server = sounded(row);
  return server === null || hereUs === null ? null : { us: hereUs - server, good: Math.abs(hereUs - server) <= AGREE_US };
}

export const inTime = (row) => row.first_sound_us !== null && row.first_sound_us <= row.budget_us;

/** Who spoke, who else was heard, and why. */
function council(row) {
  const seats = row.lanes.filter((lane) => lane.name.startsWith(SEAT)).map((lane) => ({ ...lane, name: lane.name.slice(SEAT.length) }));
  const reply = row.decisions.findLast((one) => one.took.startsWith(REPLY));
  const named = (outcome) => seats.filter((seat) => seat.outcome === outcome);
  const others = seats.filter((seat) => !["chosen", "none"].includes(seat.outcome));
  const parts = [];
  if (reply) parts.push(h("p", {}, h("b", {}, reply.took.slice(REPLY.length)), " spoke: ", reply.because));
  for (const other of others) {
    const why = row.decisions.findLast((one) => one.took.startsWith(other.name + ": "));
    parts.push(h("p", { class: "soft" }, h("b", {}, other.name), ` ${other.outcome}`, why ? `: ${why.because}` : ""));
  }
  const mute = named("none").length;
  if (mute) parts.push(h("p", { class: "soft", title: named("none").map((seat) => seat.name).join(", ") }, `${mute} of ${seats.length} seats had nothing to say`));
  return parts.length ? h("div", { class: "seats" }, parts) : null;
}

function inside(row, hereUs) {
  let at = 0;
  const entries = row.entries.map((entry) => { const from = at; at += entry.us; return [entry.stage, exact(from), exact(entry.us), `${entry.owner} (${entry.owner_kind})`]; });
  const server = sounded(row), both = agreement(row, hereUs);
  const facts = [["first sound left the server", row.first_sound_us === null ? "never" : exact(row.first_sound_us)],
    ["sounded, by the server's ledger", server === null ? "not told" : exact(server)],
    ["sounded, by this page", hereUs === null ? "not measured" : exact(hereUs)],
    ["page less ledger", both ? exact(both.us) : "–"]];
  return h("div", { class: "inside" }, table("Entries, one after another", ["stage", "from ms", "for ms", "owner"], entries),
    table("First sound, told twice: from the capture of your last voiced sample to the loudspeaker, microphone hardware excepted", ["what", "ms"], facts),
    table("Decisions", ["at ms", "took", "because"], row.decisions.map((it) => [exact(it.at_us), it.took, it.because])),
    table("Lanes", ["work", "from ms", "to ms", "outcome"], row.lanes.map((it) => [it.name, exact(it.began_us), exact(it.ended_us), it.outcome])));
}

function described(row) {
  const sound = row.first_sound_us === null ? "no sound" : `first sound at ${ms(row.first_sound_us)}, ${inTime(row) ? "in time" : "late"}`;
  return `${sound}; ${row.entries.map((entry) => `${entry.stage} ${ms(entry.us)}`).join(", ") || "no stage"}`;
}

/** The row as an element; `hereUs` is when its first sound was heard by this page's own clock. */
export function turn(row, hereUs, axis) {
  const counted = row.kind === "turn", both = agreement(row, hereUs);
  const bad = counted && !inTime(row) && !["superseded"].includes(row.outcome);
  const more = h("details", { class: "more", ontoggle: () => { if (more.open && !more.children[1]) more.append(inside(row, hereUs)); } },
    h("summary", {}, "Where each millisecond went"));
  return h("article", { class: "row" + (counted ? "" : " aside"), "data-here": hereUs === null ? null : String(hereUs), "aria-label": `${counted ? "Turn" : row.kind} ${row.turn}, ${row.outcome}` },
    h("div", { class: "words" },
      h("div", { class: "top" }, h("b", {}, counted ? String(row.turn) : row.kind), h("span", { class: "outcome" + (bad ? " late" : "") }, row.outcome),
        hereUs === null ? null : h("span", {}, `heard here at ${ms(hereUs)}`),
        both && !both.good ? h("span", { class: "late" }, `${ms(Math.abs(both.us))} from the ledger`) : null,
        counted ? null : h("span", {}, "not counted")),
      counted ? h("q", {}, row.asked || row.heard || "…") : null, row.said ? h("p", { class: "said" }, row.said) : null, council(row)),
    h("div", { role: "img", "aria-label": described(row) }, axis.field(counted, axis.marks(row, hereUs), axis.bar(row), axis.lanes(row))), more);
}

export function legend(rows) {
  const used = STAGES.filter((stage) => rows.some((row) => row.entries.some((entry) => entry.stage === stage)));
  const sign = (mark, words) => h("span", {}, h("span", { "aria-hidden": "true" }, mark), words);
  return [used.map((stage) => h("span", {}, h("i", { class: "key " + stage }), stage)), sign("▼", "an answer left the server"),
    sign("▽", "a bridge left"), h("span", {}, h("i", { class: "key here" }), "heard here"), sign("━", "beside the path"), sign("▭", "thrown away")].flat();
}
