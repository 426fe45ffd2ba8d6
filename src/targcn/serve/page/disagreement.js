// Which run is sure of a fact where another is not. Each fact is hidden from the runs that judge it.

import { get, post, wasCalledOff } from "./api.js";
import { combobox } from "./combobox.js";
import { count, h, named, percent } from "./dom.js";
import { problemBox } from "./problem.js";
import { go, to } from "./state.js";

const MOST = 200; // facts that both runs judge
const SHOWN = 12;

export function disagreement(page) {
  let state = {}, asked = "";
  const other = h("select", { id: "other-run", onchange: () => go({ ...state, other: other.value }) });
  const field = combobox({ label: "on the facts of", kind: "entity", run: () => page.run.name, placeholder: "an entity", onChoose: (e) => go({ ...state, e }) });
  const results = h("div");
  const element = h("section", { "aria-label": "Where they differ" }, h("h2", {}, "Where they differ"));

  function update(next) {
    state = next;
    const rivals = page.runs.filter((run) => run !== page.run && run.data === page.run.data);
    if (!rivals.length) {
      asked = "";
      return element.replaceChildren(h("h2", {}, "Where they differ"), h("p", {}, "Serve a second run of the same data, and this shows which of the two is sure where the other is not."));
    }
    other.replaceChildren(...rivals.map((run) => h("option", { value: run.name }, `${run.name} (${run.model})`)));
    other.value = rivals.some(({ name }) => name === state.other) ? state.other : rivals[0].name;
    field.set(state.e);
    const now = JSON.stringify([page.run.name, other.value, state.e]);
    if (now === asked) return;
    asked = now;
    element.replaceChildren(h("h2", {}, "Where they differ"), h("form", { class: "sentence plain-fields", onsubmit: (event) => event.preventDefault() },
      h("div", { class: "field" }, h("label", { for: "other-run" }, `${page.run.name} beside`), other), field.element), results);
    results.replaceChildren();
    if (state.e) compare(now);
  }

  async function compare(now) {
    const runs = [page.run.name, other.value];
    try {
      const { facts } = await get(`/api/entities/${encodeURIComponent(state.e)}`, { run: runs[0], size: MOST }, "differ");
      const questions = facts.tick.slice(0, MOST).map((_, row) => {
        const [one, two] = facts.direction[row] === "out" ? [state.e, facts.other[row]] : [facts.other[row], state.e];
        return { subject: one, relation: facts.relation[row], object: two, time: facts.time[row] };
      });
      const [mine, theirs] = await Promise.all(runs.map((run) => post("/api/predict", { run, questions, top: 1 }, `differ ${run}`)));
      if (asked === now) draw(questions, mine.answers, theirs.answers, runs);
    } catch (problem) {
      if (!wasCalledOff(problem) && asked === now) results.replaceChildren(problemBox(problem, (e) => go({ ...state, e })));
    }
  }

  // The object of each fact, as an answer to the rest; one over the rank says how near the top it is.
  function draw(questions, mine, theirs, runs) {
    const object = (answer) => answer.rows.find((row) => row.asked === "object") ?? answer.rows[0];
    const rows = questions.map((question, number) => [question, object(mine[number]), object(theirs[number])])
      .filter(([, one, two]) => one && two)
      .map(([question, one, two]) => ({ question, one, two, gap: Math.abs(1 / one.rank - 1 / two.rank) }))
      .sort((left, right) => right.gap - left.gap);
    const apart = rows.filter(({ gap }) => gap > 0);
    const link = ({ subject, relation, object: answer, time }) => to("why", { run: state.run }, { s: subject, r: relation, o: answer, t: time, as: "object" });
    const value = ({ rank, probability }) => [`rank ${count(rank)}`, probability === null ? "" : h("small", {}, ` ${percent(probability)}`)];
    results.replaceChildren(h("p", { class: "fine" }, `${count(rows.length, "known fact")}, each hidden from the run that judges it; on ${count(apart.length)} the object's rank differs.`),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Facts on which the runs differ" }, h("table", {}, h("thead", {}, h("tr", {}, ["fact", ...runs].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, apart.slice(0, SHOWN).map(({ question, one, two }) => h("tr", {},
          h("th", { scope: "row" }, h("a", { href: link(question) }, named(question.subject), ` — ${question.relation} — `, named(question.object), `, ${question.time}`)),
          h("td", { class: "whole" }, value(one)), h("td", { class: "whole" }, value(two))))))));
  }

  return { element, update };
}
