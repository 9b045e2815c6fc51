// @ts-check
// The state as an address, and back: #/look?text=…&at=decoder.2.cross:3&q=9&off=cross.2.2&replace.10=wide&b.text=…

import { NOTHING, OF_PANE } from "weft/store.js";

/** @typedef {import("weft/store.js").State} State */

export const LONGEST = 6000; // characters of a text; a longer one is not put into the address

const from = (least) => (value) => Number.isInteger(value) && value >= least;
const isText = (value) => typeof value === "string";

/**
 * What each key of every view may be. A view adds its own as `keys: {name: {first, allowed}}`.
 * @type {Record<string, any>}
 */
export const KEYS = {
  model: { first: "", allowed: isText },
  text: { first: "", allowed: isText },
  sentence: { first: 1, allowed: from(1) },
  target: { first: "", allowed: isText },
  temperature: { first: 1, allowed: (value) => value > 0 && value <= 100 },
};
const SELECTED = { q: "query", k: "key", t: "step" };

const plain = (text) =>
  encodeURIComponent(text).replace(/%(20|2C|3A|5B|5D|7B|7D|22)/g, (code) => (code === "%20" ? "+"
    : decodeURIComponent(code)));

/** @param {any} value */
const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * The address of a state: only what differs from the defaults, and always the text.
 * @param {string} view
 * @param {State} state
 * @param {State} first
 */
export function written(view, state, first) {
  /** @type {[string, string][]} */
  const pairs = pane(state, first, true);
  const { site, unit } = state.pin;
  if (site) pairs.push(["at", unit ? `${site}:${unit}` : site]);
  for (const [name, key] of Object.entries(SELECTED)) {
    if (state.pin[key] !== null) pairs.push([name, String(state.pin[key])]);
  }
  for (const key of Object.keys(KEYS)) {
    if (!OF_PANE.includes(key) && said(state[key]) !== said(first[key])) pairs.push([key, said(state[key])]);
  }
  if (state.b) pairs.push(["b", "1"], ...pane(state.b, state, false).map(([key, value]) =>
    /** @type {[string, string]} */ ([`b.${key}`, value])));
  return `#/${view}?${pairs.map(([key, value]) => `${key}=${plain(value)}`).join("&")}`;
}

/**
 * The texts of a state that are too long for an address, by their keys in it; null where there are none.
 * @param {State} state
 * @returns {Record<string, string> | null}
 */
export function tooLong(state) {
  const texts = [["text", state.text], ["b.text", state.b?.text ?? ""]].filter(([, text]) => text.length > LONGEST);
  return texts.length ? Object.fromEntries(texts) : null;
}

/** @param {State} state @param {State} first @param {boolean} whole @returns {[string, string][]} */
function pane(state, first, whole) {
  /** @type {[string, string][]} */
  const pairs = [];
  for (const key of OF_PANE) {
    const value = state[key];
    if (value === undefined) continue;
    if (key === "off") {
      if (value.length || !whole) pairs.push([key,
        value.map((one) => `${one.kind}.${one.layer}.${one.head}`).join(",")]);
    } else if (key === "replace" || key === "force") {
      const all = Object.entries(value);
      for (const [at, token] of all) pairs.push([`${key}.${at}`, String(token)]);
      if (!whole && !all.length && Object.keys(first[key]).length) pairs.push([key, ""]);
    } else if ((whole && key === "text") || said(value) !== said(first[key])) {
      if (key !== "text" || value.length <= LONGEST) pairs.push([key, said(value)]);
    }
  }
  return pairs;
}

const parts = (hash) => hash.replace(/^#\/?/, "").split(/\?(.*)/s); // a text may have question marks, too

/** The models that an address names, of the first pane and of the second. @param {string} hash */
export function models(hash) {
  const query = new URLSearchParams(parts(hash)[1] ?? "");
  const a = query.get("model") ?? "";
  return { a, b: query.get("b.model") ?? a };
}

/**
 * What an address says: {view, state}; what it cannot mean is left out. `state` is null where it only names a view.
 * @param {string} hash
 * @param {{a: string[], b: string[]}} kinds of attention, of the model of each pane
 * @param {Record<string, string> | null} [beside] what was too long for it
 * @returns {{view: string, state: State | null}}
 */
export function read(hash, kinds, beside) {
  const [view, query] = parts(hash);
  if (!query && !beside) return { view, state: null };
  /** @type {State} */
  const state = { pin: { ...NOTHING } };
  for (const [name, value] of [...new URLSearchParams(query), ...Object.entries(beside ?? {})]) {
    if (name === "b") state.b ??= {};
    else if (name.startsWith("b.")) of(state.b ??= {}, name.slice(2), value, kinds.b);
    else if (name === "at") [state.pin.site, state.pin.unit] = at(value);
    else if (Object.hasOwn(SELECTED, name)) state.pin[/** @type {any} */ (SELECTED)[name]] = /^\d+$/.test(value)
      ? Number(value) : null;
    else of(state, name, value, kinds.a);
  }
  return { view, state };
}

/** @param {string} value @returns {[string, number | null]} */
function at(value) {
  const [site, unit] = value.split(":");
  return [site, /^[1-9]\d*$/.test(unit ?? "") ? Number(unit) : null];
}

/**
 * Take one part of an address into a state.
 * @param {State} state
 * @param {string} name
 * @param {string} value
 * @param {string[]} kinds
 */
function of(state, name, value, kinds) {
  const [key, index] = name.split(".");
  if (key === "off") {
    const heads = value.split(",").filter(Boolean).map((one) => one.split("."));
    state.off = heads.filter(([kind, ...numbers]) => kinds.includes(kind) && numbers.length === 2
      && numbers.every((n) => /^[1-9]\d*$/.test(n)))
      .map(([kind, layer, head]) => ({ kind, layer: Number(layer), head: Number(head) }));
  } else if ((key === "replace" || key === "force") && /^\d+$/.test(index ?? "")) {
    state[key] = { ...state[key], [index]: value };
  } else if (name === "replace" || name === "force") {
    if (!value) state[key] = {};
  } else if (Object.hasOwn(KEYS, name)) {
    try {
      const meant = typeof KEYS[name].first === "string" ? value : JSON.parse(value);
      if (KEYS[name].allowed(meant)) state[name] = meant;
    } catch { /* a truncated address: the rest has its default */ }
  }
}
