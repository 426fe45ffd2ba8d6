// The facts that carried an answer, as lanes on a time line around the asked date.

import { count, figure, h, inWords, named, percent, svg } from "./dom.js";
import { fromFact } from "./state.js";

const LARGEST = 13; // radius of the largest dot
const strongest = (one, other) => Math.abs(other.effect) - Math.abs(one.effect);

// Reasons alike but for their times share a lane; so do paths through one entity.
function lanesOf({ reasons }) {
  const lanes = new Map();
  for (const reason of reasons) {
    const [first, second] = reason.facts;
    const via = second && [first.subject, first.object].find((name) =>
      name === second.subject || name === second.object,
    );
    const key = JSON.stringify(via ?? [first.subject, first.relation, first.object]);
    const lane = lanes.get(key) || {
      via,
      reasons: [],
      dots: new Map(),
      links: new Map(),
      effect: 0,
      share: 0,
    };
    lanes.set(key, lane);
    lane.reasons.push(reason);
    lane.effect += reason.effect;
    lane.share += reason.share;
    reason.facts.forEach((fact, row) => {
      const own = fromFact(fact) + row;
      lane.dots.set(own, { fact, row, effect: (lane.dots.get(own)?.effect || 0) + reason.effect });
      if (row) lane.links.set(fromFact(reason.facts[row - 1]) + own, [reason.facts[row - 1], fact, row]);
    });
  }
  return [...lanes.values()].sort(strongest);
}

export function drawReasons(explanation, timeline, { struck = new Set(), onPick = null } = {}) {
  const asked = explanation.tick;
  const lanes = lanesOf(explanation);
  const narrow = innerWidth < 600;
  const dots = lanes.flatMap((lane) => [...lane.dots.values()]);
  const ticks = [asked, ...dots.map(({ fact }) => fact.tick)];
  const room = Math.max((Math.max(...ticks) - Math.min(...ticks)) * 0.06, 1);
  const [from, to] = [Math.min(...ticks) - room, Math.max(...ticks) + room];
  const place = (tick) => `${(100 * (tick - from)) / (to - from)}%`;
  const largest = Math.max(...dots.map(({ effect }) => Math.abs(effect)), 1e-12);
  const line = (x1, x2, y1, y2, kind) => svg("line", { x1, x2, y1, y2, class: kind });
  const upright = (tick, kind) => line(place(tick), place(tick), 0, "100%", kind);
  const marks = timeline.marks(from, to, narrow ? 4 : 6);

  function drawLane(lane) {
    const rows = Math.max(...lane.reasons.map(({ facts }) => facts.length));
    const height = (row) => `${rows === 1 ? 50 : 25 + (50 * row) / (rows - 1)}%`;
    const drawLink = ([one, other, row]) => line(
      place(one.tick),
      place(other.tick),
      height(row - 1),
      height(row),
      "link",
    );
    const drawDot = ({ fact, row, effect }) => {
      const y = height(row);
      const r = Math.max(LARGEST * Math.sqrt(Math.abs(effect) / largest), 2.5);
      const side = fact.tick < asked ? "past" : fact.tick > asked ? "future" : "then";
      const kind = struck.has(fromFact(fact)) ? `${side} struck` : side;
      const pick = onPick ? { class: "pick", onclick: () => onPick(fact) } : {};
      const title = svg("title", inWords(fact));
      return svg("g", pick, svg("circle", { cx: place(fact.tick), cy: y, r, class: kind }, title));
    };
    return h(
      "li.lane",
      h("div", titleOf(lane)),
      svg(
        "svg",
        marks.map(({ tick }) => upright(tick, "grid")),
        upright(asked, "asked"),
        [...lane.links.values()].map(drawLink),
        [...lane.dots.values()].sort(strongest).map(drawDot),
      ),
      h("div.share", lane.reasons[0].share === null ? figure(lane.effect, 4) : percent(lane.share)),
    );
  }

  const widest = ((to - from) * explanation.time.length) / (narrow ? 20 : 50);
  const free = marks.filter(({ tick }) => Math.abs(tick - asked) > widest);
  const text = (tick, label, kind) => svg("text", { x: place(tick), y: 14, class: kind }, label);
  return h(
    "ol",
    { class: "lanes" },
    h(
      "li.lane.fine",
      h("div", ["past", "then", "future"].map((side) => h("span", { class: side }, `● ${side} `))),
      svg(
        "svg",
        free.map(({ tick, label }) => text(tick, label, "")),
        text(asked, explanation.time, "asked"),
      ),
      h("div.share", explanation.measure === "change of probability" ? "change" : "share"),
    ),
    lanes.map(drawLane),
  );
}

function titleOf({ via, reasons }) {
  const [first, second] = reasons[0].facts;
  const more = reasons.length > 1 ? ` and ${count(reasons.length - 1)} more` : "";
  if (second) return [h("b", "via ", named(via)), h("small", `${first.relation}, ${second.relation}${more}`)];
  return [h("b", first.relation), h("small", named(first.subject), " — ", named(first.object))];
}

// The score as one bar: the reasons, other evidence, and the prior.
export function drawSum({ measure, score, reasons, others }) {
  if (measure === "change of probability")
    return h(
      "p.fine",
      "A figure is the answer's probability minus that without the fact; they do not add up.",
    );
  const own = {
    name: count(reasons.length, "reason"),
    kind: "for",
    effect: reasons.reduce((sum, { effect }) => sum + effect, 0),
  };
  const parts = reasons.length ? [own, ...others] : others;
  const total = parts.reduce((sum, { effect }) => sum + Math.abs(effect), 0) || 1;
  const bar = h("div.sum", { "aria-hidden": "true" }, parts.map(({ effect, kind }) => {
    const piece = h("i", { class: effect < 0 ? "against" : kind });
    piece.style.width = `${(100 * Math.abs(effect)) / total}%`;
    return piece;
  }));
  const signed = (effect) => `${effect < 0 ? "−" : "+"}${figure(Math.abs(effect), 2)}`;
  const words = parts.map(({ name, effect }) => `${name} ${signed(effect)}`).join(", ");
  const whole = measure === "part of score"
    ? `score ${figure(score, 2)}`
    : "the probability";
  const area = reasons.length ? " Area of a dot = its share of the evidence." : "";
  return h("div", bar, h("p.fine", `${words}; Σ = ${whole}.${area}`));
}

export function describeAnswer(explanation, numEntities) {
  const { probability, score, rank, filter, context, parts } = explanation;
  const { num_pieces: pieces, fact_was_hidden: hidden } = explanation;
  const figures = [
    probability === null
      ? [figure(score, 2), "score"]
      : [percent(probability), "probability of being the answer, if there is one"],
    [figure(rank, Number.isInteger(rank) ? 0 : 1), `rank of ${count(numEntities)}, ${filter} filter`],
    [count(pieces), `pieces of evidence, context ${context}`],
  ];
  const notes = parts.map((part) =>
    `The member ${part.name} gives ${percent(part.probability)}; its weight is ${figure(part.weight, 3)}.`,
  );
  if (hidden)
    notes.push(
      "The fact itself is known: it is hidden from these reasons and figures, not from the ranking.",
    );
  if (!pieces) notes.push("Nothing in the context speaks for this answer; what follows is the prior.");
  return [
    h("dl", figures.map(([value, what]) => h("div", h("dt", what), h("dd", value)))),
    notes.map((note) => h("p.fine", note)),
  ];
}
