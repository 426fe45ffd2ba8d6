// The API as openapi.json describes it: every operation with a form to try it.

const api = await (await fetch("/openapi.json")).json();
const { runs: [run] } = await (await fetch("/api/runs")).json();
// What forms begin with, by the names of their fields: a question that the first run can answer.
const known = { ...run.examples[0], run: run.name, name: run.examples[0]?.subject };

function element(tag, content = {}, ...children) {
  const made = Object.assign(document.createElement(tag), content);
  made.append(...children);
  return made;
}

function resolve(schema) {
  return schema?.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

// A value that fits a schema, to begin with.
function example(schema, name) {
  schema = resolve(schema) ?? {};
  if (known[name]) return known[name];
  if ("default" in schema) return schema.default;
  if (schema.anyOf) return schema.anyOf.some((one) => one.type === "null") ? null : example(schema.anyOf[0], name);
  if (schema.type === "object") {
    const fields = Object.entries(schema.properties ?? {});
    return Object.fromEntries(fields.map(([key, one]) => [key, example(one, key)]));
  }
  if (schema.type === "array") return schema.minItems ? [example(schema.items, name)] : [];
  if (schema.enum) return schema.enum[0];
  return { string: "", integer: schema.minimum ?? 0, number: 0, boolean: false }[schema.type] ?? null;
}

function field(label, control) {
  return element("label", {}, element("span", { textContent: label }), control);
}

function describe(path, verb, operation) {
  const parameters = (operation.parameters ?? []).map((one) => {
    const input = element("input", { name: one.name, value: example(one.schema, one.name) ?? "" });
    input.required = one.required ?? false;
    return { ...one, input };
  });
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const body = schema && element("textarea", { rows: 10, spellcheck: false });
  if (body) body.value = JSON.stringify(example(schema), null, 2);
  const answer = element("pre", { hidden: true, tabIndex: 0 });
  const form = element("form", {}, ...parameters.map((one) => field(one.name, one.input)));
  if (body) form.append(field("body", body));
  form.append(element("button", { textContent: "Send" }), answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    answer.hidden = false;
    answer.textContent = "…";
    answer.textContent = await send(path, verb, parameters, body?.value);
  });
  const [first, ...others] = (operation.description ?? "").split("\n\n");
  return element("details", {},
    element("summary", {}, element("span", { className: "verb", textContent: verb.toUpperCase() }),
      element("code", { textContent: path }), element("div", { textContent: first })),
    ...others.map((text) => element("p", { textContent: text })), form);
}

async function send(path, verb, parameters, body) {
  const query = new URLSearchParams();
  for (const { name, in: where, input } of parameters) {
    if (where === "path") path = path.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value !== "") query.set(name, input.value);
  }
  const address = query.size ? `${path}?${query}` : path;
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  try {
    const answer = await fetch(address, { method: verb.toUpperCase(), headers, body });
    const text = await answer.text();
    const isJson = (answer.headers.get("content-type") ?? "").includes("json");
    const shown = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
    return `${verb.toUpperCase()} ${address}\n${answer.status} ${answer.statusText}\n\n${shown}`;
  } catch (error) {
    return `${error}`;
  }
}

const about = api.info.description.trim().split("\n\n");
document.querySelector("#about").append(...about.map((text) => element("p", { textContent: text })));
const groups = new Map();
for (const [path, verbs] of Object.entries(api.paths)) {
  for (const [verb, operation] of Object.entries(verbs)) {
    const [tag] = operation.tags ?? ["other"];
    groups.set(tag, [...(groups.get(tag) ?? []), describe(path, verb, operation)]);
  }
}
const shown = [...groups].flatMap(([tag, found]) => [element("h2", { textContent: tag }), ...found]);
document.querySelector("#operations").replaceChildren(...shown);
