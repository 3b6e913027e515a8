// A turn's time, drawn: 0 is the caller's last voiced sample, the strong line is the budget. The same picture as
// in a run's report, on an axis that does not move while a call goes on.

import { exact, h, ms, stageClass } from "./common.js";

export const LINE = "line: sent to sounded";
const FIRST = -4e6;   // work begun before the last word is shown from here, compressed
const FAR = 8e6;      // and what took longer than the budget up to here
const LEFT = 13, RIGHT = 84;

export class Axis {
  constructor(budgetUs) { [this.budget, this.near] = [budgetUs, 1.25 * budgetUs]; }

  x(us) {
    if (us < 0) return LEFT * (1 - Math.max(us, FIRST) / FIRST);
    if (us <= this.near) return LEFT + (RIGHT - LEFT) * (us / this.near);
    return RIGHT + (99.5 - RIGHT) * ((Math.min(us, FAR) - this.near) / (FAR - this.near));
  }

  pos(us) { return this.x(us).toFixed(3) + "%"; }
  wide(from, to) { return Math.max(0, this.x(to) - this.x(from)).toFixed(3) + "%"; }
  get ticks() { return [200e3, 400e3, 600e3].filter((us) => us < this.budget); }

  ruler() {
    const tick = (us, text, kind) => h("span", { class: kind, at: { left: this.pos(us) } }, text);
    return h("div", { class: "axis", "aria-hidden": "true" },
      h("span", { class: "first minor", at: { left: 0 } }, "before"), tick(0, "0", ""),
      this.ticks.map((us) => tick(us, String(us / 1000), us === 200e3 ? "" : "minor")),
      tick(this.budget, this.budget / 1000 + " ms", "strong"),
      h("span", { class: "last", at: { left: "99.5%" } }, FAR / 1e6 + " s"));
  }

  field(counted, ...children) {
    return h("div", { class: "field" },
      h("i", { class: "zone", at: { left: 0, width: LEFT + "%" } }), h("i", { class: "zone", at: { left: RIGHT + "%", right: 0 } }),
      this.ticks.map((us) => h("i", { class: "tick", at: { left: this.pos(us) } })),
      h("i", { class: "zero", at: { left: this.pos(0) } }),
      counted ? h("i", { class: "limit", at: { left: this.pos(this.budget) } }) : null, ...children);
  }

  /** The signs above the bar: when it left us, when it sounded here. */
  marks(row, hereUs) {
    const { first_sound_us: sound, first_answer_us: answer } = row;
    if (sound === null) {
      return h("div", { class: "marks" }, h("span", { class: this.x(row.closed_us) > 55 ? "left" : null, at: { left: this.pos(row.closed_us) } }, `no sound; over at ${ms(row.closed_us)}`));
    }
    const late = row.kind === "turn" && sound > row.budget_us;
    const sign = (us) => h("span", { class: "sign", at: { left: this.pos(us) } }, answer === us ? "▼" : "▽");
    const text = (answer === null ? "bridge " : answer === sound ? "" : "bridge ") + ms(sound) + (answer !== null && answer !== sound ? `, answer ${ms(answer)}` : "");
    const last = Math.max(sound, hereUs ?? 0), turned = this.x(last) > 62;
    const at = turned ? { left: `calc(${this.pos(sound)} - 8px)` } : { left: `calc(${this.pos(last)} + 8px)` };
    return h("div", { class: "marks" }, sign(sound), answer !== null && answer !== sound ? sign(answer) : null,
      hereUs === null ? null : h("span", { class: "here", at: { left: this.pos(hereUs) }, title: `heard here ${exact(hereUs)} ms` }),
      h("span", { class: (turned ? "left" : "") + (late ? " late" : ""), at }, text));
  }

  bar(row) {
    let at = 0;
    return h("div", { class: "bar" }, row.entries.map((entry) => {
      const from = at;
      at += entry.us;
      const room = this.x(at) - this.x(from);
      return h("span", { class: stageClass(entry.stage) + (room < 12 ? " thin" : ""),
        title: `${entry.stage} ${exact(entry.us)} ms · ${entry.owner} (${entry.owner_kind})`,
        at: { left: this.pos(from), width: this.wide(from, at) } }, entry.stage);
    }));
  }

  /** Work beside the path; seats that had nothing to say are named in words, not drawn. */
  lanes(row) {
    const drawn = row.lanes.filter((lane) => lane.outcome !== "none");
    return drawn.length ? h("div", { class: "lanes" }, drawn.map((lane) => {
      const begins = this.x(lane.began_us), ends = this.x(lane.ended_us);
      const text = `${lane.name} · ${lane.name === LINE ? ms(lane.ended_us - lane.began_us) : lane.outcome}`;
      return h("div", { class: "lane" + (lane.wasted_us ? " waste" : "") },
        h("span", { at: begins > 45 ? { right: 100 - ends + "%", maxWidth: ends + "%" } : { left: begins + "%", maxWidth: 100 - begins + "%" } }, text),
        h("i", { at: { left: this.pos(lane.began_us), width: this.wide(lane.began_us, lane.ended_us) } }));
    })) : null;
  }
}
