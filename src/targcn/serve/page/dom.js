// Elements and figures. Text only ever becomes a text node, so that a name is never markup.

const SVG = "http://www.w3.org/2000/svg";

// An element, with its classes after its tag: h("p.fine", { id: "x" }, "text", another).
export function h(tag, ...content) {
  return fill(document.createElement(tag.split(".")[0]), tag, content);
}

// A drawing is hidden from screen readers unless it has a role.
export function svg(tag, ...content) {
  const element = fill(document.createElementNS(SVG, tag.split(".")[0]), tag, content);
  if (element.tagName === "svg" && !element.role) element.ariaHidden = "true";
  return element;
}

function fill(element, tag, content) {
  if (tag.includes(".")) element.setAttribute("class", tag.split(".").slice(1).join(" "));
  const attributes = content[0]?.constructor === Object ? content.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  return put(element, content);
}

// Makes these the children of an element; what is false or nothing is left out. What is there
// already stays, and with it the focus.
export function put(element, ...children) {
  const wanted = children.flat(4).filter((child) => child || child === 0);
  const { childNodes: now } = element;
  const differs = now.length !== wanted.length || wanted.some((child, place) => child !== now[place]);
  if (differs) element.replaceChildren(...wanted);
  return element;
}

// A name may run from right to left; it must not turn its neighbours around.
export function named(text) {
  return h("bdi", text);
}

export function link(href, text) {
  return h("a", { href }, named(text));
}

const LANGUAGE = document.documentElement.lang;
const whole = new Intl.NumberFormat(LANGUAGE);

export function count(number, noun) {
  return noun ? `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}` : whole.format(number);
}

// More digits where a share is near nothing or near all.
export function percent(share) {
  if (share === null || share === undefined) return "";
  const rest = Math.min(Math.abs(share), Math.abs(1 - share));
  if (rest > 0 && rest < 0.0001) return share < 0.5 ? "<\u00a00.01\u00a0%" : ">\u00a099.99\u00a0%";
  const digits = rest === 0 || rest >= 0.0995 ? 0 : rest >= 0.00995 ? 1 : 2;
  return `${figure(100 * share, digits)}\u00a0%`;
}

export function figure(number, digits = 3) {
  if (number === null || number === undefined) return "–";
  return new Intl
    .NumberFormat(LANGUAGE, { maximumFractionDigits: digits, minimumFractionDigits: digits })
    .format(number);
}

// A fact, or a question, in words.
export function inWords({ subject, relation, object, time, end, when: said }) {
  const words = `${subject || "?"} — ${relation || "?"} — ${object || "?"}`;
  if (said) return `${words}, ${said}`;
  if (end && end !== time) return `${words}, ${time ?? "…"}–${end}`;
  return time === null ? words : `${words}, ${time || "?"}`;
}

export function button(label, onclick, more = {}) {
  return h("button", { type: "button", onclick, ...more }, label);
}

export function labelled(label, input) {
  return h("div.field", h("label", { for: input.id }, label), input);
}

export function section(label, ...content) {
  return h("section", { "aria-label": label }, content);
}

// The first cell of each row is its heading.
export function table(label, heads, rows) {
  return h(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", h("tr", heads.map((head) => h("th", { scope: "col" }, head)))),
      h(
        "tbody",
        rows.map(([first, ...cells]) =>
          h("tr", h("th", { scope: "row" }, first), cells.map((cell) => h("td", cell))),
        ),
      ),
    ),
  );
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

export function download(name, columns, rows) {
  // What begins like a formula gets an apostrophe.
  const text = (value) => String(value ?? "").replace(/^(?=[=+@\t\r]|-.*[^\d.e-])/, "'");
  const cell = (value) => `"${text(value).replaceAll('"', '""')}"`;
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const content = lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  const address = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
