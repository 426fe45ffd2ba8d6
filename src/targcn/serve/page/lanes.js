// The facts of an entity as lanes over time, on a canvas: there may be 10,000.

import { h } from "./dom.js";

const FOOT = 20; // pixels below the lanes, for the times
const BAR = 15; // pixels of a fact, at the foot of its lane
const NEAR = 8; // pixels within which the pointer finds a fact

export function laneChart({ onZoom, onPoint, onPick }) {
  const canvas = h("canvas", { role: "img" });
  const brush = h("div.brush", { hidden: true });
  const element = h("div.canvas", canvas, brush);
  let data = null;
  let start = null;
  let frame = 0;
  const tall = () => (innerWidth < 600 ? 44 : 28); // pixels of a lane, as in the style sheet

  // Pixels of a tick, as long as nothing changes.
  function places() {
    const { from, to } = data;
    const each = canvas.clientWidth / (to - from);
    return { each, place: (tick) => (tick - from) * each, back: (x) => from + x / each };
  }

  function show(next) {
    data = next;
    canvas.setAttribute("aria-label", data.label);
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  }

  function draw() {
    const lane = tall();
    if (data) canvas.style.height = `${lane * data.lanes.length + FOOT}px`;
    const { clientWidth: width, clientHeight: height } = canvas;
    const scale = devicePixelRatio || 1;
    if (!data || !width) return;
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const pen = canvas.getContext("2d");
    const { each, place } = places();
    const { color, borderTopColor: rule, outlineColor: soft, fontFamily } = getComputedStyle(canvas);
    pen.scale(scale, scale);
    pen.font = `12px ${fontFamily}`;
    pen.textAlign = "center";
    pen.fillStyle = rule;
    data.lanes.forEach((_, row) => pen.fillRect(0, (row + 1) * lane - 1, width, 1));
    for (const { tick, label } of data.timeline.marks(data.from, data.to, width / 100)) {
      const half = pen.measureText(label).width / 2;
      pen.fillStyle = rule;
      pen.fillRect(place(tick), 0, 1, height - FOOT);
      pen.fillStyle = soft;
      pen.fillText(label, Math.min(Math.max(place(tick), half), width - half), height - 5);
    }
    pen.fillStyle = color;
    pen.globalAlpha = data.facts.length > 2000 ? 0.5 : 0.8;
    const size = Math.min(Math.max(each * 0.8, 2), 8);
    for (const { tick, last, lane: row } of data.facts)
      if (row >= 0 && last >= data.from && tick <= data.to) {
        const top = (row + 1) * lane - BAR - 7;
        pen.fillRect(place(tick) - size / 2, top, (last - tick) * each + size, BAR);
      }
  }

  function nearest({ offsetX: x, offsetY }) {
    const { place } = places();
    let best = -1;
    let distance = NEAR;
    data.facts.forEach(({ tick, last, lane }, index) => {
      const away = Math.max(place(tick) - x, x - place(last), 0);
      if (lane === Math.floor(offsetY / tall()) && away < distance) [best, distance] = [index, away];
    });
    return best;
  }

  function stop() {
    start = null;
    brush.hidden = true;
  }

  canvas.addEventListener("pointerdown", (event) => {
    start = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (start === null) return onPoint(nearest(event));
    const width = Math.abs(event.offsetX - start);
    brush.hidden = width < 4;
    brush.style.left = `${Math.min(start, event.offsetX)}px`;
    brush.style.width = `${width}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const [left, right] = [start, event.offsetX].sort((one, other) => one - other);
    const found = nearest(event);
    const pulled = !brush.hidden;
    const { back } = places();
    stop();
    if (pulled) onZoom(back(left), back(right));
    else if (found >= 0) onPick(found);
  });
  canvas.addEventListener("pointercancel", stop);
  canvas.addEventListener("pointerleave", () => onPoint(-1));
  new ResizeObserver(draw).observe(element);
  addEventListener("painted", draw);
  return { element, show };
}
