// @ts-check
// Attention as a matrix: a heat map with tokens on both axes, which stay where they are when it scrolls.

import { heat } from "weft/colours.js";
import { Element, define, html, nothing, styleMap, svg } from "weft/element.js";
import { sharp } from "weft/lines.js";
import { labels } from "weft/words.js";

const MARKS = 3000; // more cells are drawn on a canvas
const NAMED = 11; // pixels of a cell that has room for tokens
const SLANT = 55;
const STEEP = 84; // degrees, in narrow columns, where slanted tokens would touch

export class Matrix extends Element {
  static measured = true;
  static properties = {
    queries: { attribute: false },
    keys: { attribute: false },
    map: { attribute: false }, // map[query][key]
    name: { type: String },
    selected: { attribute: false }, // {query, key}
    signed: { type: Boolean },
    most: { type: Number }, // the value of the darkest cell
    // names of rows and columns that are counted: where cells are small, some have their number
    axes: { attribute: false },
    whole: { type: Boolean }, // however small its cells are, all of it is seen
  };

  constructor() {
    super();
    /** @type {string[]} */ this.queries = [];
    /** @type {string[]} */ this.keys = [];
    /** @type {ArrayLike<number>[]} */ this.map = [];
    this.name = "";
    /** @type {{query: number | null, key: number | null}} */ this.selected = { query: null, key: null };
    this.signed = false;
    this.most = 1;
    /** @type {string[] | null} */ this.axes = null;
    this.whole = false;
  }

