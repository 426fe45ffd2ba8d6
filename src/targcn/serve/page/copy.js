// The same question for a shell, for Python and for curl.

import { h, say } from "./dom.js";
import { asked, question, toFact } from "./state.js";

const quote = (text) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const python = (value) => (value === null || value === undefined ? "None" : JSON.stringify(value));
const inBars = ({ subject, relation, object, time }) => [subject, relation, object, time].join(" | ");
const tuple = (fact) => `(${["subject", "relation", "object", "time"].map((key) => python(fact[key])).join(", ")})`;

// Each view as [shell, Python, what is sent to the server, where].
const FORMS = {
  ask(state, run) {
    const words = question(state);
    const places = Object.values(words);
    const hide = Boolean(state.hide);
    return [
      `targcn predict ${quote(run)} ${places.map((one) => quote(one ?? "?")).join(" ")}${hide ? " --hide-known" : ""}`,
      `predictor.predict(${places.map(python).join(", ")}${hide ? ", hide_known=True" : ""})`,
      "/api/predict", { run, questions: [words], top: 10, hide_known: hide },
    ];
  },
  why(state, run) {
    const words = question(state), side = state.as === "subject" ? "subject" : "object";
    const without = state.without.map(toFact).filter(Boolean), given = state.with.map(toFact).filter(Boolean);
    const places = Object.values(words);
    if (!without.length && !given.length) {
      const also = side === "subject" ? [" --asked subject", ', asked="subject"'] : ["", ""];
      return [`targcn explain ${quote(run)} ${places.map((one) => quote(one ?? "?")).join(" ")}${also[0]}`,
        `predictor.explain(${places.map(python).join(", ")}${also[1]})`, "/api/explain", { run, ...words, asked: side, top: 20 }];
    }
    const open = { ...words, [side]: null };
    const option = (name, facts) => facts.map((fact) => ` ${name} ${quote(inBars(fact))}`).join("");
    const lists = [["without", without], ["given", given]].filter(([, facts]) => facts.length);
    return [
      `targcn predict ${quote(run)} ${Object.values(open).map((one) => quote(one ?? "?")).join(" ")}${option("--without", without)}${option("--with", given)}`,
      `predictor.what_if([${tuple(open)}], ${lists.map(([name, facts]) => `${name}=[${facts.map(tuple).join(", ")}]`).join(", ")})`,
      "/api/what-if", { run, question: open, without, given, top: 10 },
    ];
  },
  entity(state, run) {
    return [`targcn names ${quote(run)} ${quote(state.e || "")}`, null, `/api/entities/${encodeURIComponent(state.e || "")}?run=${encodeURIComponent(run)}`, null];
  },
  missing(state, run) {
    const options = { time: state.t, relation: state.r, entity: state.e };
    const given = Object.entries(options).filter(([, value]) => value);
    return [`targcn missing ${quote(run)}${given.map(([name, value]) => ` --${name} ${quote(value)}`).join("")}`,
      `predictor.missing(${given.map(([name, value]) => `${name}=${python(value)}`).join(", ")})`, "/api/missing", { run, ...Object.fromEntries(given), top: 100 }];
  },
  models(state, run, page) {
    const all = page.runs.map(({ name }) => name);
    return [all.length > 1 ? `targcn compare ${all.map(quote).join(" ")}` : `targcn evaluate ${quote(run)}`,
      null, `/api/report/${encodeURIComponent(run)}`, null];
  },
};

export function copyBox(view, state, page) {
  const incomplete = { ask: !asked(state), why: asked(state) !== "fact", entity: !state.e }[view];
  if (incomplete) return h("div");
  const run = page.run.name;
  const [shell, code, path, body] = FORMS[view](state, run, page);
  const sent = body ? ` -H 'content-type: application/json' -d ${quote(JSON.stringify(body))}` : "";
  const texts = {
    Shell: shell,
    Python: code && `from targcn import Predictor\n\npredictor = Predictor(${python(run)})\n${code}`,
    curl: `curl ${quote(location.origin + path)}${sent}`,
  };
  return h("details", { class: "copy" }, h("summary", {}, "Copy this as shell, Python or curl"),
    Object.entries(texts).filter(([, text]) => text).map(([name, text]) => {
      const content = h("pre", { tabindex: 0, "aria-label": name }, text);
      return h("div", {}, h("div", { class: "copy-head" }, h("b", {}, name), h("button", { type: "button", onclick: () => copy(name, text, content) }, `Copy ${name}`)), content);
    }));
}

async function copy(name, text, content) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${name} copied`);
  } catch {
    // Without leave to write there, the text is selected for the reader to copy.
    getSelection().selectAllChildren(content);
  }
}
