// Whether a fact is so: the verdict in words, and what says so.

import { figure, h, percent } from "./dom.js";

export function verdictOf(isKnown, probability) {
  if (isKnown) return "Known to be true.";
  return `${probability < 0.5 ? "Probably not" : "Probably true"}: true with ${percent(probability)}.`;
}

export function drawVerdict({ is_known: isKnown, probability, presumed, signs }) {
  const leading = signs.find(({ factor }) => factor > 1 === probability >= 0.5);
  const lost = { facts: "one by one", blocks: "in whole blocks" };
  const shares = Object.entries(presumed).map(([way, share]) => `${percent(share)} ${lost[way]}`);
  const presuming = `where of all facts ${shares.join(" and ")} are missing`;
  return [
    h("p.lead", h("b", verdictOf(isKnown, probability))),
    isKnown && h("p", `If it were not known, it would be true with ${percent(probability)}.`),
    !isKnown && leading && h("p", `${leading.text}.`),
    signs.length > 0 && h(
      "details",
      h("summary", "What says so"),
      h("ul.plain", signs.map(({ text, factor }) => h("li", text, h("small", ` ${oddsOf(factor)}`)))),
      h("p.fine", `Each multiplies or divides the odds of being true, ${presuming}.`),
    ),
  ];
}

function oddsOf(factor) {
  const [sign, size] = factor < 1 ? ["÷", 1 / factor] : ["×", factor];
  return `odds\u00a0${sign}\u00a0${figure(size, size < 10 ? 1 : 0)}`;
}
