// Small charts with quiet axes.

import { figure, h, svg } from "./dom.js";

// A figure and its interval on a scale.
export function interval(value, [low, high], [least, most]) {
  const place = (one) => `${(100 * (one - least)) / (most - least || 1)}%`;
  const line = (from, to, kind) => svg("line", { x1: place(from), x2: place(to), y1: 7, y2: 7, class: kind });
  return svg(
    "svg.interval",
    line(least, most, "grid"),
    line(low, high, "range"),
    svg("circle", { cx: place(value), cy: 7, r: 2.5 }),
  );
}

// A line through points, and a dot for each that counts for something; upwards from 0.
export function plot({ title, up, across, points, top, ideal = false }) {
  const [width, height] = [300, 160];
  const [left, right] = ideal ? [0, 1] : [points[0][0], points.at(-1)[0]];
  const px = (x) => (width * (x - left)) / (right - left || 1);
  const py = (y) => height * (1 - y / (top || 1));
  const most = Math.max(...points.map(([, , weight]) => weight));
  const step = ([x, y], index) => `${index ? "L" : "M"}${px(x)} ${py(y)}`;
  const path = (all, kind) => svg("path", { class: `line ${kind}`, d: all.map(step).join("") });
  const text = (x, y, content, anchor) => svg("text", { x, y, "text-anchor": anchor }, content);
  return h(
    "figure",
    h("figcaption", h("b", title), h("small", up)),
    svg(
      "svg",
      {
        viewBox: `-40 -10 ${width + 56} ${height + 46}`,
        class: "plot",
        role: "img",
        "aria-label": `${title}: ${up}`,
      },
      [0, 0.5, 1].map((share) =>
        svg("line", { x1: 0, x2: width, y1: height * share, y2: height * share, class: "grid" }),
      ),
      text(-8, 4, figure(top, top === 1 ? 0 : 2), "end"),
      text(-8, height + 4, "0", "end"),
      text(0, height + 16, left, "middle"),
      text(width, height + 16, right, "middle"),
      text(width / 2, height + 32, across, "middle"),
      ideal && path([[0, 0], [1, 1]], "ideal"),
      path(points, ""),
      points.map(([x, y, weight]) =>
        weight > 0 && svg("circle", { cx: px(x), cy: py(y), r: 2 + 5 * Math.sqrt(weight / most) }),
      ),
    ),
  );
}
