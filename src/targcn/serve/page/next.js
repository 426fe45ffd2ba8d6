// What is predicted for an entity: its most common relations, asked for the time after the last fact.

import { post, trying } from "./api.js";
import { h, link, named, percent, put } from "./dom.js";
import { question, to } from "./state.js";

const MOST_RELATIONS = 4;
const PROBABLE = 0.5;

export function predictNext(element, page, state, relations) {
  const t = page.timeline.label(page.timeline.last + 1);
  const asked = relations
    .slice(0, MOST_RELATIONS)
    .map(({ name, direction }) => ({ [direction === "out" ? "s" : "o"]: state.e, r: name, t }));
  return trying(element, async () => {
    const { answers } = await post(
      "/api/predict",
      { run: page.run.name, questions: asked.map(question), top: 3 },
      "next",
    );
    const titleOf = ({ s, r }) => (s ? `${r} — ?` : `? — ${r}`);
    put(
      element,
      h("h2", `Predicted for ${t}`),
      h("p.fine", `What is true with ${percent(PROBABLE)} or more.`),
      answers.map(({ rows }, number) =>
        [link(to("ask", { run: state.run }, asked[number]), titleOf(asked[number])), list(rows)],
      ),
    );
  });
}

// What is probably false is not shown as a prediction.
function list(rows) {
  const probable = rows.filter((row) => row.true >= PROBABLE);
  if (probable.length)
    return h("ol", probable.map((row) =>
      h("li", named(row.answer), h("small", ` true with ${percent(row.true)}`)),
    ));
  const most = Math.max(0, ...rows.map((row) => row.true));
  return h("p.fine", `Nothing probable; the likeliest is true with ${percent(most)}.`);
}
