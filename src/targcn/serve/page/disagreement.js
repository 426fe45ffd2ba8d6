// Which run is sure of a fact where another is not. Each fact is hidden from the runs that judge it.

import { factsOf, post } from "./api.js";
import { combobox } from "./combobox.js";
import { count, h, inWords, named, percent, put, table } from "./dom.js";
import { trying } from "./problem.js";
import { go, to } from "./state.js";

const MOST = 100; // facts that both runs judge
const SHOWN = 12;

export function disagreement(page) {
	let state = {}, asked = "";
	const other = h("select", { id: "other-run", onchange: () => go({ ...state, other: other.value }) });
	const field = combobox({ label: "on the facts of", kind: "entity", page, placeholder: "an entity", onChoose: (e) => go({ ...state, e }) });
	const form = h("form.sentence.plain-fields", { onsubmit: (event) => event.preventDefault() },
		h("div.field", h("label", { for: other.id }, "this run beside"), other), field.element);
	const results = h("div");
	const element = h("section", { "aria-label": "Where they differ" }, h("h2", "Where they differ"), h("p", "Which run is sure of a fact where another run of the same data is not."), form, results);

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
			const found = await Promise.all(runs.map((run) => post("/api/predict", { run, questions, top: 1 }, `differ ${run}`)));
			if (asked === now) draw(questions, found.map(({ answers }) => answers.map(({ rows }) => rows.find((row) => row.asked === "object"))), runs);
		}, (e) => go({ ...state, e }));
	}

	// The object of each fact as an answer to the rest: how far apart the runs put it.
	function draw(questions, [mine, theirs], runs) {
		const gap = (row) => Math.abs(1 / mine[row].rank - 1 / theirs[row].rank);
		const apart = questions.map((_, row) => row).filter((row) => mine[row] && theirs[row] && gap(row) > 0).sort((one, two) => gap(two) - gap(one));
		const link = ({ subject, relation, object, time }) => to("why", { run: state.run }, { s: subject, r: relation, o: object, t: time, as: "object" });
		const value = ({ rank, probability }) => [`rank ${count(rank)}`, h("small", ` ${percent(probability)}`)];
		put(results, h("p.fine", `${count(questions.length, "known fact")}, each hidden from the run that judges it; the rank of the object differs on ${count(apart.length)}.`),
			table("Facts on which the runs differ", ["fact", ...runs], apart.slice(0, SHOWN).map((row) =>
				[h("a", { href: link(questions[row]) }, named(inWords(questions[row]))), value(mine[row]), value(theirs[row])])));
	}

	return { element, update };
}
