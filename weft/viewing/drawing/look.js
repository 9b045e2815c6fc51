// @ts-check
// Attention of any site: lines, arcs over the text, a matrix, or all layers and heads at once.

import { COLOURS, headColour } from "weft/colours.js";
import { menu, numbers, pressing, segmented, slider } from "weft/controls.js";
import { classMap, html, nothing, styleMap } from "weft/element.js";
import { counted, isEnd, label, labels, signed } from "weft/words.js";
import { View } from "weft/view.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/grid.js";
import "weft/lines.js";
import "weft/matrix.js";

const SHARES = 8; // bars in the inspector
const SPOKEN = 3; // of them said aloud
const MANY = 45; // tokens that need the whole width

/** @typedef {{queries: string[], keys: string[], maps: ArrayLike<number>[][]}} Seen maps[head][query][key] */

/** What Look keeps in the state: for a view of the page and for a saved file. */
export const LOOK_KEYS = {
  mode: { first: "lines", allowed: (value) => ["lines", "arcs", "matrix", "grid"].includes(value) },
  heads: { first: null, allowed: (value) => Array.isArray(value) && value.every((one) => Number.isInteger(one)
    && one > 0) },
  mean: { first: false, allowed: (value) => typeof value === "boolean" },
  share: { first: 1, allowed: (value) => value >= 0.05 && value <= 1 },
  ends: { first: true, allowed: (value) => typeof value === "boolean" },
  whole: { first: false, allowed: (value) => typeof value === "boolean" },
};

/** @param {ArrayLike<number>[][]} maps @returns {Float64Array[]} */
export function mean(maps) {
  return maps[0].map((row, query) => Float64Array.from(row, (_, key) => maps.reduce((sum, map) => sum + map[query][key],
    0) / maps.length));
}

/**
 * Of each query only the largest weights, which together make this share; the others are 0.
 * @param {ArrayLike<number>[]} map
 * @param {number} share
 */
export function strongest(map, share) {
  return map.map((row) => {
    const order = Array.from(row, (_, key) => key).sort((a, b) => Math.abs(row[b]) - Math.abs(row[a]));
    const kept = new Float64Array(row.length);
    const all = order.reduce((sum, key) => sum + Math.abs(row[key]), 0);
    for (let i = 0, sum = 0; i < order.length && sum < share * all; i++) {
      kept[order[i]] = row[order[i]];
      sum += Math.abs(row[order[i]]);
    }
    return kept;
  });
}

/** Attention, from a source that a class below this one has: `seen` and `overview`. */
export class Looking extends View {
  /** Whether the weights are differences, which have a sign. */
  get isSigned() { return false; }
  /** The weights of the site. @returns {Seen | null} */
  get seen() { return null; }
  /**
   * All heads of the kind, one byte a weight.
   * @returns {{queries: string[], keys: string[], pictures: Uint8Array[][]} | null}
   */
  get overview() { return null; }
  /** `weft attend …` @returns {string} */
  get command() { return ""; }

  get kinds() {
    return [...new Set(this.sites.map(({ kind }) => kind))];
  }

  /** The sites of the kind that is shown. */
  get layers() {
    return this.sites.filter(({ kind }) => kind === this.site.kind);
  }

  /** @param {string} kind @returns {any} */
  kind(kind) {
    return this.model.kinds.find((/** @type {any} */ { name }) => name === kind);
  }

  /** The heads that are shown, from 1. @returns {number[]} */
  get heads() {
    const all = Array.from({ length: this.site.units }, (_, i) => i + 1);
    if (this.unit) return [this.unit];
    const chosen = all.filter((head) => this.state.heads?.includes(head));
    return chosen.length ? chosen : all;
  }

  /** Up to eight heads differ by colour; of more, those that are shown. @param {number} head from 1 */
  colour(head) {
    const { heads, site } = this;
    if (site.units <= COLOURS) return headColour(head - 1);
    return heads.length <= COLOURS && heads.includes(head) ? headColour(heads.indexOf(head)) : "var(--soft)";
  }

  /** Lines over one text, where queries and keys are the same tokens. */
  get hasArcs() {
    return this.site.queries === this.site.keys || this.isShifted;
  }

  /** Whether each query is the token after the last key that it sees. */
  get isShifted() {
    return this.site.queries === "target" && this.site.keys === "shifted";
  }

  get mode() {
    const { mode } = this.state;
    return mode === "arcs" && !this.hasArcs ? "lines" : mode;
  }

