// The frame of the page: which run, which view, which colours.

import { ask } from "./ask.js";
import { get } from "./api.js";
import { copyBox } from "./copy.js";
import { entity } from "./entity.js";
import { h, sentence } from "./dom.js";
import { missing } from "./missing.js";
import { models } from "./models.js";
import { problemBox } from "./problem.js";
import { address, go, read, to } from "./state.js";
import { Timeline } from "./time.js";
import { why } from "./why.js";

const VIEWS = { ask: ["Ask", ask], why: ["Why", why], entity: ["Entity", entity], missing: ["Missing", missing], models: ["Models", models] };
const SCHEMES = { auto: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" };
const main = document.getElementById("main");
const runs = document.getElementById("run");
const page = { runs: [], run: null, timeline: null };
const made = {};

function show() {
  const state = read();
  const view = VIEWS[state.view] ? state.view : "ask";
  const run = page.runs.find(({ name }) => name === state.run) || page.runs[0];
  if (run !== page.run) Object.assign(page, { run, timeline: new Timeline(run) });
  runs.value = run.name;
  drawViews(view, state);
  made[view] ||= VIEWS[view][1](page);
  if (main.firstChild !== made[view].element) main.replaceChildren(made[view].element);
  made[view].update(state);
  document.title = `${made[view].title() || sentence(state)} · targcn`;
  document.getElementById("copy").replaceChildren(copyBox(view, state, page));
}

function drawViews(current, state) {
  const links = Object.entries(VIEWS).map(([view, [name]]) =>
    h("a", { href: to(view, state, view === "entity" ? { e: state.e || state.s || state.o } : {}), "aria-current": view === current ? "page" : null }, name));
  document.getElementById("views").replaceChildren(...links);
  document.querySelector(".brand").setAttribute("href", address({ view: "ask", run: state.run }));
}

function paint(scheme) {
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
  const button = document.getElementById("scheme");
  button.textContent = { auto: "◐", light: "○", dark: "●" }[scheme];
  button.setAttribute("aria-label", SCHEMES[scheme]);
  button.title = SCHEMES[scheme];
  dispatchEvent(new Event("painted"));
}

function keep(scheme) {
  paint(scheme);
  try {
    localStorage.setItem("scheme", scheme);
  } catch {
    // A browser that keeps nothing shows the system's colours next time.
  }
}

function kept() {
  try {
    const scheme = localStorage.getItem("scheme");
    return SCHEMES[scheme] ? scheme : "auto";
  } catch {
    return "auto";
  }
}

// Links of the page are moves in it; anything else about a click is the browser's.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?']");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  show();
  if (!link.closest("header")) main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
document.getElementById("scheme").addEventListener("click", () => {
  const names = Object.keys(SCHEMES);
  keep(names[(names.indexOf(kept()) + 1) % names.length]);
});
runs.addEventListener("change", () => go({ ...read(), run: runs.value }));
addEventListener("moved", show);
addEventListener("popstate", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("painted")));

paint(kept());
try {
  page.runs = (await get("/api/runs")).runs;
  runs.replaceChildren(...page.runs.map((run) => h("option", { value: run.name }, `${run.name} (${run.model}, ${run.data})`)));
  show();
} catch (problem) {
  main.replaceChildren(problemBox(problem));
}
