// What the pages share: words, numbers, elements. It asks nothing of any network.

const theme = new URLSearchParams(location.search).get("theme");
if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;

export const STAGES = ["endpoint", "transcribe", "match", "council", "choose", "synthesize", "deliver", "stall", "unaccounted"];
export const stageClass = (stage) => (STAGES.includes(stage) ? stage : "other");

/** An element; `on…` are listeners, `at` is its style, and text is only ever text. */
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "at") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
export const $ = (id) => document.getElementById(id);

export const group = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
export const plural = (n, one) => group(n) + "\u00a0" + one + (n === 1 ? "" : "s");
/** Rounded up, so that a turn which missed the budget by a microsecond never reads as one that kept it. */
export function ms(us) {
  if (us === null || us === undefined) return "–";
  if (us >= 100e6) return group(Math.ceil(us / 1e6)) + "\u00a0s";
  const shown = us > 0 && us < 10e3 ? Math.ceil(us / 100) / 10 : Math.ceil(us / 1000);
  return (us < 0 ? "−" : "") + (shown % 1 ? shown.toFixed(1) : group(Math.abs(shown))) + "\u00a0ms";
}
export const exact = (us) => (us < 0 ? "−" : "") + group(Math.floor(Math.abs(us) / 1000)) + "." + String(Math.abs(us) % 1000).padStart(3, "0");
export const place = (us) => Math.floor(us / 6e7) + ":" + String(Math.floor(us / 1e6) % 60).padStart(2, "0");
/** Rounded down, for the same reason: 1,999 of 2,000 is not 100 %. */
export const percent = (count, of) => (of ? (Math.floor((count * 1000) / of) / 10).toFixed(1) : null);

export function fact(name, value, small, late) {
  return h("div", {}, h("dt", {}, name), h("dd", { class: late ? "late" : null }, value, h("small", {}, small)));
}
/** A table that scrolls; null without lines. Columns whose heads end in "ms" are numbers. */
export function table(caption, heads, lines) {
  const kind = (i) => (heads[i].endsWith("ms") ? "n" : null);
  return lines.length ? h("div", { class: "scroll" }, h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads.map((head, i) => h("th", { scope: "col", class: kind(i) }, head)))),
    h("tbody", {}, lines.map((line) => h("tr", {}, line.map((cell, i) => h("td", { class: kind(i) }, cell))))))) : null;
}
