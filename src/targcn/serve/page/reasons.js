// The facts that carried an answer, as lanes on a time line around the asked date.

import { count, figure, h, inWords, named, percent, svg } from "./dom.js";

const LARGEST = 13; // radius of the largest dot

export function keyOf(fact) {
  return JSON.stringify([fact.subject, fact.relation, fact.object, fact.time]);
}

// Reasons that differ only in their times share a lane, and so do paths through the same entity.
export function lanesOf(explanation) {
  const lanes = new Map();
  for (const reason of explanation.reasons) {
    const [first, second] = reason.facts;
    const via = second && [first.subject, first.object].find((name) => name === second.subject || name === second.object);
    const key = JSON.stringify([reason.kind, via ?? [first.subject, first.relation, first.object]]);
    if (!lanes.has(key)) lanes.set(key, { kind: reason.kind, via, reasons: [], dots: new Map(), links: new Map(), effect: 0, share: 0 });
    const lane = lanes.get(key);
    lane.reasons.push(reason);
    lane.effect += reason.effect;
    lane.share = reason.share === null ? null : lane.share + reason.share;
    reason.facts.forEach((fact, row) => {
      const dot = lane.dots.get(keyOf(fact) + row) || { fact, row, rows: reason.facts.length, effect: 0 };
      dot.effect += reason.effect;
      lane.dots.set(keyOf(fact) + row, dot);
      if (row) lane.links.set(keyOf(reason.facts[row - 1]) + keyOf(fact), [reason.facts[row - 1], fact, row, reason.facts.length]);
    });
  }
  return [...lanes.values()].sort((one, other) => Math.abs(other.effect) - Math.abs(one.effect));
}

export function drawReasons(explanation, timeline, { struck = new Set(), onPick = null } = {}) {
  const asked = explanation.tick ?? timeline.tick(explanation.time);
  const lanes = lanesOf(explanation);
  const dots = lanes.flatMap((lane) => [...lane.dots.values()]);
  const ticks = [asked, ...dots.filter(({ fact }) => fact.tick !== null).flatMap(({ fact }) => [fact.tick, endOf(fact, timeline)])];
  let [from, to] = [Math.min(...ticks), Math.max(...ticks)];
  const room = Math.max((to - from) * 0.06, 1);
  [from, to] = [from - room, to + room];
  const narrow = innerWidth < 600;
  const place = (tick) => `${(100 * (tick - from)) / (to - from)}%`;
  const height = (row, rows) => `${rows === 1 ? 50 : 25 + (50 * row) / (rows - 1)}%`;
  const largest = Math.max(...dots.map(({ effect }) => Math.abs(effect)), 1e-12);
  const upright = (tick, kind) => svg("line", { x1: place(tick), x2: place(tick), y1: 0, y2: "100%", class: kind });
  const marks = timeline.marks(from, to, narrow ? 4 : 6);

  function drawDot({ fact, row, rows, effect }) {
    const y = height(row, rows);
    if (fact.tick === null) return svg("line", { x1: 0, x2: "100%", y1: y, y2: y, class: "always" });
    const side = fact.tick < asked ? "past" : fact.tick > asked ? "future" : "then";
    const kind = struck.has(keyOf(fact)) ? `${side} struck` : side;
    const end = endOf(fact, timeline);
    return svg("g", onPick ? { class: "pick", onclick: () => onPick(fact) } : {},
      end > fact.tick && svg("line", { x1: place(fact.tick), x2: place(end), y1: y, y2: y, class: `span ${kind}` }),
      svg("circle", { cx: place(fact.tick), cy: y, r: Math.max(LARGEST * Math.sqrt(Math.abs(effect) / largest), 2.5), class: kind }, svg("title", {}, inWords(fact))));
  }

  const drawLane = (lane) => h("li", { class: "lane" },
    h("div", { class: "lane-name" }, titleOf(lane)),
    svg("svg", { class: "lane-line", "aria-hidden": "true" }, marks.map(({ tick }) => upright(tick, "grid")), upright(asked, "asked"),
      [...lane.links.values()].map(([one, other, row, rows]) =>
        svg("line", { x1: place(one.tick), x2: place(other.tick), y1: height(row - 1, rows), y2: height(row, rows), class: "link" })),
      [...lane.dots.values()].sort((one, other) => Math.abs(other.effect) - Math.abs(one.effect)).map(drawDot)),
    h("div", { class: "lane-share" }, lane.share === null ? figure(lane.effect, 4) : percent(lane.share)));
  const free = marks.filter(({ tick }) => Math.abs(tick - asked) > (to - from) / (narrow ? 6 : 10));
  const head = h("li", { class: "lane head" },
    h("div", { class: "lane-name" }, ["past", "then", "future"].map((side) => h("span", { class: side }, `● ${side} `))),
    svg("svg", { class: "lane-line", "aria-hidden": "true" }, free.map(({ tick, label }) => svg("text", { x: place(tick), y: 14 }, label)),
      svg("text", { x: place(asked), y: 14, class: "asked" }, explanation.time)),
    h("div", { class: "lane-share" }, explanation.measure === "change of probability" ? "change" : "share"));
  return h("ol", { class: "lanes" }, head, lanes.map(drawLane));
}

