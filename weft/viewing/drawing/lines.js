// @ts-check
// Attention as lines: queries on one side, keys on the other, and a curve for each weight, in the colour of its head.
// Where queries and keys are the same tokens, also as arcs over one line of text.

import { rgb } from "weft/colours.js";
import { Element, classMap, define, hasCome, html, moved, nothing, styleMap, svg } from "weft/element.js";
import { labels } from "weft/words.js";

const FAINTEST = 0.015; // fainter curves are invisible, and there are thousands of them
const LEAST_DIFFERENCE = 0.05; // of the largest change: smaller ones are not drawn
const MARKS = 3000; // more are drawn on a canvas
const SMALLEST = 9; // pixels of type over which there are arcs; what does not fit scrolls
const LEAST = 12; // pixels of a row
const WIDEST = { units: 0.5, share: 0.4 }; // of a line of weight 1, and of the room of a token: as wide as the weight
const [FAINT, CLEAR] = [0.15, 0.6]; // opacity of the thinnest lines: of all, and of those of the chosen token

/** @typedef {{map: ArrayLike<number>[], colour: string, name?: string}} Layer map[query][key] is a weight */
/** @typedef {{d: string, colour: string, weight: number}} Mark */

export class Lines extends Element {
  static measured = true;
  static properties = {
    queries: { attribute: false }, // tokens
    keys: { attribute: false },
    layers: { attribute: false },
    titles: { attribute: false }, // of the two columns
    selected: { attribute: false }, // {query, key}; null: none
    most: { type: Number }, // the weight of the heaviest line
    signed: { type: Boolean }, // differences: blue more, orange less
    arcs: { type: Boolean },
    shift: { type: Number }, // of arcs: how many tokens of the line stand before the first query
    between: { state: true }, // the width between the columns
  };

  constructor() {
    super();
    /** @type {string[]} */ this.queries = [];
    /** @type {string[]} */ this.keys = [];
    /** @type {Layer[]} */ this.layers = [];
    /** @type {string[]} */ this.titles = ["", ""];
    /** @type {{query: number | null, key: number | null}} */ this.selected = { query: null, key: null };
    this.most = 1;
    this.signed = false;
    this.arcs = false;
    this.shift = 0;
    this.between = 0;
    this.widest = 0; // pixels of a line of weight 1
    this.observer = new ResizeObserver(([{ contentRect }]) => { this.between = Math.round(contentRect.width); });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.observer.disconnect();
  }

  /** The mean over heads. @param {number} query @param {number} key */
  weight(query, key) {
    return this.layers.reduce((sum, { map }) => sum + (map[query]?.[key] ?? 0), 0) / Math.max(1, this.layers.length);
  }

  /** The curves that are seen: those of the chosen token, else all. @returns {Mark[]} */
  marks(path) {
    const { query: onlyQuery, key: onlyKey } = this.selected;
    const marks = [];
    for (const [n, { map, colour }] of this.layers.entries()) {
      // those that agree lie side by side
      const shift = (n - (this.layers.length - 1) / 2) * Math.min(this.em * 0.2, 12 / this.layers.length);
      for (let query = onlyQuery ?? 0; query < (onlyQuery === null ? this.queries.length : onlyQuery + 1); query++) {
        const end = onlyKey === null || onlyQuery !== null ? this.keys.length : onlyKey + 1;
        for (let key = onlyKey === null || onlyQuery !== null ? 0 : onlyKey; key < end; key++) {
          const weight = map[query]?.[key] ?? 0;
          if (!this.#isSeen(weight)) continue;
          const tint = this.signed ? `var(--diverging-${weight > 0 ? 4 : 0})` : colour;
          marks.push({ d: path(query, key, shift), colour: tint, weight: Math.min(1, Math.abs(weight) / this.most) });
        }
      }
    }
    return marks;
  }

  /** Whether a weight has a line. @param {number} weight */
  #isSeen(weight) {
    return Math.abs(weight) >= (this.signed ? LEAST_DIFFERENCE * this.most : FAINTEST);
  }

  render() {
    return this.arcs ? this.#arcs() : this.#columns();
  }

