// What is shown stands in the address bar: every view is an address, and back goes back.

const ONE = ["view", "run", "s", "r", "o", "t", "a", "as", "hide", "e", "from", "to", "n", "other"];
// Facts struck out and facts added, each as a JSON list of four texts.
const MANY = ["without", "with"];

export function read() {
  const given = new URLSearchParams(location.search);
  const state = { view: "ask" };
  for (const key of ONE) if (given.get(key)) state[key] = given.get(key);
  for (const key of MANY) state[key] = given.getAll(key);
  return state;
}

export function address(state) {
  const search = new URLSearchParams();
  for (const key of ONE) if (state[key]) search.set(key, state[key]);
  for (const key of MANY) for (const fact of state[key] || []) search.append(key, fact);
  return `?${search}`;
}

// Another view of the same question starts without the what-ifs of the last one.
export function to(view, state, changes = {}) {
  const { run, s, r, o, t, e } = state;
  return address({ view, run, s, r, o, t, e, ...changes });
}

export function go(state, how = "push") {
  history[how === "push" ? "pushState" : "replaceState"](null, "", address(state));
  dispatchEvent(new Event("moved"));
}

export function asked({ s, r, o, t }) {
  const open = Object.entries({ subject: s, relation: r, object: o, time: t }).filter(([, value]) => !value);
  return open.length === 1 ? open[0][0] : open.length ? null : "fact";
}

export function question({ s, r, o, t }) {
  return { subject: s || null, relation: r || null, object: o || null, time: t || null };
}

export function toFact(text) {
  try {
    const [subject, relation, object, time] = JSON.parse(text).map(String);
    return { subject, relation, object, time };
  } catch {
    return null; // an address that was cut or written by hand
  }
}

export function fromFact({ subject, relation, object, time }) {
  return JSON.stringify([subject, relation, object, time]);
}
