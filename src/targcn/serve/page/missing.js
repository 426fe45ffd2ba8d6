// Missing: the facts that are probably true and not known.

import { callOff, post, trying } from "./api.js";
import { combobox } from "./combobox.js";
import { button, count, download, h, inWords, labelled, link, percent, put, say, section, table } from "./dom.js";
import { go, toWhy } from "./state.js";

export const TOP = "50";
const ABOUT = "Facts that the data do not hold, the most probable first, judged by what is known around them.";
const KEYS = ["subject", "relation", "object", "time", "until", "probability", "sign"];

export function missing(page) {
  let state = {};
  let searched = "";
  const time = h(
    "input",
    { id: "missing-time", type: "text", autocomplete: "off", placeholder: "any time", size: 10 },
  );
  const relation = h("select", { id: "missing-relation" });
  const entity = combobox({ label: "entity", page, placeholder: "any entity" });
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
      h("button.main", "Search"),
    ),
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
    time.value = state.t || "";
    entity.set(state.e);
    const now = JSON.stringify([page.run.name, state.t, state.r, state.e, state.n]);
    if (now === searched) return;
    searched = now;
    callOff("missing");
    put(results);
    if (state.n) run();
  }

  function run() {
    const wanted = { time: state.t || null, relation: state.r || null, entity: state.e || null };
    return trying(results, async () => {
      const body = { run: page.run.name, ...wanted, top: Number(state.n) };
      draw(await post("/api/missing", body, "missing"));
    }, (name) => go({ ...state, [page.run.relations.includes(name) ? "r" : "e"]: name }));
  }

  function draw({ rows, presumed }) {
    say(`${count(rows.length, "fact")} found`);
    const odds = "In brackets: by what the odds of being true are multiplied.";
    const note = h("p.fine", `True with: ${presumed}. ${rows.length ? odds : ""}`);
    if (!rows.length)
      return put(results, h("p.lead", "Nothing that is true with 10 % or more is missing there."), note);
    return put(
      results,
      h("p.lead", summarize(rows)),
      table(
        "Missing facts",
        ["fact", "time", "true\u00a0with", "what speaks for it"],
        rows.map((row) =>
          [
            link(toWhy(state, row), inWords({ ...row, time: null })),
            row.times > 1 ? `${row.time} – ${row.until}` : row.time,
            [h("small.narrow", "true with "), percent(row.probability)],
            h("p.fine", row.sign?.replace("× ", "×\u00a0")),
          ],
        ),
      ),
      note,
      button("Download CSV", () => download("missing.csv", KEYS, rows)),
    );
  }

  return { element, update, title: () => "Missing facts" };
}

// The verdict on all of them; they come the most probable first.
function summarize(rows) {
  const probable = rows.filter(({ probability }) => probability >= 0.5).length;
  const possible = rows.length - probable;
  if (!possible) return `${count(probable, "fact")} probably true.`;
  const more = `${count(possible, "possible one")}, each more likely false than true`;
  return probable ? `${count(probable, "fact")} probably true, and ${more}.` : `No fact is probably true; ${more}.`;
}
