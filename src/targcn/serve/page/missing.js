// Missing: the most probable unknown facts, searched for by the server.

import { post, remove, trying } from "./api.js";
import { combobox } from "./combobox.js";
import {
  button,
  count,
  download,
  figure,
  h,
  inWords,
  labelled,
  link,
  percent,
  put,
  say,
  section,
  table,
} from "./dom.js";
import { go, toWhy } from "./state.js";

export const TOP = "50";
const ABOUT =
  "The most probable facts that the data do not hold. " +
  "Each is judged from both ends: the smaller probability counts.";

export function missing(page) {
  let state = {};
  let searched = "";
  let job = null;
  let events = null;
  const time = h(
    "input",
    { id: "missing-time", type: "text", autocomplete: "off", placeholder: "any time", size: 10 },
  );
  const relation = h("select", { id: "missing-relation" });
  const entity = combobox({ label: "entity", page, placeholder: "any entity" });
  const start = h("button.main", "Search");
  const stop = button("Cancel", cancel, { hidden: true });
  const progress = h("progress", { "aria-label": "Searched", hidden: true });
  const results = section("Missing facts");
  const element = h(
    "div",
    h("h1", "What is missing?"),
    h("p", ABOUT),
    h(
      "form.sentence.plain-fields",
      { "aria-label": "Where to search", onsubmit: search },
      labelled("time", time),
      labelled("relation", relation),
      entity.element,
      start,
      stop,
    ),
    progress,
    results,
  );

  function search(event) {
    event.preventDefault();
    searched = "";
    go({ view: "missing", run: state.run, t: time.value.trim(), r: relation.value, e: entity.value, n: TOP });
  }

  function update(next) {
    state = next;
    put(
      relation,
      ["", ...page.run.relations].map((name) => h("option", { value: name }, name || "any relation")),
    );
    relation.value = state.r || "";
    time.value = state.t || (state.n ? "" : page.run.last);
    entity.set(state.e);
    const now = JSON.stringify([page.run.name, state.t, state.r, state.e, state.n]);
    if (now === searched) return;
    searched = now;
    cancel();
    put(results);
    if (state.n) run(now);
  }

  function run(now) {
    wait(true);
    return trying(results, async () => {
      const begun = await post(
        "/api/missing",
        {
          run: page.run.name,
          time: state.t || null,
          relation: state.r || null,
          entity: state.e || null,
          top: Number(state.n),
        },
      );
      job = begun.job;
      if (searched !== now) return cancel();
      const rows = await watch((events = new EventSource(`/api/missing/${job}/events`)));
      finish();
      return draw(rows);
    }, (e) => go({ ...state, e })).finally(() => searched === now && finish());
  }

  function watch(source) {
    return new Promise((resolve, reject) => {
      const on = (name, act) => source.addEventListener(name, ({ data }) => act(data && JSON.parse(data)));
      on("progress", ({ done, total }) => Object.assign(progress, { max: total || 1, value: done }));
      on("result", ({ rows }) => resolve(rows));
      on("problem", ({ detail }) => reject(new Error(detail)));
      on("error", () => reject(new Error("The search was cut off; is the server still running?")));
    });
  }

  function finish() {
    events?.close();
    events = job = null;
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
    if (!rows.length)
      return put(results, h("p", "Nothing as probable as 1 in 100 is missing there; search wider."));
    const kind = page.run.has_probabilities ? "probability" : "score";
    return put(
      results,
      table(
        "Missing facts",
        ["fact", "time", kind, "best reason"],
        rows.map((row) =>
          [
            link(toWhy(state, row), inWords({ ...row, time: null })),
            row.time,
            kind === "score" ? figure(row.score, 2) : percent(row.probability),
            h("p.fine", row.reason),
          ],
        ),
      ),
      button("Download CSV", () =>
        download("missing.csv", ["subject", "relation", "object", "time", kind, "reason"], rows),
      ),
    );
  }

  return { element, update, title: () => "Missing facts" };
}