  /** The size of cells and axes. */
  #fitted() {
    const unit = this.em;
    const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    const type = (cell) => Math.max(9, Math.min(unit, cell * 0.78));
    const wide = (texts, size) => {
      context.font = `${size}px ${getComputedStyle(this).fontFamily}`;
      return Math.max(...texts.map((text) => context.measureText(text).width), 0);
    };
    const [down, across] = [labels(this.queries), labels(this.keys)];
    const { width, height } = this.room;
    let cell = unit * 2.4;
    for (let round = 0; round < 3; round++) { // the axes are as large as the type, which is as large as the cells
      const size = type(cell);
      const slant = cell < size * 1.35 ? STEEP : SLANT;
      const turn = (slant * Math.PI) / 180;
      const named = !this.whole || cell >= NAMED || this.axes !== null;
      if (this.axes) return this.#counted(width, height);
      const left = named ? wide(down, size) + size : 2;
      const top = named ? wide(across, size) * Math.sin(turn) + size * 1.3 : 2;
      const over = named ? wide([across.at(-1) ?? ""], size) * Math.cos(turn) + size * 0.6 : 2;
      const fit = Math.min((width - left - over) / Math.max(1, this.keys.length), (height - top - 4) / Math.max(1,
        this.queries.length));
      const next = Math.max(this.whole ? 1 : 12, Math.min(unit * 3.4, fit));
      if (round === 2 || Math.abs(next - cell) < 0.05) return { cell: round === 2 ? Math.min(cell, next) : next, size,
        slant, left, top, over, named, down, across };
      cell = next;
    }
    throw new Error("unreachable");
  }

  /** Axes with a number here and there. */
  #counted(width, height) {
    const size = this.em * 0.82;
    const [left, top] = [size * 4.4, size * 2.9];
    const cell = Math.max(1, Math.min((width - left - size) / this.keys.length,
      (height - top - 4) / this.queries.length));
    const some = (all, room) => {
      const step = 2 ** Math.ceil(Math.log2(Math.max(1, room / cell)));
      return all.map((text, at) => (at % step ? "" : text));
    };
    return { cell, size, slant: 0, left, top, over: size, named: true, down: some(this.queries, size * 1.6),
      across: some(this.keys, size * 3.4) };
  }

  /** What a value is as a colour. */
  #colour(value) {
    return heat(value / this.most, this.signed);
  }

  render() {
    if (!this.map.length || !this.room.width) return html`<div class="matrix"></div>`;
    const place = this.#fitted();
    const { cell, size, slant, left, top, over, named, down, across } = place;
    const [width, height] = [cell * this.keys.length, cell * this.queries.length];
    const { query, key } = this.selected;
    const shown = query !== null && key !== null;
    return html`<div class="matrix" style=${styleMap({ "--type": `${size.toFixed(1)}px`,
      "grid-template-columns": `${left}px ${width + over}px` })}>
      <span class="corner"></span>
      <svg class="across" aria-hidden="true" width=${width + over} height=${top}>${named ? across.map((text, at) => svg`
        <text class=${at === key ? "chosen" : ""} transform="translate(${((at + 0.55) * cell).toFixed(1)}
          ${(top - size * 0.4).toFixed(1)}) rotate(${-slant})">${text}</text>`) : nothing}${this.axes ? svg`<text x="0"
            y=${size}>${this.axes[1]}</text>` : nothing}</svg>
      <svg class="down" aria-hidden="true" width=${left} height=${height}>${named ? down.map((text, at) => svg`
        <text class=${at === query ? "chosen" : ""} x=${left - size * 0.5}
          y=${((at + 0.5) * cell + size * 0.35).toFixed(1)}>${text}</text>`) : nothing}${this.axes
            ? svg`<text transform="translate(${size} ${height / 2}) rotate(-90)" style="text-anchor:
            middle">${this.axes[0]}</text>` : nothing}</svg>
      <div class="cells" tabindex="0" role="application" aria-roledescription="matrix"
        aria-label=${`${this.name}. Arrow keys go from cell to cell.`}
        style=${styleMap({ width: `${width}px`, height: `${height}px` })}
        @mousemove=${(event) => this.#point(event, cell)} @click=${(event) => this.#point(event, cell, "pick")}
        @mouseleave=${() => this.tell("hover", null)} @blur=${() => this.tell("hover", null)}
        @focus=${() => shown || this.tell("hover", { query: query ?? 0, key: key ?? 0 })} @keydown=${this.#move}>
        ${this.#drawn(cell)}
        ${shown && query < this.queries.length && key < this.keys.length ? html`<i class="cell"
          style=${styleMap({ left: `${key * cell}px`, top: `${query * cell}px`, width: `${cell}px`,
            height: `${cell}px` })}></i>`
          : query !== null ? html`<i class="cell" style=${styleMap({ left: 0, top: `${query * cell}px`,
          width: `${width}px`, height: `${cell}px` })}></i>`
          : key !== null ? html`<i class="cell" style=${styleMap({ left: `${key * cell}px`, top: 0, width: `${cell}px`,
          height: `${height}px` })}></i>` : nothing}
      </div>
    </div>`;
  }

  #drawn(cell) {
    const gap = cell > 18 ? 1.5 : cell >= NAMED ? 0.75 : 0;
    if (this.queries.length * this.keys.length > MARKS) return html`<canvas aria-hidden="true" .cell=${cell}
      .gap=${gap}></canvas>`;
    const side = (cell - gap).toFixed(2);
    return html`<svg aria-hidden="true" width=${cell * this.keys.length}
      height=${cell * this.queries.length}>${this.queries.map((_, query) =>
      this.keys.map((__, key) => svg`<rect x=${(key * cell).toFixed(2)} y=${(query * cell).toFixed(2)} width=${side}
        height=${side}
        fill=${this.#colour(this.map[query][key])} />`))}</svg>`;
  }

  /** @param {Map<string, any>} changed */
  updated(changed) {
    const canvas = /** @type {any} */ (this.querySelector("canvas"));
    if (!canvas || (changed.size === 1 && changed.has("selected"))) return; // the cells are as they were
    const { cell, gap } = canvas;
    const context = sharp(canvas, cell * this.keys.length, cell * this.queries.length);
    const each = (draw) => this.queries.forEach((_, query) =>
      this.keys.forEach((__, key) => draw(key * cell, query * cell, this.#colour(this.map[query][key]))));
    each((x, y, fill) => {
      context.fillStyle = fill;
      context.fillRect(x, y, cell - gap, cell - gap);
    });
    canvas.drawn = () => {
      const side = (cell - gap).toFixed(2);
      /** @type {string[]} */
      const found = [];
      each((x, y, fill) =>
        found.push(`<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${side}" height="${side}" fill="${fill}"/>`));
      return found.join("");
    };
  }

  #point(event, cell, name = "hover") {
    const place = `${event.screenX} ${event.screenY}`;
    if (name === "hover" && place === this.pointer) return; // it is the matrix that moved
    this.pointer = place;
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    const at = (pixels, count) => Math.max(0, Math.min(count - 1, Math.floor(pixels / cell)));
    const found = { query: at(event.clientY - box.top, this.queries.length), key: at(event.clientX - box.left,
      this.keys.length) };
    if (name === "pick" || found.query !== this.selected.query || found.key !== this.selected.key) this.tell(name,
      found);
  }

  #move(event) {
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0,
      1], ArrowLeft: [0, -1] })[event.key];
    const [query, key] = [this.selected.query ?? 0, this.selected.key ?? 0];
    if (event.key === "Enter" || event.key === " ") this.tell("pick", { query, key });
    else if (step) {
      const within = (value, count) => Math.max(0, Math.min(value, count - 1));
      this.tell("hover", { query: within(query + step[0], this.queries.length), key: within(key + step[1],
        this.keys.length) });
    } else return;
    event.preventDefault();
  }
}

define("w-matrix", Matrix);
