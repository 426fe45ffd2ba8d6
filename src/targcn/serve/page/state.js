// What is shown stands in the address bar: every view is an address, and back goes back.

const ONE = ["view", "run", "s", "r", "o", "t", "as", "hide", "e", "from", "to", "n", "other"];
// Facts struck out and facts added, each as a JSON list of four texts.
const MANY = ["without", "with"];
export const PLACE = { subject: "s", relation: "r", object: "o", time: "t" };

export function read() {
  const given = new URLSearchParams(location.search);
  const state = { view: "ask" };
  for (const key of ONE) if (given.get(key)) state[key] = given.get(key);
  for (const key of MANY) state[key] = given.getAll(key).map(toFact).filter(Boolean).map(fromFact);
  return state;
}

function address(state) {
  const search = new URLSearchParams();
  for (const key of ONE) if (state[key]) search.set(key, state[key]);
  for (const key of MANY) for (const fact of state[key] || []) search.append(key, fact);
  return `?${search}`;
}

// The same question in another view, without the what-ifs of the last one.
export function to(view, { run, s, r, o, t, e }, changes = {}) {
  return address({ view, run, s, r, o, t, e, ...changes });
}

// The reasons for a fact, seen from one of its ends.
export function toWhy({ run }, { subject: s, relation: r, object: o, time, end }, as = "object") {
  return to("why", { run, s, r, o, t: time ?? end }, { as });
}

export function go(state, how) {
  visit(address(state), how);
}

export function visit(href, how = "push") {
  history[`${how}State`](null, "", href);
  dispatchEvent(new Event("moved"));
}

export function question({ s, r, o, t }) {
  return { subject: s || null, relation: r || null, object: o || null, time: t || null };
}

// Which place is open, or that none is; nothing if several are.
export function asked(state) {
  const open = Object.entries(question(state)).filter(([, value]) => !value);
  return open.length > 1 ? null : (open[0]?.[0] ?? "fact");
}

export function toFact(text) {
  try {
    const [subject, relation, object, time] = JSON.parse(text);
    return { subject, relation, object, time };
  } catch {
    return null; // an address that was cut or written by hand
  }
}

export function fromFact({ subject, relation, object, time }) {
  return JSON.stringify([subject, relation, object, time]);
}
