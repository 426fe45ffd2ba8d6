// A dialog for a fact that is to be supposed.

import { combobox } from "./combobox.js";
import { h } from "./dom.js";

export function addFact(page, onAdd) {
  const run = () => page.run.name;
  const onChoose = () => {};
  const fields = [["subject", "entity"], ["relation", "relation"], ["object", "entity"]].map(([label, kind]) =>
    combobox({ label, kind, run, onChoose, placeholder: "any name of the graph" }));
  const time = h("input", { type: "text", id: "supposed-time", autocomplete: "off" });
  const hint = h("p", { class: "fine", role: "alert" });
  const element = h("dialog", { "aria-labelledby": "suppose" },
    h("form", { method: "dialog", onsubmit: submit },
      h("h2", { id: "suppose" }, "Suppose that …"),
      fields.map((field) => field.element),
      h("div", { class: "field" }, h("label", { for: "supposed-time" }, "time"), time), hint,
      h("p", { class: "tools" }, h("button", { type: "submit", class: "main" }, "Add this fact"),
        h("button", { type: "button", onclick: () => element.close() }, "Cancel"))));

  function submit(event) {
    const [subject, relation, object] = fields.map((field) => field.value);
    const fact = { subject, relation, object, time: time.value.trim() };
    if (!Object.values(fact).every(Boolean)) {
      event.preventDefault();
      hint.textContent = "A fact has four parts; fill them all.";
      return;
    }
    onAdd(fact);
  }

  function open(state) {
    hint.textContent = "";
    fields[0].set(state.s);
    fields[1].set("");
    fields[2].set("");
    time.value = state.t;
    element.showModal();
    fields[1].input.focus();
  }

  return { element, open };
}
