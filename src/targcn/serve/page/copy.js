// The same question for a shell, for Python and for curl.

import { button, h, say } from "./dom.js";
import { TOP } from "./missing.js";
import { asked, question, toFact } from "./state.js";

const quote = (text) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const shell = (...parts) => `targcn ${parts.map((part) => quote(part ?? "?")).join(" ")}`;
const python = (value) => (value === null ? "None" : JSON.stringify(value));
const list = (values) => values.map(python).join(", ");
const predictor = (run) => `Predictor(${python(run)})`;

// For each view: a shell command, a call of Python, an address, and what is sent to it.
const FORMS = {
  ask(state, run) {
    const words = question(state);
    const places = Object.values(words);
    const hide = Boolean(state.hide);
    return [
      shell("predict", run, ...places, ...(hide ? ["--hide-known"] : [])),
      `${predictor(run)}.predict(${list(places)}${hide ? ", hide_known=True" : ""})`,
      "/api/predict",
      { run, questions: [words], hide_known: hide },
    ];
  },
  why(state, run) {
    const words = question(state);
    const places = Object.values(words);
    const side = state.as === "subject" ? "subject" : "object";
    const [without, given] = [state.without.map(toFact), state.with.map(toFact)];
    if (!without.length && !given.length)
      return [
        shell("explain", run, ...places, "--asked", side),
        `${predictor(run)}.explain(${list(places)}, asked=${python(side)})`,
        "/api/explain",
        { run, ...words, asked: side },
      ];
    const open = { ...words, [side]: null };
    const options = (name, facts) => facts.flatMap((fact) => [name, Object.values(fact).join(" | ")]);
    const tuples = (facts) => `[${facts.map((fact) => `(${list(Object.values(fact))})`).join(", ")}]`;
    return [
      shell(
        "predict",
        run,
        ...Object.values(open),
        ...options("--without", without),
        ...options("--with", given),
      ),
      `${predictor(run)}.what_if(${tuples([open])}, without=${tuples(without)}, given=${tuples(given)})`,
      "/api/what-if",
      { run, question: open, without, given },
    ];
  },
  entity({ e }, run) {
    return [
      shell("names", run, e),
      null,
      `/api/entities/${encodeURIComponent(e)}?run=${encodeURIComponent(run)}`,
    ];
  },
  missing({ t, r, e, n }, run, page) {
    const given = Object
      .entries({ time: n ? t : t || page.run.last, relation: r, entity: e, top: Number(n || TOP) })
      .filter(([, value]) => value);
    return [
      shell("missing", run, ...given.flatMap(([name, value]) => [`--${name}`, value])),
      `missing(${[python(run), ...given.map(([name, value]) => `${name}=${python(value)}`)].join(", ")})`,
      "/api/missing",
      { run, ...Object.fromEntries(given) },
    ];
  },
  models(state, run, page) {
    const names = page.runs.map(({ name }) => name);
    const together = page.runs.every(({ data }) => data === page.run.data) && names.length > 1;
    return [
      together ? shell("compare", ...names) : shell("evaluate", run),
      together ? `compare([${list(names)}])` : `evaluate(${python(run)})`,
      `/api/report/${encodeURIComponent(run)}`,
    ];
  },
};

export function copyBox(view, state, page) {
  if ({ ask: !asked(state), why: asked(state) !== "fact", entity: !state.e }[view]) return null;
  const run = page.run.name;
  const [command, call, path, body] = FORMS[view](state, run, page);
  const url = location.origin + path;
  const sent = body ? ` -H 'content-type: application/json' -d ${quote(JSON.stringify(body))}` : "";
  const texts = {
    Shell: command,
    Python: call
      ? `import targcn\n\nprint(targcn.${call})`
      : `import json, urllib.request\n\nprint(json.load(urllib.request.urlopen(${python(url)})))`,
    curl: `curl -s ${quote(url)}${sent}`,
  };
  const parts = Object.entries(texts).map(([name, text]) => {
    const content = h("pre", { tabindex: 0, role: "region", "aria-label": name }, text);
    return [button(`Copy ${name}`, () => copy(name, text, content)), content];
  });
  return h("details", h("summary", "Copy this as shell, Python or curl"), parts);
}

async function copy(name, text, content) {
  // Without leave to write there, the text is selected for the reader to copy.
  getSelection().selectAllChildren(content);
  await navigator.clipboard?.writeText(text).then(() => say(`${name} copied`), () => {});
}
