// @ts-check
// A grid of layers × heads or layers × tokens: a cell is a small picture, a number as a shade, a word, or a switch.

import { heat, heatRamp, isDeep } from "weft/colours.js";
import { Element, classMap, define, html, nothing, styleMap, svg } from "weft/element.js";
import { labels } from "weft/words.js";

const TOUCHED = 24; // pixels: the least width of a picture
const CELL = { named: 7, saved: 5, most: 2 }; // pixels that have a token beside them; of a saved cell; units
const MANY = 150; // tokens that have no room in any figure

/**
 * @typedef {{name: string, value?: number, text?: string, picture?: Uint8Array, pressed?: boolean,
 *   chosen?: boolean, colour?: string}} Cell
 *   name: what it is, in words; value: 0 to 1 (−1 to 1 where signed); pressed: it is a switch; null: there is none
 * @typedef {{label: string, cells: (Cell | null)[]}} Row
 */

/** Labels; a space is short. @param {string[]} tokens */
const named = (tokens) => labels(tokens).map((text) => (text === "(space)" ? "␣" : text));

export class Grid extends Element {
  static measured = true;
  static properties = {
    rows: { attribute: false },
    columns: { attribute: false }, // their labels
    axes: { attribute: false }, // {queries, keys}: the tokens beside the rows and columns of pictures
    saving: { attribute: false }, // a figure has all its tokens
    name: { type: String },
    signed: { type: Boolean },
    least: { type: Number }, // the least width of a cell, in units; what does not fit scrolls inside
    // the name of a row can be clicked, too: "pick" with column null
    rowsPick: { type: Boolean, attribute: "rows-pick" },
  };

  constructor() {
    super();
    /** @type {Row[]} */ this.rows = [];
    /** @type {string[]} */ this.columns = [];
    /** @type {{queries: string[], keys: string[]} | null} */ this.axes = null;
    this.saving = false;
    this.name = "";
    this.signed = false;
    this.least = 0;
    this.rowsPick = false;
    this.at = [0, 0];
  }

