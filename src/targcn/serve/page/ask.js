// Ask: the question is a sentence; its answers follow the slider.

import { answerList } from "./answers.js";
import { get, post, wasCalledOff } from "./api.js";
import { combobox } from "./combobox.js";
import { count, download, h, named, say } from "./dom.js";
import { later, problemBox } from "./problem.js";
import { slider } from "./slider.js";
import { address, asked, go, question, to } from "./state.js";

const PLACES = [["s", "subject", "entity"], ["r", "relation", "relation"], ["o", "object", "entity"]];
const SETTLED = 200; // milliseconds without a move, after which reasons are asked for

export function ask(page) {
  let state = {}, drawn = null, rows = [], timer = 0;
  const fields = PLACES.map(([key, label, kind]) =>
    combobox({ label, kind, run: () => page.run.name, onChoose: (value) => change({ [key]: value }) }));
  const time = slider({
    onSlide: (label) => change({ t: label }, "replace"),
    onSettle: (label) => change({ t: label }),
  });
  const hide = h("input", { type: "checkbox", id: "hide", onchange: () => change({ hide: hide.checked ? "1" : "" }) });
  const save = h("button", { type: "button", onclick: () =>
    download("answers.csv", ["rank", "answer", "probability", "score", "known", "why"], rows) }, "Download CSV");
  const tools = h("div", { class: "tools" }, h("label", {}, hide, " hide what is known then"), save);
  const list = answerList((row) => {
    const whole = { s: state.s, r: state.r, o: state.o, t: state.t };
    const place = { subject: "s", relation: "r", object: "o", time: "t" }[row.asked];
    return to("why", state, { ...whole, [place]: row.answer, as: row.asked });
  });
  const notes = h("div", { class: "notes" });
  const fine = h("p", { class: "fine" });
  const results = h("section", { "aria-label": "Answers", class: "results" });
  const element = h("div", { class: "ask" }, h("h1", { class: "unseen" }, "Ask"),
    h("form", { class: "sentence", "aria-label": "Question", onsubmit: (event) => event.preventDefault() },
      fields.map((field) => field.element), time.when), time.element, notes, results, tools, fine);

  function change(changes, how) {
    go({ ...state, view: "ask", ...changes }, how);
  }

  function update(next) {
    state = next;
    if (drawn !== page.run) time.draw((drawn = page.run), page.timeline);
    PLACES.forEach(([key], index) => fields[index].value === (state[key] || "") || fields[index].set(state[key]));
    time.show(state.t);
    hide.checked = Boolean(state.hide);
    clearTimeout(timer);
    const what = asked(state);
    tools.hidden = fine.hidden = !what;
    if (!what) return start();
    answer(what, false);
  }

  async function answer(what, why) {
    const shown = state;
    const stop = results.contains(list.element) ? () => {} : later(results);
    try {
      const body = { run: page.run.name, questions: [question(state)], top: 10, hide_known: Boolean(state.hide), why };
      const { answers: [found] } = await post("/api/predict", body, "ask");
      if (shown !== state) return;
      // The reasons of the last answers would not fit these; they come in a moment.
      rows = found.rows;
      time.show(found.question.time ?? "");
      results.replaceChildren(list.element);
      list.show(rows, { sure: page.run.has_probabilities });
      notes.replaceChildren(...describe(found, what));
      save.disabled = !rows.length;
      if (!why && page.run.gives_reasons && (what === "object" || what === "subject"))
        timer = setTimeout(() => answer(what, true), SETTLED);
      else say(rows.length ? `${count(rows.length, "answer")}, best: ${rows[0].answer}` : "No answers");
    } catch (problem) {
      if (wasCalledOff(problem) || shown !== state) return;
      notes.replaceChildren();
      results.replaceChildren(problemBox(problem, (name) => change({ [placeOf(problem.message)]: name })));
    } finally {
      stop();
    }
  }

  function placeOf(message) {
    const found = PLACES.find(([key]) => state[key] && message.includes(`'${state[key]}'`));
    return found ? found[0] : "s";
  }

  function describe(found, what) {
    const { run } = page;
    const texts = [];
    if (found.note) texts.push(h("p", { class: "forecast" }, found.note));
    if (!found.rows.length) texts.push(h("p", {}, "Nothing is left to answer: all that could be is known at that time."));
    const value = run.has_probabilities ? "probability, calibrated on valid" : `score of ${run.model}, which has no probabilities`;
    const among = what === "relation" ? count(run.relations.length, "relation") : what === "time" ? `all times from ${run.first} to ${run.last}` : `${count(run.num_entities)} entities`;
    fine.textContent = `Bar and figure: ${value}, among ${among}. Context: ${run.context === "all" ? "all known facts" : run.context}.`;
    return texts;
  }

  // Nothing is asked yet: say how, with questions that this graph can answer.
  async function start() {
    results.replaceChildren();
    const open = PLACES.filter(([key]) => !state[key]).length + !state.t;
    if (open < 3) return notes.replaceChildren(h("p", {}, `Leave one place open; ${open} are. Or leave none, and ask whether it is so.`));
    notes.replaceChildren(h("p", { class: "lead" }, `${count(page.run.num_facts, "fact")} about ${count(page.run.num_entities)} entities, ${page.run.first} to ${page.run.last}.`), h("p", {}, "Fill three places and leave one open: the open one is answered. Leave none open to ask whether it is so."));
    try {
      const { names } = await get("/api/names", { run: page.run.name, q: "", kind: "entity", top: 3 }, "examples");
      const all = await Promise.all(names.map(async ({ name, last }) => ({ last, ...(await get(`/api/entities/${encodeURIComponent(name)}`, { run: page.run.name, size: 1 })) })));
      if (asked(state)) return;
      const links = all.filter(({ relations }) => relations.length).map(({ name, last, relations: [{ name: r, direction }] }) => {
        const place = direction === "out" ? { s: name } : { o: name };
        return h("li", {}, h("a", { href: address({ view: "ask", run: state.run, ...place, r, t: last }) },
          direction === "out" ? [named(name), ` — ${r} — ?`] : [`? — ${r} — `, named(name)], `, ${last}`));
      });
      notes.append(h("p", {}, "For example:"), h("ul", { class: "examples" }, links));
    } catch (problem) {
      if (!wasCalledOff(problem)) results.replaceChildren(problemBox(problem));
    }
  }

  return { element, update, title: () => (asked(state) ? null : "Ask") };
}
