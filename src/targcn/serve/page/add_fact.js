// A dialog for a fact that is to be supposed.

import { combobox } from "./combobox.js";
import { button, h, labelled } from "./dom.js";

export function addFact(page, onAdd) {
  const fields = ["subject", "relation", "object"].map((label) =>
    combobox({ label, page, placeholder: "any name of the graph" }),
  );
  const time = h("input", { type: "text", id: "supposed", autocomplete: "off" });
  const hint = h("p.fine", { role: "alert" });
  const element = h(
    "dialog",
    { "aria-labelledby": "suppose" },
    h(
      "form",
      { method: "dialog", onsubmit: submit },
      h("h2", { id: "suppose" }, "Suppose that …"),
      fields.map((field) => field.element),
      labelled("time", time),
      hint,
      h("p.tools", h("button.main", "Add this fact"), button("Cancel", () => element.close())),
    ),
  );

  function submit(event) {
    const [subject, relation, object] = fields.map((field) => field.value);
    const fact = { subject, relation, object, time: time.value.trim() };
    if (Object.values(fact).every(Boolean)) return onAdd(fact);
    event.preventDefault();
    hint.textContent = "A fact has four parts; fill them all.";
  }

  function open({ s, t }) {
    hint.textContent = "";
    [s, "", ""].forEach((value, index) => fields[index].set(value));
    time.value = t;
    element.showModal();
    fields[1].input.focus();
  }

  return { element, open };
}