  /** The side of a square cell of the pictures, and the size of the tokens beside them; 0: none. */
  #fitted() {
    const { em: unit, room, saving } = this;
    const { queries, keys } = /** @type {{queries: string[], keys: string[]}} */ (this.axes);
    const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    const wide = (/** @type {string[]} */ tokens, /** @type {number} */ size) => {
      pen.font = `${size}px ${getComputedStyle(this).fontFamily}`;
      return Math.max(0, ...named(tokens).map((text) => pen.measureText(text).width)) + size;
    };
    const between = 0.4 * unit + 2;
    const fit = (left = 0, top = 0) => {
      const cell = Math.min((room.width - 4.5 * unit - left) / Math.max(1, this.columns.length) / keys.length,
        (room.height - 2.5 * unit - top) / this.rows.length / queries.length);
      const least = TOUCHED / keys.length;
      const less = cell - between / Math.max(1, keys.length, queries.length);
      return Math.max(least, Math.min(CELL.most * unit, less > 3 ? Math.floor(less) : less)); // whole pixels are sharp
    };
    let cell = fit();
    const axes = { size: 0, left: 0, top: 0 };
    for (let round = 0; round < 2; round++) { // the axes are as large as the type, which is as large as the cells
      axes.size = Math.min((saving ? Math.max(CELL.saved, cell) : cell) * 0.9, 0.8 * unit);
      [axes.left, axes.top] = [wide(queries, axes.size), wide(keys, axes.size)];
      cell = fit(axes.left, axes.top);
    }
    const most = Math.max(keys.length, queries.length);
    if (saving && most <= MANY) return { cell: Math.max(CELL.saved, cell), ...axes };
    return cell >= CELL.named ? { cell, ...axes } : { cell: fit(), size: 0, left: 0, top: 0 };
  }

  render() {
    const { axes } = this;
    if (axes && !this.room.width) return nothing;
    const fitted = axes && this.#fitted();
    const count = this.columns.length;
    const columns = fitted ? `repeat(${count + 1}, max-content)`
      : `auto repeat(${count}, minmax(max(${this.least}em, var(--touched)), 1fr))`;
    return html`<div class="grid" role="grid" aria-label=${this.name || nothing}
      style=${styleMap({ "grid-template-columns": columns, "--type": fitted ? `${fitted.size}px` : null })}
        @keydown=${this.#move}>
      <div role="row" class="row"><span></span>${this.columns.map((text) => html`<span role="columnheader"
        class="column-name">${text}${fitted?.size ? this.#across(fitted) : nothing}</span>`)}</div>
      ${this.rows.map(({ label, cells }, row) => html`<div role="row" class="row">
        <span role="rowheader" class="row-name">${this.rowsPick ? html`<button type="button" tabindex="-1"
          @click=${() => this.tell("pick", { row, column: null })}>${label}</button>` : label}${
            fitted?.size ? this.#down(fitted) : nothing}</span>
        ${cells.map((cell, column) => (cell ? this.#cell(cell, row, column, fitted?.cell ?? 0)
          : html`<span role="gridcell"></span>`))}</div>`)}
    </div>`;
  }

  /** The keys above a column. @param {{cell: number, size: number, top: number}} fitted */
  #across({ cell, size, top }) {
    const { keys } = /** @type {any} */ (this.axes);
    return html`<svg aria-hidden="true" width=${cell * keys.length} height=${top}>${named(keys).map((text, at) => svg`
      <text transform="translate(${((at + 0.5) * cell + size * 0.35).toFixed(1)} ${top - size * 0.3}) rotate(-90)"
      >${text}</text>`)}</svg>`;
  }

  /** The queries beside a row. @param {{cell: number, size: number, left: number}} fitted */
  #down({ cell, size, left }) {
    const { queries } = /** @type {any} */ (this.axes);
    return html`<svg aria-hidden="true" width=${left} height=${cell * queries.length}>${named(queries).map((text,
      at) => svg`<text text-anchor="end" x=${left - size * 0.1} y=${((at + 0.5) * cell + size * 0.35).toFixed(1)}
      >${text}</text>`)}</svg>`;
  }

  /** @param {Cell} cell @param {number} row @param {number} column @param {number} side of a square of a picture */
  #cell({ name, value, text, picture, pressed, chosen, colour }, row, column, side) {
    const [wide, high] = [this.axes?.keys.length ?? 0, this.axes?.queries.length ?? 0];
    const shade = value !== undefined && !picture && pressed !== false;
    const deep = value !== undefined && isDeep(Math.abs(value));
    const style = { background: shade ? heat(value, this.signed) : null, color: shade && deep ? "var(--on-heat)" : null,
      "--colour": colour ?? null, width: picture ? `${side * wide}px` : null,
      height: picture ? `${side * high}px` : null };
    const focusable = row === this.at[0] && column === this.at[1];
    return html`<span role="gridcell" aria-selected=${chosen ?? nothing}><button type="button" tabindex=${focusable ? 0
      : -1} aria-label=${name} title=${name} aria-pressed=${pressed ?? nothing}
      class=${classMap({ cell: true, chosen: Boolean(chosen), picture: Boolean(picture),
        switch: pressed !== undefined })} style=${styleMap(style)}
      @click=${() => this.tell("pick", { row, column })} @mouseenter=${() => this.tell("hover", { row, column })}
        @mouseleave=${() => this.tell("hover", null)}
      @focus=${() => { this.at = [row, column]; this.requestUpdate(); }}
      >${picture ? html`<canvas width=${wide} height=${high} .bytes=${picture}></canvas>` : text
        ?? nothing}</button></span>`;
  }

  updated() {
    const ramp = heatRamp();
    for (const canvas of /** @type {any[]} */ ([...this.querySelectorAll("canvas")])) {
      if (canvas.painted === canvas.bytes && canvas.ramp === ramp) continue;
      const image = new ImageData(canvas.width, canvas.height);
      canvas.bytes.forEach((byte, i) => image.data.set([...ramp[byte], 255], 4 * i));
      canvas.getContext("2d").putImageData(image, 0, 0);
      [canvas.painted, canvas.ramp] = [canvas.bytes, ramp];
    }
  }

  /** Arrow keys go from cell to cell: the whole grid is one tab stop. */
  #move(event) {
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0,
      1], ArrowLeft: [0, -1] })[event.key];
    if (!step) return;
    event.preventDefault();
    let [row, column] = [this.at[0] + step[0], this.at[1] + step[1]];
    row = Math.max(0, Math.min(row, this.rows.length - 1));
    column = Math.max(0, Math.min(column, this.columns.length - 1));
    if (!this.rows[row].cells[column]) return;
    this.at = [row, column];
    /** @type {HTMLElement | undefined} */ (this.querySelectorAll(".row")[row +
      1]?.querySelectorAll("[role=gridcell]")[column]?.firstElementChild)?.focus();
  }
}

define("w-grid", Grid);
