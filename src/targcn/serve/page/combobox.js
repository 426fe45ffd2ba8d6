// A field with type-ahead, after the ARIA pattern of an editable combobox with a list.

import { get } from "./api.js";
import { count, h, named, put } from "./dom.js";

const PAUSE = 60; // milliseconds between the last key and the question to the server
let number = 0;

export function combobox({ label, page, onChoose = () => {}, placeholder = "?" }) {
  const kind = label === "relation" ? label : "entity";
  const id = `field-${(number += 1)}`;
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const input = h("input", {
    id, role: "combobox", type: "text", autocomplete: "off", dir: "auto", placeholder,
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
  });
  // Its hidden text makes the field as wide as what is in it.
  const sizer = h("span.sizer", { "aria-hidden": "true" });
  const element = h("div.field", h("label", { for: id }, label), h("div.grow", sizer, input), list);
  let chosen = "";
  let active = -1;
  let timer = 0;

  const typed = () => (input.value.trim() === "?" ? "" : input.value.trim());

  function set(value) {
    chosen = input.value = value || "";
    fit();
    open(false);
  }

  function fit() {
    sizer.textContent = input.value || placeholder;
    element.classList.toggle("open", !input.value);
  }

  function open(yes) {
    clearTimeout(timer);
    list.hidden = !yes;
    input.setAttribute("aria-expanded", String(yes));
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  function choose(value) {
    const before = chosen;
    set(value);
    if (value !== before) onChoose(value);
  }

  function point(place) {
    const options = [...list.children];
    if (!options.length) return;
    active = (place + options.length) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === active)));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  }

  function offerSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => offer().catch(() => open(false)), PAUSE);
  }

  const describe = ({
    num_facts: number,
    first,
    last,
  }) => ` ${count(number, "fact")}${first ? `, ${first}–${last}` : ""}`;

  // What was chosen before is no search: all names are offered.
  async function offer() {
    const { names } = await get(
      "/api/names",
      { run: page.run.name, q: typed() === chosen ? "" : typed(), kind, top: 12 },
      id,
    );
    if (document.activeElement !== input) return;
    const pointed = list.children[active]?.dataset.value;
    const option = (value, key, ...content) => h(
      "li",
      { role: "option", id: `${id}-${key}`, "aria-selected": "false", "data-value": value },
      content,
    );
    put(
      list,
      chosen && option("", "open", placeholder),
      names.map((one, index) => option(one.name, index, named(one.name), h("small", describe(one)))),
    );
    open(true);
    // The answer to a later key may come after an arrow key: what is pointed at stays so.
    const place = [...list.children].findIndex((shown) => shown.dataset.value === pointed);
    if (place >= 0) point(place);
  }

  input.addEventListener("input", () => (fit(), offerSoon()));
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => list.hidden && offerSoon());
  input.addEventListener("blur", () => choose(typed()));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step || event.key === "Enter" || (event.key === "Escape" && !list.hidden)) event.preventDefault();
    if (step && list.hidden) offerSoon();
    else if (step) point(active < 0 && step < 0 ? -1 : active + step);
    else if (event.key === "Enter") choose(active < 0 ? typed() : list.children[active].dataset.value);
    else if (event.key === "Escape") set(chosen);
  });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("li");
    if (option) choose(option.dataset.value);
  });
  fit();
  return { element, input, set, get value() { return typed(); } };
}
