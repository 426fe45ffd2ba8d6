// A ranking now, or before and after side by side.

import { count, figure, h, named, percent, table } from "./dom.js";

export function ranking(rows, { changed, own, link }) {
	const sides = changed ? ["_before", "_after"] : [""];
	const sure = rows.some((row) => row[`probability${sides[0]}`] !== null);
	const value = (row, side) => [h("small", count(row[`rank${side}`])), " ", sure ? percent(row[`probability${side}`]) : figure(row[`score${side}`], 2)];
	const name = (row) => [h(row.answer === own ? "b" : "span", {}, h("a", { href: link(row.answer) }, named(row.answer))), changed && sure && bar(row), row.change && h("small", row.change)];
	return table("Ranking", ["answer", ...(changed ? ["before", "after"] : ["now"])], rows.map((row) =>
		[name(row), ...sides.map((side) => [value(row, side), side === "_after" && arrow(row)])]));
}

// The bar is the probability after, the mark in it the one before.
function bar(row) {
	const after = h("i"), before = h("u");
	after.style.width = `${100 * row.probability_after}%`;
	before.style.left = `${100 * row.probability_before}%`;
	return h("span.bar", { "aria-hidden": "true" }, after, before);
}

function arrow({ rank_before: before, rank_after: after }) {
	return before !== after && h("span", { class: after < before ? "up" : "down" }, after < before ? " ▲" : " ▼", h("span.unseen", after < before ? " up" : " down"));
}
