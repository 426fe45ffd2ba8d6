// Entity: its facts as lanes by relation, its neighbours, and what is predicted for it next.

import { get, post, wasCalledOff } from "./api.js";
import { combobox } from "./combobox.js";
import { count, h, named, percent, figure } from "./dom.js";
import { laneChart } from "./lanes.js";
import { later, problemBox } from "./problem.js";
import { go, to } from "./state.js";

const MOST_LANES = 40;
const MOST_FACTS = 50000;
const LISTED = 50; // facts listed below the lanes

export function entity(page) {
  let state = {}, loaded = "", facts = [], lanes = [];
  const field = combobox({ label: "entity", kind: "entity", run: () => page.run.name, placeholder: "whose facts?", onChoose: (e) => go({ ...state, e, from: "", to: "" }) });
  const summary = h("p", { class: "fine" });
  const names = h("ul", { class: "lane-names" });
  const readout = h("p", { class: "fine readout" }, "\u00a0");
  const chart = laneChart({
    onZoom: zoom,
    onPoint: (index) => (readout.textContent = index < 0 ? hint() : inWords(facts[index])),
    onPick: (index) => go({ view: "why", run: state.run, ...asQuestion(facts[index]), as: facts[index].out ? "object" : "subject", without: [], with: [] }),
  });
  const button = (label, move) => h("button", { type: "button", onclick: move }, label);
  const tools = h("div", { class: "tools" }, button("Earlier", () => slide(-0.5)), button("Later", () => slide(0.5)),
    button("Closer", () => widen(0.5)), button("Wider", () => widen(2)), button("All times", () => go({ ...state, from: "", to: "" })));
  const listed = h("div");
  const [next, neighbours] = [h("section", { "aria-label": "Predicted next" }), h("section", { "aria-label": "Neighbours" })];
  const body = h("div", { class: "two" }, h("section", { "aria-label": "Facts" }, h("div", { class: "lane-chart" }, names, chart.element), readout, tools, listed), h("div", {}, next, neighbours));
  const trouble = h("div");
  const element = h("div", { class: "entity" }, h("h1", { class: "unseen" }, "Entity"), h("form", { class: "sentence", onsubmit: (event) => event.preventDefault() }, field.element), summary, trouble, body);

  const hint = () => "Drag to zoom; click a fact for its reasons.";
  const asQuestion = (fact) => (fact.out ? { s: state.e, r: fact.relation, o: fact.other, t: fact.time } : { s: fact.other, r: fact.relation, o: state.e, t: fact.time });
  const inWords = (fact) => `${fact.out ? state.e : fact.other} — ${fact.relation} — ${fact.out ? fact.other : state.e}, ${fact.time}${fact.end && fact.end !== fact.time ? `–${fact.end}` : ""}`;

  function span() {
    const line = page.timeline;
    const first = facts.length ? Math.min(...lanes.map((lane) => lane.first)) : line.first;
    const last = facts.length ? Math.max(...lanes.map((lane) => lane.last)) : line.last;
    const from = state.from ? line.tick(state.from) : first, until = state.to ? line.tick(state.to) : last;
    const room = Math.max((until - from) * 0.02, 0.5);
    return [from - room, until + room];
  }

  function zoom(from, until) {
    const line = page.timeline;
    const [first, last] = [Math.ceil(from), Math.max(Math.floor(until), Math.ceil(from))];
    go({ ...state, from: line.label(first), to: line.label(last) });
  }

  const slide = (share) => (([from, until]) => zoom(from + share * (until - from), until + share * (until - from)))(span());
  const widen = (factor) => (([from, until]) => zoom((from + until - factor * (until - from)) / 2, (from + until + factor * (until - from)) / 2))(span());

  function update(given) {
    state = given;
    if (field.value !== (state.e || "")) field.set(state.e);
    const now = JSON.stringify([page.run.name, state.e]);
    if (now !== loaded) load(now);
    else draw();
  }

  async function load(now) {
    loaded = now;
    [facts, lanes] = [[], []];
    [trouble, next, neighbours, listed].forEach((part) => part.replaceChildren());
    body.hidden = true;
    summary.textContent = state.e ? "" : "Choose an entity: its facts are drawn over time, one lane for each relation.";
    if (!state.e) return;
    const stop = later(trouble);
    try {
      for (let number = 1; ; number += 1) {
        const found = await get(`/api/entities/${encodeURIComponent(state.e)}`, { run: page.run.name, page: number, size: 10000 }, "entity");
        if (loaded !== now) return;
        take(found, number === 1);
        if (facts.length >= Math.min(found.total, MOST_FACTS) || !found.facts.tick.length) break;
      }
    } catch (problem) {
      if (!wasCalledOff(problem) && loaded === now) trouble.replaceChildren(problemBox(problem, (e) => go({ ...state, e })));
    } finally {
      stop();
    }
  }

  function take({ name, total, facts: columns, relations, neighbours: beside }, isFirst) {
    if (isFirst) {
      const many = relations.length > MOST_LANES;
      lanes = (many ? relations.slice(0, MOST_LANES - 1) : relations).map((one) => ({ ...one, first: Infinity, last: -Infinity }));
      if (many) lanes.push({ name: `${relations.length - lanes.length} other relations`, first: Infinity, last: -Infinity });
      neighbours.replaceChildren(h("h2", {}, "Neighbours"), h("ul", { class: "plain" }, beside.map((one) =>
        h("li", {}, h("a", { href: to("entity", state, { e: one.name }) }, named(one.name)), h("small", {}, ` ${count(one.num_facts, "fact")}`)))));
      predictNext(relations);
    }
    const numbers = new Map(lanes.map((lane, number) => [`${lane.direction} ${lane.name}`, number]));
    columns.tick.forEach((tick, row) => {
      const [relation, direction, end] = [columns.relation[row], columns.direction[row], columns.end?.[row] ?? null];
      const lane = numbers.get(`${direction} ${relation}`) ?? lanes.length - 1;
      const last = end === null ? tick : typeof end === "number" ? end : page.timeline.tick(end);
      lanes[lane].first = Math.min(lanes[lane].first, tick);
      lanes[lane].last = Math.max(lanes[lane].last, last);
      facts.push({ relation, out: direction === "out", other: columns.other[row], time: columns.time[row], tick, end, last, lane });
    });
    trouble.replaceChildren();
    body.hidden = false;
    const shown = facts.length < total ? `${count(facts.length)} of ${count(total, "fact")}` : count(total, "fact");
    summary.replaceChildren(named(name), `: ${shown} in ${count(relations.length)} lanes.`);
    readout.textContent = hint();
    names.replaceChildren(...lanes.map((lane) => h("li", {}, lane.direction === "in" ? "← " : "", lane.name, h("small", {}, lane.num_facts ? ` ${count(lane.num_facts)}` : ""))));
    draw();
  }

  function draw() {
    if (!facts.length) return;
    const [from, until] = span();
    chart.show({ lanes, from, to: until, timeline: page.timeline, ticks: facts.map((one) => one.tick), ends: facts.map((one) => one.last), lane: facts.map((one) => one.lane),
      label: `${count(facts.length, "fact")} of ${state.e} over time; listed below` });
    const inside = facts.filter((one) => one.last >= from && one.tick <= until);
    listed.replaceChildren(h("h2", {}, inside.length > LISTED ? `The first ${LISTED} of ${count(inside.length, "fact")} in view` : `${count(inside.length, "fact")} in view`),
      h("ul", { class: "facts" }, inside.slice(0, LISTED).map((one) => h("li", {}, h("span", {}, h("a", { href: to("why", state, { ...asQuestion(one), as: one.out ? "object" : "subject" }) }, named(inWords(one))))))));
  }

  // Its most common relations, asked for the time after the last fact.
  async function predictNext(relations) {
    const when = page.timeline.label(page.timeline.last + 1);
    const asked = relations.slice(0, 4).map((one) => (one.direction === "out" ? { s: state.e, r: one.name, t: when } : { r: one.name, o: state.e, t: when }));
    const questions = asked.map(({ s, r, o, t }) => ({ subject: s || null, relation: r, object: o || null, time: t }));
    try {
      const { answers } = await post("/api/predict", { run: page.run.name, questions, top: 3 }, "next");
      next.replaceChildren(h("h2", {}, `Predicted for ${when}`), ...answers.map((answer, number) => h("div", { class: "next" },
        h("a", { href: to("ask", { run: state.run }, asked[number]) }, asked[number].s ? `${asked[number].r} — ?` : `? — ${asked[number].r}`),
        h("ol", {}, (answer.rows || []).map((row) => h("li", {}, named(row.answer), h("small", {}, ` ${page.run.has_probabilities ? percent(row.probability) : figure(row.score, 2)}`)))))));
    } catch (problem) {
      if (!wasCalledOff(problem)) next.replaceChildren(problemBox(problem));
    }
  }

  return { element, update, title: () => state.e || "Entity" };
}
