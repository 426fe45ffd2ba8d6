// A ranking before and after, side by side.

import { count, figure, h, named, percent } from "./dom.js";

export function drawChange(rows, { changed, own, link }) {
  const sides = changed ? ["_before", "_after"] : [""];
  const heads = changed ? ["answer", "before", "after"] : ["answer", "now"];
  const sure = rows.some((row) => row[`probability${sides[0]}`] !== null);
  const value = (row, side) => (sure ? percent(row[`probability${side}`]) : figure(row[`score${side}`], 2));
  return h("table", { class: "change" },
    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", { class: row.answer === own ? "own" : null },
      h("th", { scope: "row" }, h("a", { href: link(row.answer) }, named(row.answer)), changed ? bar(row, sure) : null, row.change ? h("small", {}, row.change) : null),
      sides.map((side) => h("td", {}, h("span", { class: "rank" }, count(row[`rank${side}`])), " ", value(row, side), side === "_after" ? arrow(row) : null))))));
}

// The bar is the probability after; the mark in it the one before.
function bar(row, sure) {
  if (!sure) return null;
  const after = h("i"), before = h("u");
  after.style.width = `${100 * row.probability_after}%`;
  before.style.left = `${100 * row.probability_before}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, after, before);
}

function arrow({ rank_before: before, rank_after: after }) {
  if (before === after) return null;
  const up = after < before;
  return h("span", { class: up ? "up" : "down" }, ` ${up ? "▲" : "▼"}`, h("span", { class: "unseen" }, up ? " up" : " down"));
}
