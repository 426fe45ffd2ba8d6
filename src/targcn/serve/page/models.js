// Models: the runs side by side, how sure they may be, how they were trained, where they differ.

import { get } from "./api.js";
import { interval, plot } from "./chart.js";
import { count, figure, h, percent, put, table } from "./dom.js";
import { disagreement } from "./disagreement.js";
import { trying } from "./problem.js";

const FILTERS = ["raw", "static", "time-aware"];

export function models(page) {
	let loaded = false;
	const figures = h("section", { "aria-label": "Figures" }), plots = h("section", { "aria-label": "Plots", class: "plots" });
	const apart = disagreement(page);
	const element = h("div", h("h1", "Models"), h("p.fine", "MRR with its 95 % interval. Figures of the test split are computed once, on demand."), figures, plots, apart.element);

	function update(state) {
		apart.update(state);
		if (!loaded) trying(figures, load);
		loaded = true;
	}

	async function load() {
		const all = await Promise.all(page.runs.map(({ name }) => get(`/api/report/${encodeURIComponent(name)}`)));
		// Figures of one setting stand in one table.
		const settings = new Map();
		for (const { run, reports } of all)
			for (const report of reports) {
				const setting = `${report.dataset}: ${report.split} split, context ${report.context}, ${report.ties} rank on ties, ${count(report.num_queries)} queries`;
				settings.set(setting, [...(settings.get(setting) || []), [[h("b", run), h("small", ` ${report.model}`)],
					...FILTERS.map((filter) => mrr(report, filter)), ...["hits@1", "hits@10"].map((name) => percent(report.metrics["time-aware"].both?.[name]))]]);
			}
		const heads = ["run", ...FILTERS.map((filter) => `MRR, ${filter}`), "hits@1, time-aware", "hits@10, time-aware"];
		put(figures, [...settings].map(([setting, rows]) => h("div", h("h2", setting), table(setting, heads, rows))));
		put(plots, all.map(draw));
	}

	function mrr(report, filter) {
		const value = report.metrics[filter].both?.mrr, range = report.mrr_interval_95?.[filter]?.both;
		return [figure(value, 3), range && h("small", ` ± ${figure((range[1] - range[0]) / 2, 3)}`), range && interval(value, range)];
	}

	function draw({ run, trace, calibration }) {
		const found = [];
		if (calibration) {
			const points = calibration.bins_after.map((bin) => [bin.probability, bin.share_right, bin.num_queries]);
			found.push(plot({ title: run, up: `share of best answers that are right; calibration error ${figure(calibration.error_after, 3)}`, across: "probability of the best answer", points, top: 1, ideal: true }));
		}
		for (const [key, up] of [["loss", "training loss"], ["valid", "MRR on valid, time-aware"]]) {
			const points = trace.filter((one) => one[key] !== null).map((one) => [one.epoch, one[key], 0]);
			if (points.length > 1) found.push(plot({ title: run, up, across: "epoch", points, top: key === "valid" ? 1 : Math.max(...points.map(([, y]) => y)) }));
		}
		return found;
	}

	return { element, update, title: () => "Models" };
}