  #columns() {
    const unit = this.em;
    const most = Math.max(this.queries.length, this.keys.length, 1);
    const pitch = Math.max(LEAST, Math.min(unit * 3, (this.room.height - unit * 1.7) / most));
    const height = pitch * most;
    this.widest = Math.min(unit * WIDEST.units, pitch * WIDEST.share);
    const rows = [height / Math.max(1, this.queries.length), height / Math.max(1, this.keys.length)];
    const end = this.between - 1;
    const marks = this.between < 20 ? [] : this.marks((query, key, shift) => {
      const [from, to] = [(query + 0.5) * rows[0] + shift, (key + 0.5) * rows[1] + shift].map((y) => y.toFixed(1));
      return `M1 ${from}C${(end * 0.4).toFixed(1)} ${from} ${(end * 0.6).toFixed(1)} ${to} ${end} ${to}`;
    });
    return html`<div class="lines"
      style=${styleMap({ "--type": `${Math.min(pitch * 0.82, unit * 0.55 + pitch * 0.3).toFixed(1)}px` })}>
      <b class="title end">${this.titles[0]}</b><b></b><b></b><b class="title">${this.titles[1]}</b>
      ${this.#column(0, this.queries, rows[0])}
      <div class="between" style=${styleMap({ height: `${height}px` })}>${this.#drawn(marks, this.between,
        height)}</div>
      ${this.#strip(rows[1], height, unit)}
      ${this.#column(1, this.keys, rows[1])}
    </div>`;
  }

  #drawn(marks, width, height) {
    if (marks.length > MARKS) return html`<canvas aria-hidden="true" .marks=${{ marks, width, height }}></canvas>`;
    return html`<svg aria-hidden="true" width=${width} height=${height} fill="none">
      ${marks.map(({ d, colour, weight }) => svg`<path d=${d} stroke=${colour} stroke-width=${this.#wide(weight)}
        stroke-opacity=${this.#opaque(weight)} />`)}
    </svg>`;
  }

  /** @param {number} weight */
  #wide(weight) {
    return (this.widest * weight).toFixed(2);
  }

  /** Thin lines are faint where there are many. @param {number} weight */
  #opaque(weight) {
    const { query, key } = this.selected;
    const least = query === null && key === null ? FAINT : CLEAR;
    return (least + (1 - least) * weight).toFixed(3);
  }

  /** Beside each key a bar for each head: how much of it the chosen query gives this key. */
  #strip(row, height, unit) {
    const count = this.layers.length;
    if (count < 2 || count > 16) return html`<span></span>`;
    const wide = Math.max(3, Math.min(unit * 0.6, (unit * 4) / count));
    const { query } = this.selected;
    const cells = query === null ? [] : this.layers.flatMap(({ map, colour }, n) =>
      this.keys.map((_, key) => ({ n, key, weight: this.signed ? Math.abs(map[query]?.[key] ?? 0) / this.most
        : map[query]?.[key] ?? 0, colour: this.signed ? `var(--diverging-${map[query]?.[key] > 0 ? 4 : 0})`
        : colour }))).filter(({ weight }) => weight >= FAINTEST);
    return html`<svg class="shares" aria-hidden="true" width=${count * wide + 2}
      height=${height}>${cells.map(({ n, key, weight, colour }) =>
      svg`<rect x=${n * wide} y=${((key + 0.12) * row).toFixed(1)} width=${(wide - 1).toFixed(1)}
        height=${(row * 0.76).toFixed(1)}
        fill=${colour} fill-opacity=${(FAINT + (1 - FAINT) * weight).toFixed(3)} />`)}</svg>`;
  }

  #column(side, tokens, row) {
    const { query, key } = this.selected;
    const [own, other] = side === 0 ? [query, key] : [key, query];
    const select = (at) => this.#selection(side, at);
    const weight = (at) => (other === null || (own !== null && side === 0) ? null : side === 0 ? this.weight(at, other)
      : this.weight(other, at));
    return html`<ol class=${side === 0 ? "queries end" : "keys"} role="listbox" aria-label=${this.titles[side]
      || nothing}
      @keydown=${(event) => this.#move(event, side, select)}>
      ${labels(tokens).map((text, at) => this.#token(text, select, at, own, weight(at), { height: `${row}px` }, own
        ?? 0))}</ol>`;
  }

  #selection(side, at) {
    return side === 0 ? { query: at, key: null } : { query: null, key: at };
  }

  /** Arrow keys go along a column and over to the other; Enter and space keep what is chosen. */
  #move(event, side, select) {
    const columns = [...this.querySelectorAll("ol")];
    const list = columns[side];
    const at = [...list.children].indexOf(/** @type {any} */ (event.target).closest("li"));
    if (at < 0) return;
    const back = this.arcs ? ["ArrowLeft"] : ["ArrowUp"];
    const on = this.arcs ? ["ArrowRight"] : ["ArrowDown"];
    let to = moved(event, at, list.children.length, back, on);
    let into = list;
    if (to === null && columns.length > 1 && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      into = columns[event.key === "ArrowLeft" ? 0 : 1];
      to = Math.min(at, into.children.length - 1);
    }
    if (event.key === "Enter" || event.key === " ") this.tell("pick", select(at));
    else if (to !== null) /** @type {HTMLElement} */ (into.children[to]).focus();
    else return;
    event.preventDefault();
  }

  /** One line of text with an arc from each token to each that it attends to. */
  #arcs() {
    const { shift: before } = this;
    const tokens = labels([...this.keys.slice(0, before), ...(before ? this.queries : this.keys)]).map((text) =>
      (text === "(space)" ? "␣" : text));
    const unit = this.em;
    const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    context.font = `${unit}px ${getComputedStyle(this).fontFamily}`;
    const bare = tokens.map((text) => context.measureText(text).width);
    const sum = (/** @type {number[]} */ all) => all.reduce((so, one) => so + one, 0);
    const gap = (this.room.width - sum(bare)) / Math.max(1, tokens.length);
    const least = sum(bare) > tokens.length * unit ? 0.3 : 0.2; // words, characters
    const widths = bare.map((width) => width + unit * Math.max(least, Math.min(0.55, gap / unit)));
    const scale = Math.max(Math.min(1.7, this.room.width / Math.max(1, sum(widths))), SMALLEST / unit);
    this.widest = Math.min(unit * WIDEST.units, (sum(widths) * scale * WIDEST.share) / Math.max(1, tokens.length));
    const places = widths.map((width, at) => scale * (sum(widths.slice(0, at)) + width / 2));
    const far = (query, key) => Math.abs(places[query + before] - places[key]);
    const longest = Math.max(unit, ...this.layers.flatMap(({ map }) => map.map((row, query) => Array.from(row).reduce(
      (most, weight, key) => (this.#isSeen(weight) ? Math.max(most, far(query, key)) : most), 0))));
    const height = Math.max(unit * 3, Math.min(this.room.height - unit * scale * 2.2, longest * 0.55));
    const marks = this.marks((query, key, aside) => {
      const [from, to] = [places[query + before] + aside, places[key] + aside];
      const r = unit * 0.5 * scale;
      // over itself
      if (query + before === key) return `M${from - r / 2} ${height}c${-r} ${-r * 2.2} ${r * 2} ${-r * 2.2} ${r} 0`;
      const top = (far(query, key) / longest) ** 0.7 * (height - this.widest);
      const [x, end, y] = [from, to, height - top / 0.75].map((place) => place.toFixed(1));
      return `M${x} ${height}C${x} ${y} ${end} ${y} ${end} ${height}`;
    });
    const { query, key } = this.selected;
    const chosen = query === null ? key : query + before;
    const weight = (at) => (chosen === null ? null : query !== null ? this.weight(query, at) : this.weight(at - before,
      /** @type {number} */ (key)));
    const select = (at) => (at < before ? this.#selection(1, at) : this.#selection(0, at - before));
    const size = { "--type": `${(unit * scale).toFixed(1)}px` };
    return html`<div class="arcs">${this.#drawn(marks, sum(widths) * scale, height)}
      <ol role="listbox" aria-orientation="horizontal" aria-label=${this.titles[1] || nothing} style=${styleMap(size)}
        @keydown=${(event) => this.#move(event, 0, select)}>
      ${tokens.map((text, at) => this.#token(text, select, at, chosen, weight(at), { width: `${widths[at] * scale}px` },
        chosen ?? 0))}</ol></div>`;
  }

  /**
   * A token that can be pointed at, and that is shaded by its weight.
   * @param {number} first the one in the order of tabs
   */
  #token(text, select, at, chosen, weight, style, first) {
    const is = at === chosen;
    return html`<li role="option" dir="auto" tabindex=${at === first ? 0 : -1} aria-selected=${is}
      class=${classMap({ chosen: is, dim: weight !== null && !is && Math.abs(weight) < 0.05 })}
      style=${styleMap({ ...style, "--weight": weight === null || this.signed ? "0" : weight.toFixed(3) })}
      @mouseenter=${(event) => hasCome(event) && this.tell("hover", select(at))} @focus=${() => this.tell("hover",
        select(at))}
      @click=${() => this.tell("pick", select(at))}><span>${text}</span></li>`;
  }

  firstUpdated() {
    this.addEventListener("mouseleave", () => this.tell("hover", null));
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Node} */ (/** @type {FocusEvent} */ (event).relatedTarget))) this.tell("hover",
        null);
    });
  }

  updated() {
    const between = this.querySelector(".between");
    this.observer.disconnect();
    if (between) this.observer.observe(between);
    const canvas = /** @type {any} */ (this.querySelector("canvas"));
    if (canvas?.marks) this.#paint(canvas);
  }

  /** Many curves on a canvas; it can say them as SVG, too. */
  #paint(canvas) {
    const { marks, width, height } = canvas.marks;
    const context = sharp(canvas, width, height);
    const colours = new Map();
    for (const { d, colour, weight } of marks) {
      if (!colours.has(colour)) colours.set(colour, `rgb(${rgb(colour.slice(4, -1)).join(" ")})`);
      context.globalAlpha = Number(this.#opaque(weight));
      context.lineWidth = Number(this.#wide(weight));
      context.strokeStyle = colours.get(colour);
      context.stroke(new Path2D(d));
    }
    canvas.drawn = () => marks.map((/** @type {Mark} */ { d, colour, weight }) =>
      `<path d="${d}" fill="none" stroke="${colours.get(colour)}" stroke-width="${this.#wide(weight)}" ` +
      `stroke-opacity="${this.#opaque(weight)}"/>`).join("");
  }
}

/**
 * The canvas's context in CSS pixels, sharp on any screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  return context;
}

define("w-lines", Lines);