function titleOf({ kind, via, reasons }) {
  const { facts: [first, second], count: times } = reasons[0];
  const more = reasons.length > 1 ? ` and ${count(reasons.length - 1)} more` : "";
  if (second) return [h("b", {}, "via ", named(via)), h("small", {}, `${first.relation}, ${second.relation}${more}`)];
  const also = { relation: ", whosever it is", partner: `, at ${count(times, "time")}` }[kind] || "";
  return [h("b", {}, first.relation), h("small", {}, named(first.subject), " — ", named(first.object), also)];
}

function endOf(fact, timeline) {
  return typeof fact.end === "string" ? timeline.tick(fact.end) : (fact.end ?? fact.tick);
}

// The score as one bar: the lanes, other evidence, and the prior.
export function drawSum(explanation) {
  if (explanation.measure === "change of probability") {
    return h("p", { class: "fine" }, "Each figure is the answer's probability with all facts, minus its probability without this one; they do not add up.");
  }
  const whole = explanation.measure === "part of score" ? `score ${figure(explanation.score, 2)}` : "the probability before the run's temperature";
  const evidence = explanation.reasons.reduce((sum, { effect }) => sum + effect, 0);
  const parts = [{ name: `${count(explanation.reasons.length, "reason")} below`, effect: evidence, kind: "evidence" },
    ...explanation.others.map((part) => ({ ...part, kind: "other" }))];
  const total = parts.reduce((sum, { effect }) => sum + Math.abs(effect), 0) || 1;
  const bar = h("div", { class: "sum", "aria-hidden": "true" }, parts.map(({ effect, kind }) => {
    const piece = h("i", { class: effect < 0 ? "against" : kind });
    piece.style.width = `${(100 * Math.abs(effect)) / total}%`;
    return piece;
  }));
  const words = parts.map(({ name, effect }) => `${name} ${effect < 0 ? "−" : "+"}${figure(Math.abs(effect), 2)}`).join(", ");
  return h("div", { class: "sum-box" }, bar, h("p", { class: "fine" }, `${words}; Σ = ${whole}. Area of a dot = its share of the evidence.`));
}

export function describeAnswer(explanation, numEntities) {
  const { probability, score, rank, num_pieces: pieces } = explanation;
  const figures = [
    probability === null ? [figure(score, 2), "score"] : [percent(probability), "probability, calibrated on valid"],
    [Number.isInteger(rank) ? count(rank) : figure(rank, 1), `rank${numEntities ? ` of ${count(numEntities)}` : ""}, ${explanation.filter} filter`],
    [count(pieces), `${explanation.measure === "change of probability" ? "fact" : "piece"}${pieces === 1 ? "" : "s"} of evidence, context ${explanation.context}`],
  ];
  const notes = explanation.parts.map((part) => `The member ${part.name} gives ${percent(part.probability)}; its weight is ${figure(part.weight, 3)}.`);
  if (explanation.fact_was_hidden) notes.push("The fact itself is in the context and was hidden, so that it is no reason for itself.");
  if (!pieces) notes.push("Nothing in the context speaks for this answer; what follows is the prior.");
  return [
    h("dl", { class: "figures" }, figures.map(([value, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, value)))),
    notes.map((note) => h("p", { class: "fine" }, note)),
  ].flat();
}
