// @ts-check
// A grid of layers × heads or layers × tokens: a cell is a small picture, a number as a shade, a word, or a switch.

import { heat, heatRamp, isDeep } from "weft/colours.js";
import { Element, classMap, define, html, nothing, styleMap } from "weft/element.js";

/**
 * @typedef {{name: string, value?: number, text?: string, picture?: Uint8Array, pressed?: boolean,
 *   chosen?: boolean, colour?: string}} Cell
 *   name: what it is, in words; value: 0 to 1 (−1 to 1 where signed); pressed: it is a switch; null: there is none
 * @typedef {{label: string, cells: (Cell | null)[]}} Row
 */

export class Grid extends Element {
  static properties = {
    rows: { attribute: false },
    columns: { attribute: false }, // their labels
    size: { attribute: false }, // {rows, columns} of the pictures
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
    this.size = { rows: 0, columns: 0 };
    this.name = "";
    this.signed = false;
    this.least = 0;
    this.rowsPick = false;
    this.at = [0, 0];
  }

  render() {
    const columns = `auto repeat(${this.columns.length}, minmax(max(${this.least}em, var(--touched)), 1fr))`;
    const ratio = this.size.rows ? `${this.size.columns} / ${this.size.rows}` : null;
    return html`<div class="grid" role="grid" aria-label=${this.name || nothing}
      style=${styleMap({ "grid-template-columns": columns, "--rows": String(this.rows.length) })}
        @keydown=${this.#move}>
      <div role="row" class="row"><span></span>${this.columns.map((text) => html`<span role="columnheader"
        class="column-name">${text}</span>`)}</div>
      ${this.rows.map(({ label, cells }, row) => html`<div role="row" class="row">
        <span role="rowheader" class="row-name">${this.rowsPick ? html`<button type="button" tabindex="-1"
          @click=${() => this.tell("pick", { row, column: null })}>${label}</button>` : label}</span>
        ${cells.map((cell, column) => (cell ? this.#cell(cell, row, column, ratio)
          : html`<span role="gridcell"></span>`))}</div>`)}
    </div>`;
  }

  /** @param {Cell} cell @param {number} row @param {number} column @param {string | null} ratio */
  #cell({ name, value, text, picture, pressed, chosen, colour }, row, column, ratio) {
    const shade = value !== undefined && !picture && pressed !== false;
    const deep = value !== undefined && isDeep(Math.abs(value));
    const style = { background: shade ? heat(value, this.signed) : null, color: shade && deep ? "var(--on-heat)" : null,
      "--colour": colour ?? null, "aspect-ratio": picture ? ratio : null };
    const focusable = row === this.at[0] && column === this.at[1];
    return html`<span role="gridcell" aria-selected=${chosen ?? nothing}><button type="button" tabindex=${focusable ? 0
      : -1} aria-label=${name} title=${name} aria-pressed=${pressed ?? nothing}
      class=${classMap({ cell: true, chosen: Boolean(chosen), picture: Boolean(picture),
        switch: pressed !== undefined })} style=${styleMap(style)}
      @click=${() => this.tell("pick", { row, column })} @mouseenter=${() => this.tell("hover", { row, column })}
        @mouseleave=${() => this.tell("hover", null)}
      @focus=${() => { this.at = [row, column]; this.requestUpdate(); }}
      >${picture ? html`<canvas width=${this.size.columns} height=${this.size.rows} .bytes=${picture}></canvas>` : text
        ?? nothing}</button></span>`;
  }

  updated() {
    const ramp = heatRamp();
    for (const canvas of /** @type {any[]} */ ([...this.querySelectorAll("canvas")])) {
      if (canvas.painted === canvas.bytes && canvas.ramp === ramp) continue;
      const image = new ImageData(this.size.columns, this.size.rows);
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
