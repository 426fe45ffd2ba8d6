// Small charts with quiet axes.

import { figure, h, svg } from "./dom.js";

// A figure and its 95 % interval on a scale from 0 to 1.
export function interval(value, [low, high]) {
  const at = (share) => `${100 * share}%`;
  return svg("svg", { class: "interval", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: "100%", y1: 7, y2: 7, class: "grid" }),
    svg("line", { x1: at(low), x2: at(high), y1: 7, y2: 7, class: "range" }),
    svg("circle", { cx: at(value), cy: 7, r: 4 }));
}

// Points and lines between bounds; the labels stand at the ends of the axes.
export function plot({ title, across, up, x, y, lines, dots = [] }) {
  const [width, height] = [300, 180];
  const px = (value) => (width * (value - x[0])) / (x[1] - x[0] || 1);
  const py = (value) => height - (height * (value - y[0])) / (y[1] - y[0] || 1);
  const path = (points) => points.map(([a, b], index) => `${index ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
  const round = (value) => (Number.isInteger(value) ? String(value) : figure(value, 2));
  const text = (left, top, content, anchor) => svg("text", { x: left, y: top, "text-anchor": anchor }, content);
  const picture = svg("svg", { viewBox: `-44 -12 ${width + 64} ${height + 52}`, class: "plot", role: "img", "aria-label": title },
    [0, 0.5, 1].map((share) => svg("line", { x1: 0, x2: width, y1: height * share, y2: height * share, class: "grid" })),
    text(-8, 4, round(y[1]), "end"), text(-8, height + 4, round(y[0]), "end"),
    text(0, height + 18, round(x[0]), "middle"), text(width, height + 18, round(x[1]), "middle"), text(width / 2, height + 34, across, "middle"),
    lines.map(({ points, kind }) => svg("path", { d: path(points), class: `line ${kind}` })),
    dots.map(([a, b, size]) => svg("circle", { cx: px(a), cy: py(b), r: size })));
  return h("figure", {}, h("figcaption", {}, h("b", {}, title), h("small", {}, ` ${up}`)), picture);
}
