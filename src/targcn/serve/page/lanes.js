// The facts of an entity as lanes over time, on a canvas: ten thousand of them move smoothly.

import { h } from "./dom.js";

const HEIGHT = 28; // of a lane, in pixels
const NEAR = 8; // pixels within which the pointer finds a fact

export function laneChart({ onZoom, onPoint, onPick }) {
  const canvas = h("canvas", { role: "img" });
  const brush = h("div", { class: "brush", hidden: true });
  const element = h("div", { class: "canvas" }, canvas, brush);
  let data = null, start = null, drawn = 0;

  const place = (tick) => ((tick - data.from) / (data.to - data.from)) * canvas.clientWidth;
  const back = (x) => data.from + (x / canvas.clientWidth) * (data.to - data.from);

  function show(next) {
    data = next;
    canvas.style.height = `${HEIGHT * data.lanes.length + 20}px`;
    canvas.setAttribute("aria-label", data.label);
    cancelAnimationFrame(drawn);
    drawn = requestAnimationFrame(draw);
  }

  function draw() {
    if (!data || !canvas.clientWidth) return;
    const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    const { color, borderTopColor: rule, outlineColor: soft, fontFamily } = getComputedStyle(canvas);
    pen.scale(scale, scale);
    pen.fillStyle = rule;
    const bottom = height - 20;
    data.lanes.forEach((_, lane) => pen.fillRect(0, (lane + 1) * HEIGHT - 1, width, 1));
    pen.font = `12px ${fontFamily}`;
    pen.textAlign = "center";
    for (const { tick, label } of data.timeline.marks(data.from, data.to, width / 100)) {
      pen.fillStyle = rule;
      pen.fillRect(place(tick), 0, 1, bottom);
      pen.fillStyle = soft;
      const half = pen.measureText(label).width / 2;
      pen.fillText(label, Math.min(Math.max(place(tick), half), width - half), height - 5);
    }
    pen.fillStyle = color;
    pen.globalAlpha = data.ticks.length > 2000 ? 0.5 : 0.8;
    const each = Math.min(Math.max((width / (data.to - data.from)) * 0.8, 2), 8);
    for (let fact = 0; fact < data.ticks.length; fact += 1) {
      if (data.ends[fact] < data.from || data.ticks[fact] > data.to) continue;
      const [x, end] = [place(data.ticks[fact]), place(data.ends[fact])];
      pen.fillRect(x - each / 2, data.lane[fact] * HEIGHT + 6, Math.max(end - x, 0) + each, HEIGHT - 13);
    }
  }

  function nearest(event) {
    const x = event.offsetX, lane = Math.floor(event.offsetY / HEIGHT);
    let best = -1, distance = NEAR;
    for (let fact = 0; fact < data.ticks.length; fact += 1) {
      if (data.lane[fact] !== lane) continue;
      const away = Math.max(place(data.ticks[fact]) - x, x - place(data.ends[fact]), 0);
      if (away < distance) [best, distance] = [fact, away];
    }
    return best;
  }

  canvas.addEventListener("pointerdown", (event) => {
    start = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (start === null) return onPoint(nearest(event));
    const [left, right] = [start, event.offsetX].sort((one, other) => one - other);
    brush.hidden = right - left < 4;
    brush.style.left = `${left}px`;
    brush.style.width = `${right - left}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const [left, right] = [start, event.offsetX].sort((one, other) => one - other);
    const pulled = !brush.hidden;
    start = null;
    brush.hidden = true;
    if (pulled) return onZoom(back(left), back(right));
    const found = nearest(event);
    if (found >= 0) onPick(found);
  });
  canvas.addEventListener("pointercancel", () => ([start, brush.hidden] = [null, true]));
  canvas.addEventListener("pointerleave", () => onPoint(-1));
  new ResizeObserver(draw).observe(element);
  addEventListener("painted", draw);
  return { element, show };
}
