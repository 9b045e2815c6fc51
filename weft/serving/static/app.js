// The page and its views. Its state is kept in the address, so that a link shows the same thing again.

import { h, inner } from "weft/dom.js";
import { get, post, useKey } from "./api.js";

const FIRST = { // null: comes with the model, or is chosen by the view
  text: "", // an example that comes with the model
  sentence: 1, // of the text; Translate shows all sentences
  target: "",
  kind: null,
  layer: null,
  mode: "lines",
  heads: null,
  mean: false,
  head: 1,
  token: 0,
  off: [],
  beam: null,
  alpha: null,
  temperature: 0.8,
  top_p: 1,
  tokens: 100,
};

const from = (least) => (value) => Number.isInteger(value) && value >= least;
const oneOf = (...values) => (value) => values.includes(value);
const listOf = (of) => (value) => Array.isArray(value) && value.every(of);
const ALLOWED = { // what an address may say, besides FIRST
  text: () => true,
  sentence: from(1),
  target: () => true,
  kind: (value) => app.model.kinds.some(({ name }) => name === value),
  layer: from(1),
  mode: oneOf("lines", "matrix", "overview"),
  heads: listOf(from(1)),
  mean: oneOf(true, false),
  head: from(1),
  token: from(0),
  off: listOf((one) => ALLOWED.kind(one?.kind) && from(1)(one.layer) && from(1)(one.head)),
  beam: from(1),
  alpha: (value) => typeof value === "number",
  temperature: (value) => value >= 0 && value <= 2,
  top_p: (value) => value >= 0 && value <= 1,
  tokens: from(1),
};

export const app = { state: { ...FIRST }, model: null, post, get, save };
const root = document.getElementById("view");
const nav = document.querySelector("nav");
let close = () => {};
let shown = null; // the name of a view
let uses = []; // what its address says

/** An address that is only the name of a view keeps the state; any other replaces it. */
function readAddress() {
  const [view, query] = location.hash.slice(1).split("?");
  if (query) Object.assign(app.state, FIRST);
  for (const [key, value] of new URLSearchParams(query ?? "")) {
    if (!Object.hasOwn(FIRST, key)) continue;
    try {
      const said = typeof FIRST[key] === "string" ? value : JSON.parse(value);
      if (ALLOWED[key](said)) app.state[key] = said;
    } catch { /* a truncated address: the rest has its default */ }
  }
  return named(view) ? view : shown ?? app.model.views[0].name; // #view: past the navigation, to what is shown
}

function named(view) {
  return app.model.views.find(({ name }) => name === view);
}

/** Write the text, and what the view uses and has changed from its default, into the address. */
function save(change = {}) {
  Object.assign(app.state, change);
  const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const keys = uses.filter((key) => key === "text" || said(app.state[key]) !== said(FIRST[key]));
  const query = new URLSearchParams(keys.map((key) => [key, said(app.state[key])]));
  history.replaceState(null, "", `#${shown}?${query}`);
}

async function show() {
  const view = readAddress();
  shown = view;
  for (const link of nav.children) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${named(view).label} · weft`;
  const module = await import(`./${view}.js`);
  if (shown !== view) return;
  ({ uses } = module);
  const open = module.needsAttention && !app.model.kinds.length ? nothingToSee : module.open;
  close();
  root.replaceChildren();
  root.className = `view ${view}`;
  close = open(root, app) ?? (() => {});
  save();
  scrollTo(0, 0);
}

function nothingToSee(root) {
  root.append(h("p", { class: "soft" }, "This model has no attention. The other views still work."));
}

function turnTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  dispatchEvent(new Event("theme"));
}

document.querySelector(".theme").addEventListener("click", turnTheme);
await begin();

async function begin() {
  try {
    app.model = await get("api/model");
  } catch (error) {
    root.replaceChildren(h("p", { class: "trouble", role: "alert" }, error.message), error.status === 403 ? keyForm() : "");
    return;
  }
  const { kinds, views, search, example } = app.model;
  Object.assign(FIRST, { text: example, kind: kinds.at(-1)?.name ?? null, beam: search?.width ?? null, alpha: search?.length_penalty ?? null });
  Object.assign(app.state, FIRST);
  if ((app.model.plan.codec.name ?? app.model.plan.codec) !== "subwords") inner.mark = "";
  nav.replaceChildren(...views.map(({ name, label }) => h("a", { href: `#${name}`, "data-view": name }, label)));
  app.languages = app.model.languages.map(languageName);
  document.querySelector(".model").textContent = app.model.name;
  addEventListener("hashchange", show);
  await show();
}

/** en → English, en_US → American English; anything that is not a language tag, such as l1, is kept. */
function languageName(tag) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language", fallback: "code" }).of(tag.replaceAll("_", "-"));
  } catch {
    return tag;
  }
}

function keyForm() {
  const key = h("input", { type: "password", "aria-label": "API key", autocomplete: "off" });
  return h("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); useKey(key.value); begin(); } },
    h("label", { class: "control" }, h("span", {}, "API key"), key), h("button", { class: "button" }, "Continue"));
}
