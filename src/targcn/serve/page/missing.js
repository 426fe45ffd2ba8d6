// Missing: the most probable facts that are not known, searched for by the server as a job.

import { post, remove } from "./api.js";
import { combobox } from "./combobox.js";
import { count, download, figure, h, named, percent, say } from "./dom.js";
import { problemBox } from "./problem.js";
import { go, to } from "./state.js";

const TOP = 50;

export function missing(page) {
  let state = {}, searched = "", job = null, events = null;
  const time = h("input", { id: "missing-time", type: "text", autocomplete: "off", placeholder: "any time", size: 10 });
  const relation = h("select", { id: "missing-relation" });
  const entity = combobox({ label: "entity", kind: "entity", run: () => page.run.name, placeholder: "any entity", onChoose: () => {} });
  const start = h("button", { type: "submit", class: "main" }, "Search");
  const stop = h("button", { type: "button", onclick: cancel, hidden: true }, "Cancel");
  const form = h("form", { class: "sentence plain-fields", "aria-label": "Where to search", onsubmit: search },
    h("div", { class: "field" }, h("label", { for: "missing-time" }, "time"), time),
    h("div", { class: "field" }, h("label", { for: "missing-relation" }, "relation"), relation),
    entity.element, h("div", { class: "tools" }, start, stop));
  const progress = h("progress", { "aria-label": "Searched", hidden: true });
  const results = h("section", { "aria-label": "Missing facts" });
  const element = h("div", { class: "missing" }, h("h1", {}, "What is missing?"),
    h("p", {}, "The most probable facts that the data do not hold, judged from both of their ends: the smaller probability counts."), form, progress, results);

  function search(event) {
    event.preventDefault();
    searched = "";
    go({ view: "missing", run: state.run, t: time.value.trim(), r: relation.value, e: entity.value, n: String(TOP) });
  }

  function update(next) {
    state = next;
    relation.replaceChildren(h("option", { value: "" }, "any relation"), ...page.run.relations.map((name) => h("option", { value: name }, name)));
    relation.value = state.r && page.run.relations.includes(state.r) ? state.r : "";
    time.value = state.t || (state.n ? "" : page.run.last);
    entity.set(state.e);
    const now = JSON.stringify([page.run.name, state.t, state.r, state.e, state.n]);
    if (now === searched) return;
    searched = now;
    cancel();
    results.replaceChildren();
    if (state.n) run(now);
  }

  async function run(now) {
    const body = { run: page.run.name, time: state.t || null, relation: state.r || null, entity: state.e || null, top: Number(state.n) || TOP };
    try {
      wait(true);
      job = (await post("/api/missing", body)).job;
      if (searched !== now) return cancel();
      events = new EventSource(`/api/missing/${job}/events`);
      events.addEventListener("progress", ({ data }) => ([progress.value, progress.max] = (({ done, total }) => [done, total || 1])(JSON.parse(data))));
      events.addEventListener("result", ({ data }) => (finish(), draw(JSON.parse(data).rows)));
      events.addEventListener("problem", ({ data }) => fail(JSON.parse(data)));
      events.addEventListener("error", () => events?.readyState !== EventSource.OPEN && fail({ detail: "The search was cut off; is the server still running?" }));
    } catch (problem) {
      finish();
      results.replaceChildren(problemBox(problem, (e) => go({ ...state, e })));
    }
  }

  function fail({ detail, title, suggestions }) {
    if (!events) return;
    finish();
    results.replaceChildren(problemBox({ message: detail || title, suggestions }));
  }

  function finish() {
    events?.close();
    [events, job] = [null, null];
    wait(false);
  }

  function cancel() {
    if (job) remove(`/api/missing/${job}`).catch(() => {}); // it may have ended by itself
    finish();
  }

  function wait(yes) {
    progress.hidden = stop.hidden = !yes;
    start.disabled = yes;
    progress.removeAttribute("value");
  }

  function draw(rows) {
    say(`${count(rows.length, "fact")} found`);
    if (!rows.length) return results.replaceChildren(h("p", {}, "Nothing as probable as 1 in 100 is missing there. Ask wider: another time, or any relation."));
    const value = (row) => (row.probability === undefined || row.probability === null ? figure(row.score, 2) : percent(row.probability));
    const link = (row) => to("why", { run: state.run }, { s: row.subject, r: row.relation, o: row.object, t: row.time, as: "object" });
    const columns = ["subject", "relation", "object", "time", "probability", "reason"];
    results.replaceChildren(
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of missing facts" }, h("table", {},
        h("thead", {}, h("tr", {}, ["fact", "time", page.run.has_probabilities ? "probability" : "score", "best reason"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, h("a", { href: link(row) }, named(row.subject), ` — ${row.relation} — `, named(row.object))),
          h("td", { class: "whole" }, row.time), h("td", { class: "whole" }, value(row)), h("td", {}, h("small", {}, row.reason ?? ""))))))),
      h("div", { class: "tools" }, h("button", { type: "button", onclick: () => download("missing.csv", columns, rows) }, "Download CSV")));
  }

  return { element, update, title: () => "Missing facts" };
}
