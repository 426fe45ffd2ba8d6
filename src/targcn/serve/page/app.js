// The frame of the page: which run, which view, which colours.

import { get, trying } from "./api.js";
import { ask } from "./ask.js";
import { copyBox } from "./copy.js";
import { h, put } from "./dom.js";
import { entity } from "./entity.js";
import { missing } from "./missing.js";
import { models } from "./models.js";
import { go, read, to, visit } from "./state.js";
import { Timeline } from "./time.js";
import { why } from "./why.js";

const VIEWS = { ask, why, entity, missing, models };
const SCHEMES = { auto: "◐", light: "○", dark: "●" };
const [main, runs, scheme, views, copy] = [
  "main",
  "run",
  "scheme",
  "views",
  "copy",
].map((id) => document.getElementById(id));
const page = { runs: [], run: null, timeline: null };
const made = {};

function show() {
  const state = read();
  const view = VIEWS[state.view] ? state.view : "ask";
  const run = page.runs.find(({ name }) => name === state.run) || page.runs[0];
  if (run !== page.run) Object.assign(page, { run, timeline: new Timeline(run) });
  runs.value = run.name;
  put(
    views,
    Object
      .keys(VIEWS)
      .map((name) =>
        h(
          "a",
          {
            href: to(name, state, { e: state.e || state.s || state.o }),
            "aria-current": name === view && "page",
          },
          name[0].toUpperCase() + name.slice(1),
        ),
      ),
  );
  made[view] ||= VIEWS[view](page);
  if (main.firstChild !== made[view].element) put(main, made[view].element);
  made[view].update(state);
  document.title = `${made[view].title()} · targcn`;
  put(copy, copyBox(view, state, page));
}

function paint(name) {
  document.documentElement.dataset.scheme = localStorage.scheme = name;
  scheme.textContent = SCHEMES[name];
  scheme.setAttribute("aria-label", `Colours: ${name}`);
  dispatchEvent(new Event("painted"));
}

// Links of the page are moves in it; anything else about a click is the browser's.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?']");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(link.href);
  // Whoever goes by ear or by keys starts at the top of what is new.
  if (!link.closest("header")) main.focus();
  scrollTo(0, 0);
});
scheme.addEventListener("click", () => {
  const names = Object.keys(SCHEMES);
  paint(names[(names.indexOf(localStorage.scheme) + 1) % names.length]);
});
runs.addEventListener("change", () => go({ ...read(), run: runs.value }));
addEventListener("moved", show);
addEventListener("popstate", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  dispatchEvent(new Event("painted")),
);
paint(SCHEMES[localStorage.scheme] ? localStorage.scheme : "auto");
await trying(main, async () => {
  page.runs = (await get("/api/runs")).runs;
  put(
    runs,
    page.runs.map((run) => h("option", { value: run.name }, `${run.name} (${run.model}, ${run.data})`)),
  );
  show();
});
