// The time of a question: a field for any date, and a slider over the facts per time.

import { h, labelled, put, svg } from "./dom.js";

const AHEAD = 0.04; // of the span: room for forecasts
const REST = 300; // milliseconds without a move, after which it is a step of the history

export function slider({ onSlide, onSettle }) {
  const field = h("input", { id: "when", type: "text", autocomplete: "off", placeholder: "?" });
  const range = h("input", { type: "range", "aria-label": "Time" });
  const bars = svg("svg.bars");
  const axis = svg("svg");
  const ahead = h("div.ahead");
  const when = labelled("time", field);
  const element = h("div.slider", bars, ahead, range, axis);
  let timeline = null;
  let timer = 0;

  function draw({ histogram: { ticks, facts } }, line) {
    timeline = line;
    const first = ticks[0];
    const end = line.last + Math.max(1, Math.round((line.last - first) * AHEAD));
    const percent = (ticks) => `${(100 * ticks) / (end - first + 1)}%`;
    const place = (tick) => percent(tick - first + 0.5);
    Object.assign(range, { min: first, max: end });
    // The thumb stands in the bar of its tick.
    Object.assign(
      range.style,
      { left: `calc(${place(first)} - 10px)`, width: `calc(${percent(end - first)} + 20px)` },
    );
    const width = (ticks[1] ?? first + 1) - first;
    const most = Math.max(...facts, 1);
    put(bars, ticks.map((tick, index) => {
      const share = (100 * facts[index]) / most;
      return svg(
        "rect",
        {
          x: place(tick - 0.5 + width * 0.1),
          width: percent(width * 0.8),
          y: `${100 - share}%`,
          height: `${share}%`,
        },
      );
    }));
    ahead.style.left = place(line.last + 0.5);
    put(
      axis,
      line
        .marks(first, line.last, innerWidth < 600 ? 4 : 9)
        .map(({ tick, label }) =>
          svg("text", { x: place(tick), y: 14, class: tick === first && "start" }, label),
        ),
    );
  }

  function show(label) {
    field.value = label || "";
    field.size = Math.max(field.value.length, 4);
    when.classList.toggle("open", !label);
    element.classList.toggle("unset", !label);
    // What the server has not understood yet may be no date at all.
    const tick = label ? timeline.tick(label) : timeline.last;
    if (!Number.isNaN(tick)) range.value = tick;
    range.setAttribute("aria-valuetext", label || "asked for");
  }

  const current = () => timeline.label(Number(range.value));
  range.addEventListener("input", () => onSlide(current()));
  range.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(() => element.isConnected && onSettle(current()), REST);
  });
  field.addEventListener("change", () => onSettle(field.value.trim() === "?" ? "" : field.value.trim()));
  field.addEventListener("focus", () => field.select());
  return { element, when, draw, show };
}
