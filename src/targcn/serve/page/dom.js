// Elements and figures. Text only ever becomes a text node, so that a name is never markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A name may run from right to left; it must not turn its neighbours around.
export function named(text) {
  return h("bdi", {}, text);
}

const LANGUAGE = document.documentElement.lang;
const whole = new Intl.NumberFormat(LANGUAGE);
const percents = [0, 1, 2].map(
  (digits) => new Intl.NumberFormat(LANGUAGE, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }),
);

export function count(number, noun) {
  return noun ? `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}` : whole.format(number);
}

export function percent(share) {
  if (share === null || share === undefined) return "";
  const size = Math.abs(share);
  if (size > 0 && size < 0.0001) return "< 0.01 %";
  if (share < 1 && share > 0.9995) return "> 99.9 %";
  return percents[size >= 0.0995 || size === 0 ? 0 : size >= 0.00995 ? 1 : 2].format(share).replace("%", " %");
}

export function figure(number, digits = 3) {
  if (number === null || number === undefined) return "";
  return new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(number);
}

export const OPEN = "?";

export function sentence({ s, r, o, t }) {
  return `${s || OPEN} — ${r || OPEN} — ${o || OPEN}, ${t || OPEN}`;
}

export function inWords(fact) {
  const when = fact.time === null || fact.time === undefined ? "" : `, ${fact.time}${fact.end ? `–${fact.end}` : ""}`;
  return `${fact.subject} — ${fact.relation} — ${fact.object}${when}`;
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

export function download(name, columns, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const content = lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  const address = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
