// Shows the OpenAPI document. Everything is put in as text, never as markup.
"use strict";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function typeOf(schema) {
  if (!schema) return "";
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return [schema.type, schema.format].filter(Boolean).join(", ");
}

function inputs(operation) {
  const rows = (operation.parameters ?? []).map((parameter) => ({
    name: parameter.name, place: parameter.in, required: parameter.required,
    type: typeOf(parameter.schema), text: parameter.description ?? "",
  }));
  const body = operation.requestBody?.content["application/json"].schema;
  for (const [name, schema] of Object.entries(body?.properties ?? {})) {
    rows.push({ name, place: "body", required: body.required.includes(name), type: typeOf(schema), text: schema.description ?? "" });
  }
  return rows;
}

function table(rows) {
  if (rows.length === 0) return element("p", { class: "facts" }, "Takes no arguments.");
  const head = element("tr", {}, ...["argument", "in", "type", "meaning"].map((title) => element("th", {}, title)));
  const lines = rows.map((row) => element("tr", {},
    element("td", {}, row.name + (row.required ? " *" : "")), element("td", {}, row.place),
    element("td", {}, row.type), element("td", {}, row.text)));
  return element("table", {}, head, ...lines);
}

function shown(path, method, operation) {
  const answer = operation.responses["200"].content["application/json"].schema;
  const permission = operation["x-permission"] ? `needs ${operation["x-permission"]}` : "needs an identity";
  const made = element("details", { "data-text": `${path} ${operation.operationId} ${operation.description}`.toLowerCase() },
    element("summary", {}, element("span", { class: `method ${method}` }, method.toUpperCase()),
      element("span", { class: "path" }, path), element("span", { class: "what" }, operation.operationId)),
    element("div", { class: "body" }, element("p", {}, operation.description),
      element("p", { class: "facts" }, `Effect: ${operation["x-effect"]}; ${permission}.`),
      table(inputs(operation)), element("h3", {}, "Answer"),
      element("pre", {}, JSON.stringify(answer, null, 2))));
  return made;
}

async function start() {
  const response = await fetch("/api/openapi.json");
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`);
  const spec = await response.json();
  document.getElementById("version").textContent = spec.info.version;
  document.getElementById("about").textContent = spec.info.description;
  const groups = new Map();
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(shown(path, method, operation));
    }
  }
  const main = document.getElementById("operations");
  main.replaceChildren();
  for (const [tag, operations] of groups) main.append(element("section", {}, element("h2", {}, tag), ...operations));
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const item of main.querySelectorAll("details")) item.hidden = !item.dataset.text.includes(wanted);
    for (const section of main.querySelectorAll("section")) section.hidden = !section.querySelector("details:not([hidden])");
  });
}

start().catch((error) => { document.getElementById("state").textContent = `The document could not be shown: ${error.message}`; });
