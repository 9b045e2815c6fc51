// @ts-check
// Look: attention of every kind, layer and head.

import { define } from "weft/element.js";
import { html, nothing } from "weft/element.js";
import { LOOK_KEYS, Looking } from "weft/look.js";
import { assumed, quoted, weights } from "weft/view.js";
import { aligned, percent } from "weft/words.js";
import { asking } from "../view.js";

const LEAST = 5e-5; // changes below are zeros with four digits

class Look extends asking(Looking) {
  constructor() {
    super();
    this.maps = this.ask(() => {
      const { kind, layer } = this.site;
      return this.mode === "grid" ? null : ["api/attention", { kind, layer }];
    }, { binary: true });
    this.pictures = this.ask(() => (this.mode === "grid" ? ["api/overview", { kind: this.site.kind }] : null),
      { binary: true });
  }

  get seen() {
    return maps(this.maps.data);
  }

  get overview() {
    return pictures(this.pictures.data);
  }

  /** One sentence of the text, where the model reads one. */
  get read() {
    return (this.mode === "grid" ? this.pictures : this.maps).text || this.state.text;
  }

  get given() { return this.state.target.trim(); }

  get command() {
    const { site, heads, mode, seen, selection: { query } } = this;
    const head = heads.length === 1 && site.units > 1 ? ` --head ${heads[0]}` : "";
    const isOne = query !== null && query < (seen?.queries.length ?? 0);
    const lines = `${isOne ? `--query ${query + 1} ` : ""}--lines`;
    const one = `--layer ${site.layer}${head} ${mode === "matrix" ? "--map" : lines}`;
    return this.attends(`--kind ${site.kind} ${mode === "grid" ? "--grid" : one} attention.svg`);
  }
}

/** @param {any} data */
const maps = (data) => data && { queries: data.queries, keys: data.keys, maps: cut(data)[0] };
/** @param {any} data */
const pictures = (data) => data && { queries: data.queries, keys: data.keys, pictures: cut(data, true) };

/**
 * Numbers in one row as [layer][head][query][key], or as [layer][head] where `flat`.
 * @param {{shape: number[], numbers: any}} answer
 */
function cut({ shape: [layers, heads, queries, keys], numbers }, flat = false) {
  const piece = (from, length) => numbers.subarray(from, from + length);
  return Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (__, head) => {
    const from = (layer * heads + head) * queries * keys;
    return flat ? piece(from, queries * keys) : Array.from({ length: queries }, (___, query) => piece(from +
      query * keys, keys));
  }));
}

/** What is other in B than in A: differences of weights over the tokens of both. */
class Difference extends Look {
  static properties = { modelB: { attribute: false } };

  constructor() {
    super();
    this.modelB = null;
    /** @type {any} what was last computed, and of which answers */ this.from = null;
    /** @type {any[]} */ this.rows = [];
    /** @type {any[]} */ this.columns = [];
    const [one, all] = this.questions;
    this.mapsB = this.ask(one.make, { binary: true, pane: "b" });
    this.picturesB = this.ask(all.make, { binary: true, pane: "b" });
  }

  get isSigned() {
    return this.mode !== "grid";
  }

  titled() {
    return `What changed, ${this.which}`;
  }

  /** The tokens of A and B beside each other. @param {any} a @param {any} b */
  axes(a, b) {
    const key = JSON.stringify([a.queries, b.queries, a.keys, b.keys]);
    if (this.known !== key) Object.assign(this, { known: key, rows: aligned(a.queries, b.queries),
      columns: aligned(a.keys, b.keys) });
    return { rows: this.rows, columns: this.columns };
  }

  get seen() {
    const [a, b] = [maps(this.maps.data), maps(this.mapsB.data)];
    if (!a || !b) return null;
    if (this.from?.a === this.maps.data && this.from?.b === this.mapsB.data) return this.from.seen;
    const { rows, columns } = this.axes(a, b);
    const at = (map, query, key) => (query === null || key === null ? 0 : map[query][key]);
    const seen = {
      queries: rows.map(({ token }) => token), keys: columns.map(({ token }) => token),
      maps: a.maps.slice(0, b.maps.length).map((map, head) => rows.map((row) => Float64Array.from(columns,
        (column) => at(b.maps[head], row.b, column.b) - at(map, row.a, column.a)))),
    };
    this.from = { a: this.maps.data, b: this.mapsB.data, seen };
    return seen;
  }

  /** Where the selected tokens are among those of both; and back. */
  get selection() {
    const selection = super.selection;
    if (!this.seen) return selection;
    const among = (axis, at) => (at === null ? null : axis.findIndex(({ a }) => a === at));
    const found = (at) => (at === -1 ? null : at);
    return { ...selection, query: found(among(this.rows, selection.query)), key: found(among(this.columns,
      selection.key)) };
  }

