// What went wrong, in the library's own sentence, with the nearest names to click.

import { h, named } from "./dom.js";

export function problemBox(problem, choose) {
  const box = h("div", { class: "problem", role: "alert" }, h("p", {}, sentenceCase(problem.message)));
  if (problem.suggestions?.length && choose)
    box.append(h("p", { class: "chips" }, "Nearest: ", problem.suggestions.map((name) => [
      h("button", { type: "button", onclick: () => choose(name) }, named(name)), " "])));
  return box;
}

export function skeleton(number = 8) {
  return h("div", { class: "skeleton", "aria-hidden": "true" }, Array.from({ length: number }, () => h("i")));
}

// Shows that something is coming, if it does not come soon.
export function later(element, number) {
  const timer = setTimeout(() => element.replaceChildren(skeleton(number)), 400);
  return () => clearTimeout(timer);
}

function sentenceCase(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(first) ? first : `${first}.`;
}
