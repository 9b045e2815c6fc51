// @ts-check
// A saved file: attention over numbers embedded in the page.

import { define } from "weft/element.js";
import { LOOK_KEYS, Looking } from "weft/look.js";
import { NOTHING, Store } from "weft/store.js";
import { fixed } from "weft/words.js";

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("attention")).textContent ?? "");

class Saved extends Looking {
  constructor() {
    super();
    /** @type {Record<string, Uint8Array[][]>} */ this.pictures = {};
  }

  get read() { return data.text; }

  get seen() {
    const { kind, layer } = this.site;
    const [queries, keys] = data.axes[kind];
    return { queries, keys, maps: data.attention[kind].maps[layer - 1] };
  }

  get overview() {
    const { kind } = this.site;
    const [queries, keys] = data.axes[kind];
    const bytes = (map) => Uint8Array.from(map.flat(), (weight) => Math.round(weight * 255));
    this.pictures[kind] ??= data.attention[kind].maps.map((layer) => layer.map(bytes));
    return { queries, keys, pictures: this.pictures[kind] };
  }
}

/** @param {string} tag @param {string} text @param {string} [name] */
function paragraph(tag, text, name = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className: name, dir: "auto" });
}

define("v-saved", Saved);
const sites = data.kinds.flatMap((/** @type {any} */ { name: kind, label, queries, keys }) =>
  data.attention[kind].maps.map((heads, i) =>
  ({ id: `${kind}.${i + 1}`, what: "attention", kind, layer: i + 1, units: heads.length, queries, keys,
    label: `${label}, layer ${i + 1}` })));
const of = sites.filter((/** @type {any} */ { kind }) => kind === data.kind);
const shown = of.find((/** @type {any} */ { layer }) => layer === data.layer) ?? of.at(-1);
const store = new Store({ ...Object.fromEntries(Object.entries(LOOK_KEYS).map(([key, { first }]) => [key, first])),
  pin: { ...NOTHING, site: shown.id } });
const model = { name: data.model, hash: data.hash || undefined, kinds: data.kinds, sites };
/** @type {HTMLElement} */ (document.querySelector("header")).append(
  paragraph("h1", data.text), paragraph("p", data.translation), paragraph("p", `${data.model}, score ${fixed(data.score,
    3)}`, "soft"));
/** @type {HTMLElement} */ (document.querySelector("main")).append(Object.assign(document.createElement("v-saved"),
  { store, model }));
addEventListener("keydown", (event) => { if (event.key === "Escape") store.unpin(); });
