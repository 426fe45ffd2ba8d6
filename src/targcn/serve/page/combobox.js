// A field with type-ahead, after the ARIA pattern of an editable combobox with a list.

import { get, wasCalledOff } from "./api.js";
import { count, h, named } from "./dom.js";

const PAUSE = 60; // milliseconds between the last key and the question to the server
let number = 0;

export function combobox({ label, kind, run, onChoose, placeholder = "?" }) {
  const id = `field-${(number += 1)}`;
  const input = h("input", {
    id, role: "combobox", type: "text", autocomplete: "off", spellcheck: "false", dir: "auto",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`, placeholder,
  });
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const sizer = h("span", { class: "sizer", "aria-hidden": "true" });
  const field = h("div", { class: "field" }, h("label", { for: id }, label), h("div", { class: "grow" }, sizer, input), list);
  let chosen = "", active = -1, timer = 0;

  function set(value) {
    chosen = value || "";
    input.value = chosen;
    fit();
    close();
  }

  function fit() {
    sizer.textContent = input.value || placeholder;
    field.classList.toggle("open", !input.value);
  }

  function close() {
    clearTimeout(timer);
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(value) {
    const changed = value !== chosen;
    set(value);
    if (changed) onChoose(value);
  }

  function point(place) {
    const options = [...list.children];
    if (!options.length) return;
    active = (place + options.length) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === active)));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  }

  async function offer(typed) {
    try {
      const { names } = await get("/api/names", { run: run(), q: typed, kind, top: 12 }, id);
      if (document.activeElement !== input) return;
      const ask = h("li", { role: "option", id: `${id}-ask`, class: "ask", "aria-selected": "false", "data-value": "" }, placeholder === "?" ? "? ask for this" : placeholder);
      const options = names.map((one, index) =>
        h("li", { role: "option", id: `${id}-${index}`, "aria-selected": "false", "data-value": one.name },
          named(one.name), h("small", {}, one.num_facts ? ` ${count(one.num_facts, "fact")}, ${one.first}–${one.last}` : " no facts")));
      list.replaceChildren(...options, ...(typed ? [] : [ask]));
      list.hidden = false;
      active = -1;
      input.setAttribute("aria-expanded", "true");
      input.removeAttribute("aria-activedescendant");
    } catch (error) {
      if (!wasCalledOff(error)) close();
    }
  }

  function offerSoon(typed) {
    clearTimeout(timer);
    timer = setTimeout(() => offer(typed), PAUSE);
  }

  input.addEventListener("input", () => (fit(), offerSoon(input.value.trim())));
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => list.hidden && offerSoon(input.value === chosen ? "" : input.value.trim()));
  input.addEventListener("blur", () => choose(input.value.trim() === "?" ? "" : input.value.trim()));
  input.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) offer(input.value === chosen ? "" : input.value.trim());
      else point(active + (key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
    } else if (key === "Enter") {
      event.preventDefault();
      const option = list.children[active];
      choose(option ? option.dataset.value : input.value.trim() === "?" ? "" : input.value.trim());
    } else if (key === "Escape") {
      if (!list.hidden) event.preventDefault();
      set(chosen);
    }
  });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("li");
    if (option) choose(option.dataset.value);
  });
  fit();
  return { element: field, input, set, get value() { return input.value.trim(); } };
}
