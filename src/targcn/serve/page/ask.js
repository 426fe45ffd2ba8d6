// Ask: the question is a sentence; its answers follow the slider.

import { answerList } from "./answers.js";
import { callOff, post, trying } from "./api.js";
import { combobox } from "./combobox.js";
import { button, count, download, h, inWords, link, put, say, section } from "./dom.js";
import { slider } from "./slider.js";
import { asked, go, PLACE, question, to } from "./state.js";
import { verdictOf } from "./verdict.js";

const FIELDS = [["s", "subject"], ["r", "relation"], ["o", "object"]];
const SETTLED = 200; // milliseconds without a move, after which reasons are asked for

export function ask(page) {
  let state = {};
  let drawn = null;
  let rows = [];
  let timer = 0;
  const change = (changes) => go({ ...state, ...changes });
  const fields = FIELDS.map(([key, label]) =>
    combobox({ label, page, onChoose: (value) => change({ [key]: value }) }),
  );
  // Browsers refuse an address that changes too often: while it moves, the slider leaves it alone.
  const time = slider({ onSlide: (t) => update({ ...state, t }), onSettle: (t) => change({ t }) });
  const hide = h("input", { type: "checkbox", onchange: () => change({ hide: hide.checked ? "1" : "" }) });
  const save = button("Download CSV", () =>
    download("answers.csv", ["rank", "answer", "probability", "score", "true", "known", "why"], rows),
  );
  const tools = h("div.tools", h("label", hide, "hide what is known then"), save);
  const list = answerList((row) => to("why", state, { [PLACE[row.asked]]: row.answer, as: row.asked }));
  const notes = h("div");
  const fine = h("p.fine");
  const results = section("Answers");
  const element = h(
    "div",
    h("h1.unseen", "Ask"),
    h(
      "div.sentence",
      { role: "group", "aria-label": "Question" },
      fields.map((field) => field.element),
      time.when,
    ),
    time.element,
    notes,
    results,
    tools,
    fine,
  );

  function update(next) {
    state = next;
    if (drawn !== page.run) time.draw((drawn = page.run), page.timeline);
    FIELDS.forEach(([key], number) =>
      fields[number].value === (state[key] || "") || fields[number].set(state[key]),
    );
    time.show(state.t);
    hide.checked = Boolean(state.hide);
    clearTimeout(timer);
    const what = asked(state);
    if (what) answer(what, false);
    else start();
  }

  async function answer(what, why) {
    const choose = (name, field) => change({ [PLACE[field]]: name });
    await trying(results, async () => {
      const body = {
        run: page.run.name,
        questions: [question(state)],
        top: 10,
        hide_known: Boolean(state.hide),
        why,
      };
      const { answers: [found] } = await post("/api/predict", body, "ask");
      rows = found.rows;
      if (found.question.time) time.show(found.question.time);
      put(results, list.element);
      list.show(rows, page.run.has_probabilities, what === "fact");
      describe(found, what);
      // Reasons take longer than answers: they come when the slider rests.
      if (!why && page.run.gives_reasons && what !== "time")
        timer = setTimeout(() => answer(what, true), SETTLED);
      else say(rows.length ? `${count(rows.length, "answer")}, best: ${rows[0].answer}` : "No answers");
    }, choose);
    tools.hidden = fine.hidden = !results.contains(list.element);
  }

  function describe({ note, forecast, rows: [best] }, what) {
    const { run } = page;
    put(
      notes,
      what === "fact" && best && h("p.lead", h("b", verdictOf(best.known === "then", best.true))),
      note && h(forecast ? "p.note.forecast" : "p.note", note),
      !best && h("p", "Nothing is left: every answer is known at that time."),
      what === "fact" && h("p", "Each end is asked for in turn, with the fact itself hidden."),
    );
    const value = run.has_probabilities
      ? "probability of being the answer, if there is one"
      : `score of ${run.model}, which has no probabilities`;
    const among = {
      relation: count(run.relations.length, "relation"),
      time: `all times from ${run.first} to ${run.last}`,
    }[what] || `${count(run.num_entities)} entities`;
    const context = run.context === "all" ? "all known facts" : run.context;
    const certain = what === "fact" ? "" : " What is known then is certain.";
    fine.textContent = `Bar and figure: ${value}, among ${among}.${certain} Context: ${context}.`;
  }

  // Nothing is asked yet: say how.
  function start() {
    const { run } = page;
    const open = Object.entries(question(state)).filter(([, word]) => !word).map(([place]) => place);
    callOff("ask");
    tools.hidden = fine.hidden = true;
    put(results);
    const facts = `${count(run.num_facts, "fact")} about ${count(run.num_entities)} entities`;
    put(
      notes,
      h("p.lead", `${facts}, ${run.first} to ${run.last}.`),
      h(
        "p",
        open.length < 4
          ? `Fill all but one of ${open.join(", ")}: that one is answered.`
          : "Leave one place open, and it is answered; or none, to ask whether it is so.",
      ),
    );
    if (open.length < 4) return;
    const items = run.examples.map((example) => {
      const { subject: s, relation: r, time: t } = example;
      return h("li", link(to("ask", { run: state.run, s, r, t }), inWords(example)));
    });
    put(results, h("p", "For example:"), h("ul.plain", items));
  }

  return { element, update, title: () => (asked(state) ? inWords(question(state)) : "Ask") };
}
