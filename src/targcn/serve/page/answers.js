// The list of answers: who, how sure, new or known, and one line of why.

import { count, figure, h, named, percent } from "./dom.js";

const KNOWN = { then: "known then", ever: "known at another time", new: "new" };
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");

export function answerList(link) {
  const element = h("ol", { class: "answers" });
  const rows = new Map();

  function make() {
    const parts = {
      rank: h("span", { class: "rank" }), name: h("a", { class: "name" }), value: h("span", { class: "value" }),
      bar: h("span", { class: "bar", "aria-hidden": "true" }, h("i")), known: h("span", { class: "known" }), why: h("span", { class: "why" }),
    };
    return { item: h("li", {}, ...Object.values(parts)), ...parts };
  }

  function show(answers, { sure }) {
    const before = new Map([...rows].map(([key, row]) => [key, row.item.offsetTop]));
    const most = Math.max(...answers.map((one) => one.score));
    const least = Math.min(...answers.map((one) => one.score), 0);
    const kept = new Set();
    answers.forEach((one) => {
      const key = `${one.asked} ${one.answer}`;
      kept.add(key);
      const row = rows.get(key) || make();
      rows.set(key, row);
      row.rank.textContent = count(one.rank) + (one.tied > 1 ? "=" : "");
      row.name.replaceChildren(named(one.answer));
      const target = link(one);
      if (target) row.name.setAttribute("href", target);
      row.value.textContent = sure ? percent(one.probability) : figure(one.score, 2);
      const share = sure ? one.probability : most > least ? (one.score - least) / (most - least) : 0;
      row.bar.firstChild.style.width = `${100 * share}%`;
      row.known.textContent = KNOWN[one.known];
      row.item.className = `is-${one.known}`;
      row.why.textContent = one.why ?? "";
    });
    for (const key of [...rows.keys()]) if (!kept.has(key)) rows.delete(key);
    element.replaceChildren(...answers.map((one) => rows.get(`${one.asked} ${one.answer}`).item));
    if (!QUIET.matches) glide(before);
  }

  // A row that changes its rank goes there, so that the eye can follow.
  function glide(before) {
    for (const [key, row] of rows) {
      const way = (before.get(key) ?? row.item.offsetTop) - row.item.offsetTop;
      if (way) row.item.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], { duration: 160, easing: "ease-out" });
    }
  }

  return { element, show };
}
