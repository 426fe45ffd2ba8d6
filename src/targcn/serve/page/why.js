// Why: the facts behind an answer, and what would change without them.

import { post, wasCalledOff } from "./api.js";
import { addFact } from "./add_fact.js";
import { count, h, inWords, named, percent, say, sentence } from "./dom.js";
import { later, problemBox } from "./problem.js";
import { describeAnswer, drawReasons, drawSum, keyOf } from "./reasons.js";
import { asked, fromFact, go, question, to, toFact } from "./state.js";
import { drawChange } from "./what_if.js";

const SHOWN = 6; // facts before the rest is folded away
const PLACE = { subject: "s", relation: "r", object: "o", time: "t" };

export function why(page) {
  let state = {}, explanation = null, explained = "", opened = false;
  const head = h("div", { class: "why-head" });
  const reasons = h("section", { "aria-label": "Reasons" });
  const change = h("section", { "aria-label": "What if", class: "what-if" });
  const element = h("div", { class: "why-view" }, head, h("div", { class: "two" }, reasons, change));
  const dialog = addFact(page, (fact) => go({ ...state, with: [...state.with, fromFact(fact)] }));
  element.append(dialog.element);

  function update(next) {
    state = next;
    const what = asked(state);
    if (what !== "fact") return begin(what);
    const now = JSON.stringify([page.run.name, state.s, state.r, state.o, state.t, state.as]);
    if (now !== explained) explain(now);
    else drawAll();
    rank();
  }

  // Of a question without an answer, the best answer is explained.
  async function begin(what) {
    [reasons, change].forEach((part) => part.replaceChildren());
    explained = "";
    head.replaceChildren(h("h1", {}, "Why?"));
    if (!what) return head.append(h("p", {}, "Ask something first; each answer leads to its reasons. ", h("a", { href: to("ask", state) }, "Ask")));
    const shown = state;
    try {
      const { answers: [found] } = await post("/api/predict", { run: page.run.name, questions: [question(state)], top: 1 }, "ask");
      if (shown === state && found.rows.length) go({ ...state, [PLACE[what]]: found.rows[0].answer, as: what }, "replace");
    } catch (problem) {
      if (!wasCalledOff(problem)) head.append(problemBox(problem));
    }
  }

  const side = () => (state.as === "subject" ? "subject" : "object");

  async function explain(now) {
    const answer = state[PLACE[side()]];
    explained = now;
    explanation = null;
    head.replaceChildren(h("h1", {}, "Why ", named(answer), "?"), sentenceLinks());
    const stop = later(reasons, 6);
    try {
      const body = { run: page.run.name, ...question(state), asked: side(), top: 20 };
      const found = await post("/api/explain", body, "explain");
      if (explained !== now) return;
      explanation = found;
      head.append(...describeAnswer(explanation, page.run.num_entities), drawSum(explanation));
      drawAll();
      say(`${count(explanation.num_pieces, "piece")} of evidence for ${answer}`);
    } catch (problem) {
      if (wasCalledOff(problem) || explained !== now) return;
      reasons.replaceChildren(problemBox(problem));
    } finally {
      stop();
    }
  }

  function sentenceLinks() {
    const entity = (name) => h("a", { href: to("entity", state, { e: name }) }, named(name));
    const open = { ...state, [PLACE[state.as] || "o"]: "" };
    return h("p", { class: "lead" }, entity(state.s), ` — ${state.r} — `, entity(state.o), `, ${state.t} `,
      h("a", { class: "button", href: to("ask", open), title: sentence(open) }, "All answers"));
  }

  function drawAll() {
    if (!explanation) return;
    const struck = new Set(state.without);
    const facts = new Map();
    for (const reason of explanation.reasons)
      for (const fact of reason.facts.filter(({ time }) => time !== null)) {
        const key = keyOf(fact);
        facts.set(key, { fact, share: (facts.get(key)?.share || 0) + Math.abs(reason.share ?? reason.effect) });
      }
    const own = { subject: state.s, relation: state.r, object: state.o, time: explanation.time };
    const sorted = [...facts].sort(([, one], [, other]) => other.share - one.share);
    if (explanation.fact_was_hidden) sorted.push([keyOf(own), { fact: own, own: true }]);
    const items = sorted.map(([key, { fact, share, own: itself }]) => h("li", { class: struck.has(key) ? "struck" : null },
      h("span", {}, named(inWords(fact)), h("small", {}, itself ? " the fact itself, hidden above" : ` in ${percent(share)} of the evidence`)),
      h("button", { type: "button", "aria-pressed": String(struck.has(key)), onclick: () => strike(fact) }, "Strike out")));
    const rest = h("details", { open: opened || null, ontoggle: () => (opened = rest.open) }, h("summary", {}, count(items.length - SHOWN, "more fact")), h("ul", { class: "facts" }, items.slice(SHOWN)));
    reasons.replaceChildren(...(explanation.reasons.length ? [drawReasons(explanation, page.timeline, { struck, onPick: strike })] : []),
      h("h2", {}, "Facts"), h("ul", { class: "facts" }, items.slice(0, SHOWN)), ...(items.length > SHOWN ? [rest] : []));
  }

  function strike(fact) {
    const key = fromFact(fact);
    const without = state.without.includes(key) ? state.without.filter((one) => one !== key) : [...state.without, key];
    const buttons = () => [...reasons.querySelectorAll(".facts button")];
    const index = buttons().indexOf(document.activeElement);
    go({ ...state, without });
    buttons()[index]?.focus(); // the list is drawn anew
  }

  function chips() {
    const chip = (key, kind, word) => {
      const fact = toFact(key);
      return fact && h("li", {}, h("b", {}, `${word} `), named(inWords(fact)), " ",
        h("button", { type: "button", "aria-label": `Take back: ${word} ${inWords(fact)}`, onclick: () => go({ ...state, [kind]: state[kind].filter((one) => one !== key) }) }, "×"));
    };
    return h("ul", { class: "changes" }, state.without.map((key) => chip(key, "without", "without")), state.with.map((key) => chip(key, "with", "with")));
  }

  // The ranking now, or before and after side by side.
  async function rank() {
    const shown = state;
    const open = { ...question(state), [side()]: null };
    const link = (name) => to("why", state, { [PLACE[side()]]: name, as: side() });
    const frame = (...content) => change.replaceChildren(h("h2", {}, "What if"), chips(), ...content.filter(Boolean),
      h("p", {}, h("button", { type: "button", onclick: () => dialog.open(state) }, "Add a fact")));
    if (!page.run.reads_context) {
      return change.replaceChildren(h("h2", {}, "What if"), h("p", {}, `${page.run.model} reads no context: facts struck out or added would change nothing.`));
    }
    try {
      const without = state.without.map(toFact).filter(Boolean), given = state.with.map(toFact).filter(Boolean);
      const changed = without.length + given.length > 0;
      const found = changed
        ? await post("/api/what-if", { run: page.run.name, question: open, without, given, top: 10 }, "rank")
        : (await post("/api/predict", { run: page.run.name, questions: [open], top: 10 }, "rank")).answers[0];
      if (shown !== state) return;
      const own = state[PLACE[side()]];
      frame(drawChange(found.rows, { changed, own, link }), changed ? null : h("p", { class: "fine" }, "Strike out a fact, or add one, and the ranking moves."));
      const mine = found.rows.find(({ answer }) => answer === own);
      if (changed && mine) say(`${own}: rank ${mine.rank_before} before, ${mine.rank_after} after`);
    } catch (problem) {
      if (wasCalledOff(problem) || shown !== state) return;
      frame(problemBox(problem));
    }
  }

  return { element, update, title: () => `Why ${sentence(state)}` };
}
