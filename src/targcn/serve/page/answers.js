// The list of answers: who, how sure, new or known, and one line of why.

import { count, figure, h, named, percent, put } from "./dom.js";

const KNOWN = { then: "known then", "at another time": "known at another time", no: "new" };
const CLASS = { then: "is-then", "at another time": "is-ever", no: "is-new" };
const PARTS = { rank: "span", name: "a", bar: "span", value: "span", known: "span", why: "span" };

export function answerList(link) {
  const element = h("ol.answers");
  let rows = new Map(); // kept from one list to the next, so that bars grow and shrink

  function make() {
    const parts = Object.fromEntries(
      Object.entries(PARTS).map(([name, tag]) => [name, h(tag, { class: name })]),
    );
    parts.bar.append(h("i"));
    return { item: h("li", Object.values(parts)), ...parts };
  }

  function show(answers, sure) {
    const scores = answers.map(({ score }) => score);
    const [least, most] = [Math.min(...scores, 0), Math.max(...scores)];
    rows = new Map(answers.map((one) => {
      const key = `${one.asked} ${one.answer}`;
      const row = rows.get(key) || make();
      const target = link?.(one);
      row.item.className = CLASS[one.known];
      row.rank.textContent = count(one.rank) + (one.tied > 1 ? "=" : "");
      put(row.name, named(one.answer));
      if (target) row.name.setAttribute("href", target);
      row.value.textContent = sure ? percent(one.probability) : figure(one.score, 2);
      row.bar.firstChild.style.width =
        `${100 * (sure ? one.probability : (one.score - least) / (most - least || 1))}%`;
      row.known.textContent = KNOWN[one.known];
      row.why.textContent = one.why ?? "";
      return [key, row];
    }));
    put(element, [...rows.values()].map(({ item }) => item));
  }

  return { element, show };
}
