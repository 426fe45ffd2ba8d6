// One question, its answers and their reasons, as a page that needs no server.

import { answerList } from "./page/answers.js";
import { count, h, inWords, named } from "./page/dom.js";
import { describeAnswer, drawReasons, drawSum } from "./page/reasons.js";
import { Timeline } from "./page/time.js";

const { run, answer, explanations, made } = JSON.parse(document.getElementById("content").textContent);
const timeline = new Timeline(run);
const list = answerList((row) =>
  explanations[answer.rows.indexOf(row)] && `#why-${answer.rows.indexOf(row) + 1}`,
);
const value = run.has_probabilities
  ? "probability of being the answer, if there is one"
  : `score of ${run.model}, which has no probabilities`;

function drawWhy(explanation, number) {
  if (!explanation) return null;
  return h(
    "details",
    { open: number === 0 },
    h("summary", "Why ", h("b", named(answer.rows[number].answer)), "?"),
    h(
      "div",
      { id: `why-${number + 1}` },
      describeAnswer(explanation, run.num_entities),
      drawSum(explanation),
      explanation.reasons.length > 0 && drawReasons(explanation, timeline),
    ),
  );
}

document.body.append(
  h(
    "main",
    h("h1", named(inWords(answer.question))),
    answer.note && h(answer.forecast ? "p.note.forecast" : "p.note", answer.note),
    list.element,
    h(
      "p.fine",
      `Bar and figure: ${value}, among ${count(run.num_entities)} entities. Context: ${run.context}.`,
    ),
    explanations.map(drawWhy),
  ),
  h("footer", h("p.fine", made)),
);
list.show(answer.rows, run.has_probabilities, answer.asked === "fact");
