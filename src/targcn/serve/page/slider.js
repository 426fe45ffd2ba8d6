// The time of a question: a field for any date, and a slider over the facts per time.

import { h, svg } from "./dom.js";

const AHEAD = 0.04; // of the span: room for forecasts

export function slider({ onSlide, onSettle }) {
  const field = h("input", { id: "when", type: "text", autocomplete: "off", placeholder: "?", size: 4 });
  const range = h("input", { type: "range", step: 1, "aria-label": "Time" });
  const bars = svg("svg", { class: "bars", "aria-hidden": "true" });
  const axis = svg("svg", { class: "axis", "aria-hidden": "true" });
  const ahead = h("div", { class: "ahead", "aria-hidden": "true" });
  const when = h("div", { class: "field when" }, h("label", { for: "when" }, "time"), h("div", { class: "grow" }, field));
  const element = h("div", { class: "slider" }, bars, ahead, range, axis);
  let timeline = null;

  function draw(run, line) {
    timeline = line;
    const { ticks, facts } = run.histogram;
    const first = ticks[0], end = line.last + Math.max(1, Math.round((line.last - first) * AHEAD));
    range.min = first;
    range.max = end;
    const place = (tick) => `${(100 * (tick - first)) / Math.max(end - first, 1)}%`;
    const most = Math.max(...facts, 1);
    // A bar stands on its own ticks: centred where every tick has one.
    const widths = ticks.map((tick, index) => (ticks[index + 1] ?? line.last + 1) - tick);
    bars.replaceChildren(...ticks.map((tick, index) => {
      const share = (100 * facts[index]) / most;
      const start = tick - (widths[index] === 1 ? 0.4 : 0);
      return svg("rect", { x: place(start), width: place(first + widths[index] * 0.8), y: `${100 - share}%`, height: `${share}%` });
    }));
    ahead.style.left = place(line.last + 0.5);
    const marks = line.marks(first, line.last, innerWidth < 600 ? 4 : 9);
    axis.replaceChildren(...marks.map(({ tick, label }) => svg("text", { x: place(tick), y: 12 }, label)));
  }

  function show(label) {
    field.value = label || "";
    field.size = Math.max(field.value.length, 4);
    when.classList.toggle("open", !label);
    element.classList.toggle("unset", !label);
    const tick = label ? timeline.tick(label) : timeline.last;
    range.value = tick;
    range.setAttribute("aria-valuetext", label || "asked for");
  }

  const current = () => timeline.label(Number(range.value));
  range.addEventListener("input", () => (show(current()), onSlide(current())));
  range.addEventListener("change", () => onSettle(current()));
  field.addEventListener("change", () => onSettle(field.value.trim() === "?" ? "" : field.value.trim()));
  field.addEventListener("focus", () => field.select());
  return { element, when, range, draw, show };
}
