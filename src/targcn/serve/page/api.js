// Questions to the server. A newer question of the same kind calls off the older one, so that an
// old answer is never shown.

const SLOW = 150; // milliseconds until the thin line on top appears
const underWay = new Map();
let waiting = 0;

export class Problem extends Error {
  constructor({ title, detail, status, suggestions }) {
    super(detail || title || "The server gave no reason.");
    this.status = status;
    this.suggestions = suggestions || [];
  }
}

export const wasCalledOff = (error) => error.name === "AbortError";

export async function get(path, parameters = {}, kind = path) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return send(kind, search ? `${path}?${search}` : path, {});
}

export async function post(path, body, kind = path) {
  const headers = { "content-type": "application/json" };
  return send(kind, path, { method: "POST", headers, body: JSON.stringify(body) });
}

export async function remove(path) {
  return send(path, path, { method: "DELETE" });
}

export function callOff(kind) {
  underWay.get(kind)?.abort();
}

async function send(kind, path, options) {
  callOff(kind);
  const control = new AbortController();
  underWay.set(kind, control);
  showWaiting(1);
  try {
    const response = await fetch(path, { ...options, signal: control.signal });
    const text = await response.text();
    const content = text ? parse(text, response.status) : {};
    if (!response.ok) throw new Problem({ status: response.status, ...content });
    return content;
  } catch (error) {
    if (error instanceof TypeError) throw new Problem({ detail: "The server does not answer; is targcn serve still running?" });
    throw error;
  } finally {
    showWaiting(-1);
    if (underWay.get(kind) === control) underWay.delete(kind);
  }
}

function parse(text, status) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem({ status, detail: `The server's answer cannot be read (${status}).` });
  }
}

function showWaiting(change) {
  waiting += change;
  const line = document.getElementById("busy");
  if (waiting === 0) line.hidden = true;
  else if (change > 0) setTimeout(() => (line.hidden = waiting === 0), SLOW);
}