  /** @param {any} detail */
  meant(detail) {
    const of = (place) => place?.a ?? place?.b ?? null;
    if (!detail || !("query" in detail)) return detail;
    return { ...detail, query: detail.query === null ? null : of(this.rows[detail.query]), key: detail.key === null
      ? null : of(this.columns[detail.key]) };
  }

  /** No command draws a difference. */
  get command() { return ""; }

  /** Both models and texts. */
  made() {
    const [a, b] = /** @type {const} */ (["a", "b"]).map((pane) => {
      const state = this.store.of(pane);
      const model = pane === "a" ? this.model : this.modelB ?? this.model;
      const question = this.mode === "grid" ? (pane === "a" ? this.pictures : this.picturesB)
        : pane === "a" ? this.maps : this.mapsB;
      const target = state.target.trim() ? `→ ${quoted(state.target)}` : "";
      const reads = [quoted(question.text || state.text), target].filter(Boolean).join(" ");
      return { of: weights(model), says: [reads, ...assumed(state, model.kinds, this.stood(pane))].join("; ") };
    });
    return [...(a.of === b.of ? [a.of, `A: ${a.says}`, `B: ${b.says}`] : [`A: ${a.of}, ${a.says}`,
      `B: ${b.of}, ${b.says}`]), ...this.left].join(" · ");
  }

  /** The largest change of a weight that is drawn. */
  get largest() {
    return this.mode === "grid" ? 0 : largest(this.drawn, this.mode === "matrix" ? {} : this.selection);
  }

  get most() {
    return this.largest || 1;
  }

  get scale() {
    if (!this.largest) return html`<span class="scale">Nothing changed here.</span>`;
    return html`<span class="scale signed"><span>less</span><i></i><span>more in B,</span><span>largest change
      ${Number(this.largest.toPrecision(2))}</span></span>`;
  }

  get legend() {
    if (this.mode === "grid") return { from: "0 %", to: "100 %" };
    const { largest: most } = this;
    return most ? { signed: true, from: "less", to: "more in B",
      said: `largest change ${Number(most.toPrecision(2))}` } : null;
  }

  empty(drawn) {
    return largest(drawn, {}) ? "" : "Nothing changed here.";
  }

  draw() {
    return this.mode === "grid" ? this.#moved() : super.draw();
  }

  /** Of each head the share of attention that goes elsewhere in B. */
  #moved() {
    const [a, b] = [this.overview, pictures(this.picturesB.data)];
    if (!a || !b) return nothing;
    const { rows, columns } = this.axes(a, b);
    const both = rows.filter((row) => row.a !== null && row.b !== null);
    const moved = (one, other) => both.reduce((sum, row) => sum + columns.reduce((part, column) => {
      const before = column.a === null ? 0 : one[row.a * a.keys.length + column.a];
      const after = column.b === null ? 0 : other[row.b * b.keys.length + column.b];
      return part + Math.abs(after - before);
    }, 0), 0) / (2 * 255 * Math.max(1, both.length));
    const cells = a.pictures.map((heads, layer) => ({ label: `layer ${layer + 1}`, cells: heads.map((one, head) => {
      const value = moved(one, b.pictures[layer]?.[head] ?? one);
      return { name: `layer ${layer + 1}, head ${head + 1}: ${percent(value)} of its attention is elsewhere in B`,
        value, text: percent(value) };
    }) }));
    return html`<w-figure label="Share of attention that is elsewhere in B" .caption=${() => this.made()}
      .legend=${this.legend}><w-grid
      .rows=${cells} .columns=${a.pictures[0].map((_, head) => `${head + 1}`)} name="layers and heads"
      @w-pick=${(/** @type {CustomEvent} */ { detail }) => this.go(this.layers[detail.row], detail.column + 1,
        { mode: "lines", heads: null, mean: false })}></w-grid></w-figure>`;
  }
}

/**
 * The largest change; 0 where no number that is shown would change.
 * @param {{layers: {map: ArrayLike<number>[]}[]} | null} drawn
 * @param {{query?: number | null, key?: number | null}} selection
 */
function largest(drawn, { query = null, key = null }) {
  let most = 0;
  for (const { map } of drawn?.layers ?? []) {
    for (const row of query === null ? map : [map[query]]) {
      const seen = query === null && key !== null ? [row[key]] : Array.from(row);
      most = seen.reduce((so, weight) => Math.max(so, Math.abs(weight)), most);
    }
  }
  return most < LEAST ? 0 : most;
}

define("v-look", Look);
define("v-look-difference", Difference);
export const look = { name: "look", label: "Look", needs: ["attention"], tag: "v-look", difference: "v-look-difference",
  keys: LOOK_KEYS };
