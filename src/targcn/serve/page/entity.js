// Entity: its facts as lanes by relation, neighbours, what is predicted next.

import { callOff, factsOf, trying } from "./api.js";
import { combobox } from "./combobox.js";
import { button, count, h, inWords, link, put, section } from "./dom.js";
import { laneChart } from "./lanes.js";
import { predictNext } from "./next.js";
import { go, to, toWhy, visit } from "./state.js";

const MOST_LANES = 40;
const MOST_FACTS = 50000;
const LISTED = 100; // facts listed below the lanes
const HINT = "Drag to zoom; click a fact for its reasons.";

export function entity(page) {
  let state = {};
  let loaded = "";
  let facts = [];
  let lanes = [];
  const field = combobox({
    label: "entity",
    page,
    placeholder: "whose facts?",
    onChoose: (e) => go({ ...state, e, from: "", to: "" }),
  });
  const summary = h("p.fine");
  const names = h("ul.plain");
  const readout = h("p.fine");
  const listed = h("details");
  const chart = laneChart({
    onZoom: zoom,
    onPoint: (index) => (readout.textContent = index < 0 ? HINT : inWords(facts[index])),
    onPick: (index) => visit(whyOf(facts[index])),
  });
  const tools = h(
    "div.tools",
    button("Earlier", () => move(1, -0.5)),
    button("Later", () => move(1, 0.5)),
    button("Closer", () => move(0.5, 0)),
    button("Wider", () => move(2, 0)),
    button("All times", () => go({ ...state, from: "", to: "" })),
  );
  const next = section("Predicted next");
  const neighbours = section("Neighbours");
  const body = h(
    "div.two",
    section("Facts", h("div.lane-chart", names, chart.element), readout, tools, listed, neighbours),
    next,
  );
  const trouble = h("div");
  const element = h(
    "div",
    h("h1.unseen", "Entity"),
    h("div.sentence", field.element),
    summary,
    trouble,
    body,
  );

  const whyOf = (fact) => toWhy(state, fact, fact.out ? "object" : "subject");

  // The ticks in view: those of the address, or of all facts.
  function span() {
    const from = state.from ? page.timeline.tick(state.from) : facts[0].tick;
    const until = state.to
      ? page.timeline.tick(state.to)
      : facts.reduce((most, { last }) => Math.max(most, last), 0);
    const room = Math.max((until - from) * 0.02, 0.5);
    return [from - room, until + room];
  }

  function zoom(from, until) {
    const first = Math.ceil(from);
    const label = (tick) => page.timeline.label(tick);
    go({ ...state, from: label(first), to: label(Math.max(Math.floor(until), first)) });
  }

  function move(factor, shift) {
    const [from, until] = span();
    const size = until - from;
    const middle = (from + until) / 2 + shift * size;
    zoom(middle - (factor * size) / 2, middle + (factor * size) / 2);
  }

  function update(given) {
    state = given;
    if (field.value !== (state.e || "")) field.set(state.e);
    const now = JSON.stringify([page.run.name, state.e]);
    if (now === loaded) draw();
    else load();
    loaded = now;
  }

  function load() {
    [facts, lanes, body.hidden] = [[], [], true];
    [trouble, next].forEach((part) => put(part));
    summary.textContent = state.e ? "" : "Choose an entity: its facts are drawn over time.";
    callOff("entity");
    if (!state.e) return null;
    return trying(trouble, async () => {
      for (let number = 1, total = 1; facts.length < Math.min(total, MOST_FACTS); number += 1) {
        const found = await factsOf(state.e, { run: page.run.name, page: number }, "entity");
        if (!found.facts.tick.length) return;
        if (number === 1) begin(found);
        take(found);
        total = found.total;
      }
    }, (e) => go({ ...state, e }));
  }

  function begin({ relations, neighbours: beside }) {
    lanes = relations.slice(0, MOST_LANES);
    put(
      names,
      lanes.map(({ name, direction, num_facts: number }) =>
        h("li", { title: name }, h("span", direction === "in" ? "← " : "", name), h("small", count(number))),
      ),
    );
    put(
      neighbours,
      h("h2", "Neighbours"),
      h(
        "ul.plain.columns",
        beside
          .slice(0, 20)
          .map((one) =>
            h(
              "li",
              link(to("entity", state, { e: one.name }), one.name),
              h("small", ` ${count(one.num_facts, "fact")}`),
            ),
          ),
      ),
    );
    predictNext(next, page, state, relations);
  }

  function take({ name, total, facts: columns }) {
    const numbers = new Map(lanes.map((lane, number) => [`${lane.direction} ${lane.name}`, number]));
    columns.tick.forEach((tick, row) => {
      const [relation, other, time, end] = ["relation", "other", "time", "end"].map((key) =>
        columns[key]?.[row] ?? null,
      );
      const out = columns.direction[row] === "out";
      const lane = numbers.get(`${columns.direction[row]} ${relation}`) ?? -1;
      // What has not ended goes on to the last time.
      const last = end ? page.timeline.tick(end) : columns.end ? page.timeline.last : tick;
      facts.push({
        subject: out ? name : other,
        relation,
        object: out ? other : name,
        time,
        end,
        out,
        tick,
        last,
        lane,
      });
    });
    body.hidden = false;
    const shown = `${facts.length < total ? `${count(facts.length)} of ` : ""}${count(total, "fact")}`;
    const common = count(lanes.length, "most common relation");
    summary.textContent = `${shown}, one lane for each of the ${common}; ← where it is the object.`;
    readout.textContent = HINT;
    draw();
  }

  function draw() {
    if (!facts.length) return;
    const [from, until] = span();
    const inside = facts.filter(({ last, tick }) => last >= from && tick <= until);
    chart.show({
      facts,
      lanes,
      from,
      to: until,
      timeline: page.timeline,
      label: `${count(facts.length, "fact")} of ${state.e} over time; listed below`,
    });
    const only = inside.length > LISTED ? `, the first ${LISTED}` : "";
    put(
      listed,
      h("summary", `${count(inside.length, "fact")} in view${only} as a list`),
      h("ul.facts", inside.slice(0, LISTED).map((one) => h("li", link(whyOf(one), inWords(one))))),
    );
  }

  return { element, update, title: () => state.e || "Entity" };
}
