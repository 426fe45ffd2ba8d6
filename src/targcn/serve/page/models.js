// Models: the runs side by side, how sure they may be, how they were trained, where they differ.

import { get, wasCalledOff } from "./api.js";
import { interval, plot } from "./chart.js";
import { count, figure, h, percent } from "./dom.js";
import { disagreement } from "./disagreement.js";
import { later, problemBox } from "./problem.js";

const FILTERS = ["raw", "static", "time-aware"];

export function models(page) {
  let loaded = false;
  const figures = h("section", { "aria-label": "Figures" }), curves = h("section", { "aria-label": "Curves" });
  const apart = disagreement(page);
  const element = h("div", { class: "models" }, h("h1", {}, "Models"), figures, curves, apart.element);

  function update(state) {
    apart.update(state);
    if (loaded) return;
    loaded = true;
    load();
  }

  async function load() {
    const stop = later(figures);
    const reports = [];
    const problems = [];
    for (const run of page.runs) {
      try {
        reports.push({ run, ...(await get(`/api/report/${encodeURIComponent(run.name)}`)) });
      } catch (problem) {
        if (!wasCalledOff(problem)) problems.push(problemBox(problem));
      }
    }
    stop();
    figures.replaceChildren(...problems, ...tables(reports));
    curves.replaceChildren(h("h2", {}, "Calibration and training"), h("div", { class: "plots" }, reports.flatMap(draw)));
  }

  // Figures of one setting stand in one table; of another setting in another.
  function tables(reports) {
    const settings = new Map();
    for (const { run, reports: all } of reports)
      for (const report of all) {
        const key = `${report.dataset}: ${report.split} split, context ${report.context}, ${report.ties} rank on ties`;
        settings.set(key, [...(settings.get(key) || []), { run, report }]);
      }
    if (!settings.size) return [h("p", {}, "No run here was evaluated yet.")];
    return [...settings].map(([setting, rows]) => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": setting }, h("table", { class: "figures-table" },
      h("caption", {}, setting, h("small", {}, ` ${count(rows[0].report.num_queries)} queries; MRR with its 95 % interval under each filter; hits under the time-aware one`)),
      h("thead", {}, h("tr", {}, ["run", ...FILTERS, "hits@1", "hits@10"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map(({ run, report }) => h("tr", {}, h("th", { scope: "row" }, h("b", {}, run.name), h("small", {}, ` ${report.model}`)),
        FILTERS.map((filter) => cell(report, filter)),
        ["hits@1", "hits@10"].map((name) => h("td", { class: "whole" }, percent(report.metrics["time-aware"].both?.[name])))))))));
  }

  function cell(report, filter) {
    const both = report.metrics[filter].both, range = report.mrr_interval_95?.[filter]?.both;
    if (!both) return h("td", {}, "–");
    return h("td", {}, figure(both.mrr, 3), range ? [h("small", {}, ` ± ${figure((range[1] - range[0]) / 2, 3)}`), interval(both.mrr, range)] : "");
  }

  function draw({ run, trace, calibration }) {
    const plots = [];
    if (calibration) {
      const bins = calibration.bins_after;
      const most = Math.max(...bins.map((bin) => bin.num_queries));
      plots.push(plot({
        title: run.name, up: `share of best answers that are right; calibration error ${figure(calibration.error_after, 3)}`, across: "probability of the best answer",
        x: [0, 1], y: [0, 1], lines: [{ kind: "ideal", points: [[0, 0], [1, 1]] }, { kind: "main", points: bins.map((bin) => [bin.probability, bin.share_right]) }],
        dots: bins.map((bin) => [bin.probability, bin.share_right, 3 + 5 * Math.sqrt(bin.num_queries / most)]),
      }));
    }
    const losses = trace.filter(({ loss }) => loss !== null && loss !== undefined).map(({ epoch, loss }) => [epoch, loss]);
    if (losses.length > 1) {
      const values = losses.map(([, loss]) => loss);
      plots.push(plot({
        title: run.name, up: "training loss", across: "epoch", x: [losses[0][0], losses.at(-1)[0]], y: [Math.min(...values, 0), Math.max(...values)],
        lines: [{ kind: "main", points: losses }],
      }));
    }
    return plots;
  }

  return { element, update, title: () => "Models" };
}