  #show(heads) {
    const all = heads.length === 0 || heads.length === this.site.units;
    this.go(this.site, heads.length === 1 && this.site.units > 1 ? heads[0] : null, { heads: all || heads.length === 1
      ? null : heads });
  }

  #toggle(head) {
    const shown = this.heads;
    const on = shown.includes(head);
    if (on && shown.length === 1) return this.#show([]); // the last one: all again
    return this.#show(on ? shown.filter((other) => other !== head) : [...shown, head]);
  }

  controls() {
    const { mode, site, kinds, layers } = this;
    const { share, ends, whole } = this.state;
    const one = mode !== "grid";
    return html`
      ${kinds.length > 1 ? segmented("attention", Object.fromEntries(kinds.map((kind) => [kind,
        this.kind(kind).label])), site.kind, (kind) => {
        const to = this.sites.filter((other) => other.kind === kind);
        this.go(to[Math.min(site.layer, to.length) - 1] ?? to[0], null, { heads: null });
      }) : nothing}
      ${segmented("drawn as", { lines: "Lines", ...(this.hasArcs ? { arcs: "Arcs" } : {}), matrix: "Matrix",
        grid: "All heads" }, mode, (next) => this.change({ mode: next }))}
      ${one && layers.length > 1 ? html`<label class="control"><span>Layer</span>${menu("layer", numbers(layers.length),
        site.layer, (layer) => this.go(layers[Number(layer) - 1], this.unit))}</label>` : nothing}
      ${one && site.units > 1 ? this.#chips() : nothing}
      ${one && mode !== "matrix" ? slider("Strongest", share, { min: 0.05, max: 1, step: 0.05 }, share === 1 ? "all"
        : `${Math.round(share * 100)} %`, (value) => this.change({ share: value }, { typing: true })) : nothing}
      ${one && this.hasEnds ? pressing("Ends", ends, () => this.change({ ends: !ends }),
        "Show what begins and ends a text: (start) and (end)") : nothing}
      ${mode === "matrix" ? pressing("Whole", whole, () => this.change({ whole: !whole }),
        "All cells at once, however small") : nothing}`;
  }

  get hasEnds() {
    return this.seen?.keys.some(isEnd) || this.seen?.queries.some(isEnd);
  }

  #chips() {
    const shown = this.heads;
    const { units } = this.site;
    return html`<div class="control" role="group" aria-label="Heads"><span>${units === 1 ? "Head" : "Heads"}</span>
      <div class="chips" @keydown=${roving}>${Array.from({ length: units }, (_, i) => html`<button
        class=${classMap({ chip: true, small: units > 8 })} type="button"
        aria-label=${`head ${i + 1}`} aria-pressed=${shown.includes(i + 1)} tabindex=${i + 1 === shown[0] ? 0 : -1}
          title="Click: show or hide. Double-click: only this head."
        style=${styleMap({ "--colour": this.colour(i + 1) })} @click=${() => this.#toggle(i + 1)}
          @dblclick=${() => this.#show([i + 1])}>${i + 1}</button>`)}</div>
      <button class="button" type="button" aria-label="all heads" @click=${() => this.#show([])}>All</button>
      ${pressing("Mean", this.state.mean, () => this.change({ mean: !this.state.mean }),
        "One map: the mean of the heads")}</div>`;
  }

  /**
   * What is drawn: {queries, keys, layers: [{map, colour, name}], rows and columns: where the tokens are in what was
   * seen}.
   */
  get drawn() {
    const { seen, heads } = this;
    if (!seen?.maps[0]) return null;
    const { mean: averaged, share, ends } = this.state;
    const own = heads.filter((head) => seen.maps[head - 1]);
    const maps = own.map((head) => seen.maps[head - 1]);
    let layers = averaged || this.mode === "matrix" ? [{ map: mean(maps), colour: "var(--accent)", name: "mean" }]
      : maps.map((map, i) => ({ map, colour: this.colour(own[i]), name: `head ${own[i]}` }));
    if (share < 1 && this.mode !== "matrix") layers = layers.map((layer) => ({ ...layer, map: strongest(layer.map,
      share) }));
    if (!ends) {
      const hidden = (token) => isEnd(token);
      layers = layers.map((layer) => ({ ...layer, map: layer.map.map((row, query) =>
        Float64Array.from(row, (weight, key) => (hidden(seen.keys[key]) || hidden(seen.queries[query]) ? 0
          : weight))) }));
    }
    return { queries: seen.queries, keys: seen.keys, layers };
  }

  /** What is not drawn, in words: `weft attend` draws it all. @returns {string[]} */
  get left() {
    if (this.mode === "grid") return [];
    const { share, ends, mean: averaged } = this.state;
    const { heads, mode, site, seen, selection: { query, key } } = this;
    const isPart = heads.length > 1 && heads.length < site.units;
    return [
      ...(share < 1 && mode !== "matrix" ? [`the strongest ${Math.round(share * 100)} % of each row`] : []),
      ...(!ends && this.hasEnds ? ["without (start) and (end)"] : []),
      ...(isPart ? [`heads ${heads.join(", ")}`] : []),
      ...(averaged && mode !== "matrix" && heads.length > 1 ? ["mean of the heads"] : []),
      ...(seen && mode !== "matrix" && query === null && key !== null && key < seen.keys.length
        ? [`what looks at ${label(seen.keys[key])}`] : []),
    ];
  }

  /** What the colours of a saved figure mean. @returns {import("weft/saving.js").Legend | null} */
  get legend() {
    return this.mode === "matrix" || this.mode === "grid" ? { from: "0", to: "1" } : null;
  }

  /** The layer and heads that are shown, in words. */
  get which() {
    const { site, heads } = this;
    if (this.layers.length === 1 && site.units === 1) return "the only head";
    const layer = `layer ${site.layer}`;
    if (site.units === 1) return layer;
    if (heads.length === 1) return `${layer}, head ${heads[0]}`;
    const several = heads.length === site.units ? counted(heads.length, "head") : `heads ${heads.join(", ")}`;
    return `${layer}, ${this.state.mean || this.mode === "matrix" ? "mean of " : ""}${several}`;
  }

  /** What is said instead of drawing nothing. @param {any} drawn @returns {string} */
  empty(drawn) {
    return drawn.queries.length ? "" : "There is nothing to draw.";
  }

  /** The title of a figure. @param {string} title */
  titled(title) {
    return title;
  }

  draw() {
    const kind = this.kind(this.site.kind);
    const command = this.assumed.length || this.left.length ? "" : this.command;
    const isArcs = this.mode === "arcs"; // no command draws them
    // what stood in place of a word is known later
    const caption = () => this.made(command && isArcs ? `as lines: ${command}` : command, ...this.left);
    const shared = { caption, command: isArcs ? "" : command };
    if (this.mode === "grid") return this.#grid(kind, shared);
    const { drawn } = this;
    if (!drawn) return nothing;
    const missing = this.empty(drawn);
    const title = this.titled(`${named(kind)}, ${this.which}`);
    const { query, key } = this.selection;
    const within = (at, tokens) => (at !== null && at < tokens.length ? at : null);
    const selected = { query: within(query, drawn.queries), key: within(key, drawn.keys) };
    const drawing = missing ? html`<p class="empty">${missing}</p>` : this.mode === "matrix"
      ? html`<w-matrix .queries=${drawn.queries} .keys=${drawn.keys} .map=${drawn.layers[0].map} .selected=${selected}
          .whole=${this.state.whole} .most=${this.most} ?signed=${this.isSigned} name=${title}></w-matrix>`
      : html`<w-lines .queries=${drawn.queries} .keys=${drawn.keys} .layers=${drawn.layers} .selected=${selected}
      ?arcs=${this.mode === "arcs"} .shift=${this.isShifted ? 1 : 0} .most=${this.most} ?signed=${this.isSigned}
          .titles=${[kind.query_title, kind.key_title]}></w-lines>`;
    return html`<w-figure label=${title} .note=${missing ? nothing : this.isSigned ? this.scale
      : this.isWide ? this.spoken() : nothing}
      .caption=${shared.caption}
      .command=${shared.command} .legend=${this.legend}
      .csv=${() => csv(drawn)}>${drawing}</w-figure>`;
  }

  #grid(kind, { caption, command }) {
    const found = this.overview;
    if (!found) return nothing;
    const { site, unit } = this;
    const rows = found.pictures.map((heads, layer) => ({
      label: `layer ${layer + 1}`,
      cells: heads.map((picture, head) => ({ name: `layer ${layer + 1}, head ${head + 1}`, picture,
        chosen: site.layer === layer + 1 && unit === head + 1 })),
    }));
    const most = Math.max(...found.pictures.map((heads) => heads.length));
    return html`<w-figure label=${`${named(kind)}, all layers and heads`} .caption=${caption} .command=${command}
      .legend=${this.legend}>
      <w-grid .rows=${rows} .columns=${numbers(most).map(([n]) => (most <= 12 ? `head ${n}` : most <= 16 || n === 1
        || n % 4 === 0 ? `${n}` : ""))} .axes=${{ queries: found.queries, keys: found.keys }}
        name="layers and heads; Enter opens one" @w-pick=${(/** @type {CustomEvent} */ { detail }) =>
          this.go(this.layers[detail.row], detail.column + 1, { mode: "matrix", heads: null,
            mean: false })}></w-grid></w-figure>`;
  }

  /** What a query attends to, or which queries attend to a key, strongest first; null if nothing is selected. */
  get shares() {
    const { seen, heads } = this;
    let { query, key } = this.selection;
    if (!seen?.maps[0] || this.mode === "grid") return null;
    if (query !== null && query >= seen.queries.length) query = null;
    if (key !== null && key >= seen.keys.length) key = null;
    if (query === null && key === null) return null;
    const isQuery = query !== null;
    const [own, others] = isQuery ? [seen.queries, seen.keys] : [seen.keys, seen.queries];
    const averaged = this.state.mean || this.mode === "matrix" || this.isSigned;
    const maps = heads.map((head) => seen.maps[head - 1]).filter(Boolean);
    const weight = (map, other) => (isQuery ? map[/** @type {number} */ (query)][other]
      : map[other][/** @type {number} */ (key)]);
    const names = labels(others);
    const all = others.map((_, other) => {
      const parts = maps.map((map, n) => ({ value: weight(map, other) / maps.length, colour: averaged ? "var(--accent)"
        : this.colour(heads[n]) }));
      if (this.isSigned) parts.splice(0, maps.length, signedPart(parts));
      return { other, label: names[other], parts, value: parts.reduce((sum, part) => sum + part.value, 0),
        chosen: isQuery && other === key };
    });
    const most = [...all].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, SHARES);
    const chosen = all.find((one) => one.chosen);
    if (chosen && !most.includes(chosen)) most.push(chosen);
    return { name: label(own[/** @type {number} */ (isQuery ? query : key)]), says: isQuery ? "attends to"
      : "is attended to by", most };
  }

  /** Many tokens need the whole width, until one of them is kept selected. */
  get isWide() {
    const { pin } = this.store.state;
    return (this.seen?.keys.length ?? 0) > MANY && pin.query === null && pin.key === null;
  }

  /** The weight of the darkest cell, or of the heaviest line. */
  get most() { return 1; }

  /** What the colours mean. @returns {any} */
  get scale() {
    if (this.mode !== "matrix") return nothing;
    return html`<p class="scale"><span>0</span><i></i><span>1</span></p><p class="soft">Each row sums to 1.</p>`;
  }

  inspector() {
    if (this.mode === "grid" || this.isWide) return nothing;
    const { shares } = this;
    if (!shares) {
      const why = this.best ? html`<p class="soft">This head matters most, by ${this.model.heads_ranked.by}.</p>`
        : nothing;
      return html`<p class="caption">Point at a token to follow it; a click keeps it.</p>${this.isSigned ? nothing
        : this.scale}${why}`;
    }
    return html`<p class="caption"><b>${shares.name}</b> ${shares.says}</p>
      <w-bars .rows=${shares.most.map((row) => ({ ...row, number: this.isSigned ? signed(row.value, 4)
        : row.value.toFixed(4) }))} .most=${this.isSigned ? this.most : 1}
        name=${`${shares.name} ${shares.says}`}></w-bars>`;
  }

  spoken() {
    const { shares } = this;
    if (!shares) return "";
    const chosen = shares.most.filter(({ chosen: is }) => is);
    const said = [...chosen, ...shares.most.filter(({ chosen: is }) => !is).slice(0, SPOKEN)];
    return `${shares.name} ${shares.says} ${said.map(({ label: name, value }) =>
      `${name} ${value.toFixed(2)}`).join(", ")}`;
  }
}

/** Encoder attention, Self-attention. @param {{label: string}} kind */
const named = ({ label: name }) => (name.endsWith("attention") ? name : `${name} attention`);

/** The sum of differences as one bar. @param {{value: number}[]} parts */
function signedPart(parts) {
  const value = parts.reduce((sum, part) => sum + part.value, 0);
  return { value, colour: `var(--diverging-${value > 0 ? 4 : 0})` };
}

/**
 * The weights as a table.
 * @param {{queries: string[], keys: string[], layers: {map: ArrayLike<number>[], name: string}[]}} drawn
 */
function csv({ queries, keys, layers }) {
  const rows = layers.flatMap(({ map, name }) => queries.flatMap((query, q) => keys.map((key, k) => [name, q, query, k,
    key, Number(map[q][k].toFixed(6))])));
  return [["head", "query", "query token", "key", "key token", "weight"], ...rows];
}

/** Arrow keys within a group of buttons, which is one tab stop. @param {KeyboardEvent} event */
export function roving(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const group = /** @type {HTMLElement} */ (event.currentTarget);
  const buttons = [...group.querySelectorAll("button")];
  buttons[Math.max(0, Math.min(buttons.length - 1, buttons.indexOf(/** @type {any} */ (event.target)) +
    step))]?.focus();
}
