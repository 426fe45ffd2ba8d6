// Questions to the server. A newer question of the same kind calls off the older one, so that an
// old answer is never shown. What goes wrong is said in the library's own sentence.

import { button, h, named, put } from "./dom.js";

const SLOW = 150; // milliseconds until the thin line on top appears
const VERY_SLOW = 400; // until a place that is still empty shows that something is coming
const underWay = new Map();
let waiting = 0;

export function get(path, parameters = {}, kind = path) {
  return send(kind, `${path}?${new URLSearchParams(parameters)}`, {});
}

export function factsOf(name, parameters, kind) {
  return get(`/api/entities/${encodeURIComponent(name)}`, parameters, kind);
}

export function post(path, body, kind = path) {
  return send(
    kind,
    path,
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
  );
}

export function callOff(kind) {
  underWay.get(kind)?.abort();
}

async function send(kind, path, options) {
  callOff(kind);
  const control = new AbortController();
  underWay.set(kind, control);
  wait(1);
  try {
    const response = await fetch(path, { ...options, signal: control.signal });
    if (response.ok) return await response.json();
    // Problem details, with the field that is wrong and the names that are nearest.
    const { detail, suggestions, field } = await response.json();
    throw Object.assign(new Error(detail), { suggestions, field, status: response.status });
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
    throw new Error("The server does not answer; is targcn serve still running?");
  } finally {
    wait(-1);
    if (underWay.get(kind) === control) underWay.delete(kind);
  }
}

function wait(change) {
  waiting += change;
  const line = document.getElementById("busy");
  if (waiting === 0) line.hidden = true;
  else setTimeout(() => (line.hidden = waiting === 0), SLOW);
}

// Does a task whose outcome is shown in an element; a suggestion that is clicked is chosen for the
// field that was wrong.
export async function trying(element, task, choose = null) {
  const timer = setTimeout(() => element.hasChildNodes() || element.append(skeleton()), VERY_SLOW);
  try {
    await task();
  } catch (problem) {
    if (problem.name !== "AbortError") put(element, problemBox(problem, choose));
  } finally {
    clearTimeout(timer);
    element.querySelector(".skeleton")?.remove();
  }
}

function problemBox({ message, suggestions = [], field }, choose) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return h(
    "div.problem",
    { role: "alert" },
    h("p", /[.?!]$/.test(text) ? text : `${text}.`),
    choose && suggestions.length > 0 && h(
      "p.tools",
      "Nearest: ",
      suggestions.map((name) => button(named(name), () => choose(name, field))),
    ),
  );
}

function skeleton() {
  return h("div.skeleton", { "aria-hidden": "true" }, Array.from({ length: 6 }, () => h("i")));
}
