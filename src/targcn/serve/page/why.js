// Why: the facts behind an answer, and what would change without them.

import { addFact } from "./add_fact.js";
import { post, trying } from "./api.js";
import { button, count, figure, h, inWords, link, named, percent, put, say, section, table } from "./dom.js";
import { describeAnswer, drawReasons, drawSum } from "./reasons.js";
import { asked, fromFact, go, PLACE, question, to, toFact } from "./state.js";
import { drawVerdict } from "./verdict.js";

const SHOWN = 6; // facts before the rest is folded away

export function why(page) {
  let state = {};
  let found = null;
  let explained = "";
  let unfolded = false;
  const head = h("div");
  const verdict = section("Verdict");
  const answer = h("div");
  const reasons = section("Reasons");
  const rank = h("div");
  const changes = h("ul.plain");
  const dialog = addFact(page, (fact) => go({ ...state, with: [...state.with, fromFact(fact)] }));
  const whatIf = section(
    "What if",
    h("h2", "What if"),
    changes,
    rank,
    button("Add a fact", () => dialog.open(state)),
  );
  const body = h("div.two", reasons, whatIf);
  const element = h("div", head, verdict, answer, body, dialog.element);
  const side = () => (state.as === "subject" ? "subject" : "object");

  function update(next) {
    state = next;
    const now = JSON.stringify([page.run.name, question(state), side()]);
    body.hidden = asked(state) !== "fact";
    if (body.hidden) return begin();
    if (now === explained) draw();
    else {
      judge();
      explain();
    }
    explained = now;
    compare();
  }

  // Of a question without an answer, the best answer is explained.
  function begin() {
    const what = asked(state);
    explained = "";
    put(answer);
    put(verdict);
    put(head, h("h1", "Why?"));
    if (!what)
      return head.append(
        h("p", "Ask something first; each answer leads to its reasons. ", link(to("ask", state), "Ask")),
      );
    return trying(answer, async () => {
      const { answers: [{ rows: [best] }] } = await post(
        "/api/predict",
        { run: page.run.name, questions: [question(state)], top: 1 },
        "begin",
      );
      if (best) go({ ...state, [PLACE[best.asked]]: best.answer, as: best.asked }, "replace");
    });
  }

  // Whether it is so, before anything about the model.
  function judge() {
    put(verdict);
    return trying(verdict, async () => {
      const said = await post("/api/judge", { run: page.run.name, ...question(state) }, "judge");
      put(verdict, drawVerdict(said));
    });
  }

  function explain() {
    const entity = (name) => link(to("entity", state, { e: name }), name);
    const open = PLACE[state.as] || "o";
    put(
      head,
      h("p.fine", link(to("ask", state, { [open]: "" }), "← All answers")),
      h("h1", "Why ", named(state[open]), "?"),
      h("p.lead", entity(state.s), ` — ${state.r} — `, entity(state.o), `, ${state.t}`),
    );
    found = null;
    put(answer);
    put(reasons);
    return trying(reasons, async () => {
      found = await post(
        "/api/explain",
        { run: page.run.name, ...question(state), asked: side() },
        "explain",
      );
      put(answer, describeAnswer(found, page.run.num_entities), drawSum(found));
      draw();
      say(`${count(found.num_pieces, "piece")} of evidence for ${state[open]}`);
    });
  }

  function draw() {
    if (!found) return;
    const struck = new Set(state.without);
    const facts = new Map();
    for (const reason of found.reasons)
      for (const fact of reason.facts.filter(({ time }) => time !== null)) {
        const key = fromFact(fact);
        facts.set(
          key,
          { fact, share: (facts.get(key)?.share || 0) + Math.abs(reason.share ?? reason.effect) },
        );
      }
    const sorted = [...facts.values()].sort((one, other) => other.share - one.share);
    if (found.fact_was_hidden) sorted.push({ fact: { ...question(state), time: found.time } });
    const items = sorted.map(({ fact, share }) => {
      const out = struck.has(fromFact(fact));
      const where = share ? `in ${percent(share)} of the evidence` : "the fact itself, hidden above";
      const more = { "aria-pressed": String(out), "aria-label": `Strike out ${inWords(fact)}` };
      return h(
        "li",
        { class: out && "struck" },
        h("span", named(inWords(fact)), h("small", where)),
        button("Strike out", () => strike(fact), more),
      );
    });
    const fold = { open: unfolded, ontoggle: () => (unfolded = more.open) };
    const more = h(
      "details",
      fold,
      h("summary", count(items.length - SHOWN, "more fact")),
      h("ul.facts", items.slice(SHOWN)),
    );
    put(
      reasons,
      found.reasons.length > 0 && drawReasons(found, page.timeline, { struck, onPick: strike }),
      items.length > 0 && [h("h2", "Facts"), h("ul.facts", items.slice(0, SHOWN))],
      items.length > SHOWN && more,
    );
  }

  function strike(fact) {
    const key = fromFact(fact);
    const buttons = () => [...reasons.querySelectorAll(".facts button")];
    const index = buttons().indexOf(document.activeElement);
    const others = state.without.filter((one) => one !== key);
    go({ ...state, without: others.length < state.without.length ? others : [...state.without, key] });
    buttons()[index]?.focus(); // the list was drawn anew
  }

  // The ranking now, or before and after the changes.
  function compare() {
    const own = state[PLACE[side()]];
    whatIf.hidden = !page.run.reads_context;
    put(changes, ["without", "with"].map((kind) => state[kind].map((key) => {
      const words = `${kind} ${inWords(toFact(key))}`;
      const takeBack = () => go({ ...state, [kind]: state[kind].filter((one) => one !== key) });
      return h("li", named(words), " ", button("×", takeBack, { "aria-label": `Take back: ${words}` }));
    })));
    return trying(rank, async () => {
      const ask = { ...question(state), [side()]: null };
      const run = page.run.name;
      const [without, given] = [state.without.map(toFact), state.with.map(toFact)];
      const changed = without.length + given.length > 0;
      const value = page.run.has_probabilities ? "probability of being the answer, if there is one" : "score";
      const { rows } = changed
        ? await post("/api/what-if", { run, question: ask, without, given }, "rank")
        : (await post("/api/predict", { run, questions: [ask] }, "rank")).answers[0];
      const href = (name) => to("why", state, { [PLACE[side()]]: name, as: side() });
      const hint = changed ? "" : " Strike out a fact, or add one, and they move.";
      put(rank, ranking(rows, { changed, own, href }), h("p.fine", `Rank, and ${value}.${hint}`));
      const mine = rows.find((row) => row.answer === own);
      if (changed && mine) say(`${own}: rank ${mine.rank_before} before, ${mine.rank_after} after`);
    });
  }

  return { element, update, title: () => `Why ${inWords(question(state))}` };
}

// A ranking now, or before and after side by side.
function ranking(rows, { changed, own, href }) {
  const sides = changed ? ["_before", "_after"] : [""];
  const sure = rows.some((row) => row[`probability${sides[0]}`] !== null);
  const value = (row, side) => [
    h("small.rank", count(row[`rank${side}`])),
    " ",
    sure ? percent(row[`probability${side}`]) : figure(row[`score${side}`], 2),
  ];
  const name = (row) => [
    h(row.answer === own ? "b" : "span", {}, link(href(row.answer), row.answer)),
    row.change && h("small", row.change),
  ];
  return table(
    "Ranking",
    ["answer", ...(changed ? ["before", "after"] : ["now"])],
    rows.map((row) =>
      [name(row), ...sides.map((side) => [value(row, side), side === "_after" && arrow(row)])],
    ),
  );
}

function arrow({ rank_before: before, rank_after: after }) {
  const way = after < before ? "up" : "down";
  return before !== after && h(
    `span.${way}`,
    { role: "img", "aria-label": way },
    after < before ? " ▲" : " ▼",
  );
}
