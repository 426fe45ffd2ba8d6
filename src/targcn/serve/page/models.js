// Models: the runs side by side, how sure, how trained, where they differ.

import { factsOf, get, post, trying } from "./api.js";
import { interval, plot } from "./chart.js";
import { combobox } from "./combobox.js";
import { count, figure, h, inWords, labelled, link, percent, put, section, table } from "./dom.js";
import { go, toWhy } from "./state.js";

const MOST = 100; // facts that both runs judge
const SHOWN = 12;
const FILTERS = ["raw", "static", "time-aware"];

export function models(page) {
  let loaded = false;
  const figures = section("Figures");
  const plots = h("section", { "aria-label": "Plots", class: "plots" });
  const apart = disagreement(page);
  const element = h("div", h("h1", "Models"), figures, plots, apart.element);

  function update(state) {
    apart.update(state);
    if (!loaded) trying(figures, load);
  }

  // One after the other, as the server computes them.
  async function load() {
    loaded = true;
    const all = [];
    for (const { name } of page.runs) {
      all.push(await reportOf(name));
      show(all);
    }
  }

  // What takes the server too long is there when it is asked for again.
  async function reportOf(name) {
    try {
      return await get(`/api/report/${encodeURIComponent(name)}`);
    } catch (problem) {
      if (problem.status === 504) return reportOf(name);
      loaded = false;
      throw problem;
    }
  }

  function show(all) {
    // Intervals are narrow: their lines are no longer than needed.
    const ends = all.flatMap(({ reports }) =>
      reports.flatMap((report) => FILTERS.flatMap((filter) => rangeOf(report, filter) ?? [])),
    );
    const scale = [Math.floor(10 * Math.min(...ends)) / 10, Math.ceil(10 * Math.max(...ends)) / 10];
    // Figures of one setting stand in one table.
    const settings = new Map();
    for (const { run, reports } of all)
      for (const report of reports) {
        const { dataset, split, context, ties, metrics } = report;
        const about = `${split} split, context ${context}, ${ties} rank on ties`;
        const setting = `${dataset}: ${about}, ${count(report.num_queries)} queries`;
        const hits = ["hits@1", "hits@10"].map((name) => figure(metrics["time-aware"].both?.[name]));
        const mrrs = FILTERS.map((filter) => mrr(report, filter, scale));
        const row = [[h("b", run), h("small", ` ${report.model}`)], ...mrrs, ...hits];
        settings.set(setting, [...(settings.get(setting) || []), row]);
      }
    const heads = [
      "run",
      ...FILTERS.map((filter) => `MRR, ${filter}`),
      "hits@1, time-aware",
      "hits@10, time-aware",
    ];
    const hint = `MRR with its 95 % interval, on lines from ${scale[0]} to ${scale[1]}.`;
    const tables = [...settings].map(([setting, rows]) =>
      h("div", h("h2", setting), table(setting, heads, rows)),
    );
    put(figures, ends.length > 0 && h("p.fine", hint), tables);
    put(plots, all.map(draw));
  }

  const rangeOf = (report, filter) => report.mrr_interval_95?.[filter]?.both;

  function mrr(report, filter, scale) {
    const value = report.metrics[filter].both?.mrr;
    const range = rangeOf(report, filter);
    return [
      figure(value),
      range && h("small", ` ± ${figure((range[1] - range[0]) / 2)}`),
      range && interval(value, range, scale),
    ];
  }

  function draw({ run, trace, calibration }) {
    const found = [];
    // Reports of older versions have other bins.
    if (calibration?.bins) {
      const points = calibration.bins.map((bin) => [bin.probability, bin.share_right, bin.num_queries]);
      found.push(
        plot({
          title: `${run}: calibration`,
          up: `share of best answers that are right; error ${figure(calibration.error)}`,
          across: "probability of the best answer",
          points,
          top: 1,
          ideal: true,
        }),
      );
    }
    const points = trace.filter(({ loss }) => loss !== null).map(({ epoch, loss }) => [epoch, loss, 0]);
    if (points.length > 1)
      found.push(
        plot({
          title: `${run}: training`,
          up: "loss",
          across: "epoch",
          points,
          top: Math.max(...points.map(([, y]) => y)),
        }),
      );
    return found;
  }

  return { element, update, title: () => "Models" };
}

// Each fact is hidden from the runs that judge it.
function disagreement(page) {
  let state = {};
  let asked = "";
  const other = h("select", { id: "other-run", onchange: () => go({ ...state, other: other.value }) });
  const field = combobox({
    label: "on the facts of",
    page,
    placeholder: "an entity",
    onChoose: (e) => go({ ...state, e }),
  });
  const form = h("div.sentence.plain-fields", labelled("this run beside", other), field.element);
  const results = h("div");
  const element = section(
    "Where they differ",
    h("h2", "Where they differ"),
    h("p", "Which run is sure of a fact where another run of the same data is not."),
    form,
    results,
  );

  function update(next) {
    state = next;
    const rivals = page.runs.filter((run) => run !== page.run && run.data === page.run.data);
    form.hidden = !rivals.length;
    put(other, rivals.map(({ name }) => h("option", { value: name }, name)));
    other.value = rivals.some(({ name }) => name === state.other) ? state.other : rivals[0]?.name;
    field.set(state.e);
    const now = JSON.stringify([page.run.name, other.value, state.e]);
    if (now === asked) return;
    asked = now;
    put(results);
    if (state.e && rivals.length) compare(now, [page.run.name, other.value]);
  }

  function compare(now, runs) {
    return trying(results, async () => {
      const { name, facts } = await factsOf(state.e, { run: runs[0], size: MOST }, "differ");
      const questions = facts.other.map((beside, row) => {
        const [subject, object] = facts.direction[row] === "out" ? [name, beside] : [beside, name];
        return { subject, relation: facts.relation[row], object, time: facts.time[row] ?? facts.end[row] };
      });
      const found = await Promise.all(
        runs.map((run) => post("/api/predict", { run, questions, top: 1 }, `differ ${run}`)),
      );
      const objectOf = ({ rows }) => rows.find((row) => row.asked === "object");
      if (asked === now) draw(questions, found.map(({ answers }) => answers.map(objectOf)), runs);
    }, (e) => go({ ...state, e }));
  }

  // The object of each fact as an answer to the rest: how far apart the runs put it.
  function draw(questions, [mine, theirs], runs) {
    const gap = (row) => Math.abs(1 / mine[row].rank - 1 / theirs[row].rank);
    const rows = questions.map((_, row) => row).filter((row) => mine[row] && theirs[row] && gap(row) > 0);
    const apart = rows.sort((one, two) => gap(two) - gap(one));
    const value = ({ rank, probability }) => [`rank ${count(rank)}`, h("small", ` ${percent(probability)}`)];
    const judged = `${count(questions.length, "known fact")}, each hidden from the run that judges it`;
    put(
      results,
      h("p.fine", `${judged}; the rank of the object differs on ${count(apart.length)}.`),
      table(
        "Facts on which the runs differ",
        ["fact", ...runs],
        apart
          .slice(0, SHOWN)
          .map((row) =>
            [
              link(toWhy(state, questions[row]), inWords(questions[row])),
              value(mine[row]),
              value(theirs[row]),
            ],
          ),
      ),
    );
  }

  return { element, update };
}
