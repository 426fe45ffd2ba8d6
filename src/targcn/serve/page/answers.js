// The list of answers: who, how sure, new or known, and one line of why.

import { count, figure, h, named, percent, put } from "./dom.js";

const KNOWN = { then: "known then", "at another time": "known at another time", no: "new" };
const CLASS = { then: "is-then", "at another time": "is-ever", no: "is-new" };
const PARTS = { rank: "span", name: "a", bar: "span", value: "span", known: "span", why: "span" };

export function answerList(link) {
  const list = h("ol.answers");
  const heads = h("p.answer-heads");
  const element = h("div", heads, list);
  let rows = new Map(); // kept from one list to the next, so that bars grow and shrink

  function make() {
    const parts = Object.fromEntries(
      Object.entries(PARTS).map(([name, tag]) => [name, h(tag, { class: name })]),
    );
    parts.bar.append(h("i"));
    return { item: h("li", Object.values(parts)), ...parts };
  }

  // What is known then is certain, and looks it, unless it was hidden from the model.
  function show(answers, sure, hidden = false) {
    const scores = answers.map(({ score }) => score);
    const [least, most] = [Math.min(...scores, 0), Math.max(...scores)];
    const words = ["answer", sure ? "the answer, if there is one, with" : "score", "", "best reason"];
    put(heads, answers.length > 0 && words.map((word) => h("span", word)));
    rows = new Map(answers.map((one) => {
      const key = `${one.asked} ${one.answer}`;
      const row = rows.get(key) || make();
      const target = link?.(one);
      const certain = one.known === "then" && !hidden;
      const judged = one.true !== null && one.known !== "then";
      const part = sure ? one.probability : (one.score - least) / (most - least || 1);
      row.item.className = CLASS[one.known];
      row.rank.textContent = count(one.rank) + (one.tied > 1 ? "=" : "");
      put(row.name, named(one.answer));
      if (target) row.name.setAttribute("href", target);
      row.value.textContent = certain ? "" : sure ? percent(one.probability) : figure(one.score, 2);
      row.bar.firstChild.style.width = `${certain ? 100 : 100 * part}%`;
      put(row.known, h("b", KNOWN[one.known]), judged && h("small", ` true with ${percent(one.true)}`));
      row.why.textContent = one.why ?? "";
      return [key, row];
    }));
    put(list, [...rows.values()].map(({ item }) => item));
  }

  return { element, show };
}
