// One page, six views. What is looked at stands in the address, so that a link shows the same thing again.

import { h } from "weft/dom.js";
import { KINDS, kindsOf } from "weft/panel.js";
import { get, post, useKey } from "./api.js";

const VIEWS = {
  translate: "Translate",
  attention: "Attention",
  head: "One head",
  search: "Search",
  off: "Switch off",
  model: "Model",
};
const OF_ATTENTION = ["attention", "head", "off"];
const USED = { // what the address of a view says
  translate: ["text"],
  attention: ["text", "sentence", "target", "kind", "layer", "mode", "heads", "mean"],
  head: ["text", "sentence", "target", "kind", "layer", "head", "token"],
  search: ["text", "sentence", "beam", "alpha"],
  off: ["text", "sentence", "target", "off"],
  model: ["text", "sentence"],
};
const FIRST = {
  text: "The animal didn't cross the street because it was too tired.",
  sentence: 1, // of the text; Translate shows all of them
  target: "",
  kind: "cross",
  layer: null,
  mode: "lines",
  heads: null,
  mean: false,
  head: 1,
  token: 0,
  off: [],
  beam: 5,
  alpha: 1,
};

const from = (least) => (value) => Number.isInteger(value) && value >= least;
const oneOf = (...values) => (value) => values.includes(value);
const listOf = (of) => (value) => Array.isArray(value) && value.every(of);
const ALLOWED = { // what an address may say, besides what stands there at first
  text: () => true,
  sentence: from(1),
  target: () => true,
  kind: oneOf(...Object.keys(KINDS)),
  layer: from(1),
  mode: oneOf("lines", "matrix", "overview"),
  heads: listOf(from(1)),
  mean: oneOf(true, false),
  head: from(1),
  token: from(0),
  off: listOf((one) => ALLOWED.kind(one?.kind) && from(1)(one.layer) && from(1)(one.head)),
  beam: from(1),
  alpha: (value) => typeof value === "number" && value >= 0 && value <= 2,
};

export const app = { state: { ...FIRST }, model: null, post, get, save };
const root = document.getElementById("view");
const nav = document.querySelector("nav");
let close = () => {};
let shown = null;

/** An address that is only the name of a view goes on with what is looked at; any other says all of it. */
function readAddress() {
  const [view, query] = location.hash.slice(1).split("?");
  if (query) Object.assign(app.state, FIRST);
  for (const [key, value] of new URLSearchParams(query ?? "")) {
    if (!Object.hasOwn(FIRST, key)) continue;
    try {
      const said = typeof FIRST[key] === "string" ? value : JSON.parse(value);
      if (ALLOWED[key](said)) app.state[key] = said;
    } catch { /* an address that was cut: what it does not say has its default */ }
  }
  return Object.hasOwn(VIEWS, view) ? view : shown ?? "translate"; // #view: past the navigation, to what is shown
}

/** Write the text, and what the view uses and has changed from the beginning, into the address. */
function save(change = {}) {
  Object.assign(app.state, change);
  const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const keys = USED[shown].filter((key) => key === "text" || said(app.state[key]) !== said(FIRST[key]));
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
  document.title = `${VIEWS[view]} · weft`;
  const blind = OF_ATTENTION.includes(view) && !Object.keys(kindsOf(app.model.heads)).length;
  const { open } = blind ? { open: nothingToSee } : await import(`./${view}.js`);
  if (shown !== view) return;
  close();
  root.replaceChildren();
  root.className = `view ${view}`;
  close = open(root, app) ?? (() => {});
  save();
  scrollTo(0, 0);
}

function nothingToSee(root) {
  root.append(h("p", { class: "soft" }, "This model has no attention, so there is nothing to look at here: how it searches and what it is made of can still be seen."));
}

function turnTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  dispatchEvent(new Event("theme"));
}

nav.append(...Object.entries(VIEWS).map(([view, name]) => h("a", { href: `#${view}`, "data-view": view }, name)));
document.querySelector(".theme").addEventListener("click", turnTheme);
await begin();

async function begin() {
  try {
    app.model = await get("api/model");
  } catch (error) {
    root.replaceChildren(h("p", { class: "trouble", role: "alert" }, error.message), error.status === 403 ? keyForm() : "");
    return;
  }
  app.languages = app.model.languages.map(languageName);
  document.querySelector(".model").textContent = app.model.name;
  addEventListener("hashchange", show);
  await show();
}

/** en is English, and en_US American English; what is not the tag of a language, such as l1, stays as it is. */
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
    h("label", { class: "control" }, h("span", {}, "API key"), key), h("button", { class: "button" }, "Go on"));
}
