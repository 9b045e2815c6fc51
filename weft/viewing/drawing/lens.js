// @ts-check
// The lens: what each layer would write if it were the last, for every token that is read.

import { Element, define, html, nothing } from "weft/element.js";
import { label, percent } from "weft/words.js";
import "weft/grid.js";

const WIDTH = 0.62; // units of a letter
const LEAST = 2.3; // units of a column
const HINT = "Each cell: what this layer would write after what is read below it, and how sure it is. "
  + "Above: the token that follows in the text.";

/**
 * @typedef {{token: string, probability: number, rank_of_final: number, probability_of_final: number}} Cell
 * @typedef {{tokens: string[], written: (string | null)[], layers: string[], cells: Cell[][]}} Answer of /api/lens
 */

/** The layers stand above each other, the last one on top; the columns are the last tokens that have room. */
export class Lens extends Element {
  static measured = true;
  static properties = {
    answer: { attribute: false },
    selected: { type: Number }, // a token that is read, from 0
    at: { state: true }, // {row, column} of the cell that is pointed at
  };

  constructor() {
    super();
    /** @type {Answer | null} */ this.answer = null;
    /** @type {number | null} */ this.selected = null;
    /** @type {{row: number, column: number} | null} */ this.at = null;
    this.addEventListener("w-hover", (event) => this.#told(event, (detail) => { this.at = detail; }));
    this.addEventListener("w-pick", (event) => this.#told(event, ({ column }) => this.tell("pick",
      { query: column + this.first })));
  }

  /** What the grid tells is of this drawing only; as a selection it is told anew. */
  #told(event, act) {
    if (event.detail && "query" in event.detail) return;
    event.stopPropagation();
    act(event.detail);
  }

  /** The units of width of a column. */
  get column() {
    const cells = this.answer?.cells.flatMap((row) => row.map(({ token }) => shown(token).length)).sort((a, b) => a - b)
      ?? [1];
    return Math.max(LEAST, Math.min(7, cells[Math.floor(cells.length * 0.9)] * WIDTH + 0.9));
  }

  /** The first token that has room. */
  get first() {
    const fit = Math.floor((this.room.width / this.em - 6.5) / (this.column + 0.3));
    return Math.max(0, (this.answer?.tokens.length ?? 0) - Math.max(4, fit));
  }

  render() {
    const { answer } = this;
    if (!answer || !this.room.width) return nothing;
    const { first } = this;
    const read = answer.tokens.slice(first);
    const last = answer.layers.length - 1;
    const rows = answer.layers.map((layer, i) => ({
      label: i ? `layer ${layer}` : layer,
      cells: answer.cells[i].slice(first).map((cell, column) => ({
        name: this.said({ row: last - i, column }), value: cell.probability, text: shown(cell.token), chosen: column +
          first === this.selected,
      })),
    })).reverse();
    const reads = { label: "reads", cells: read.map((token) => ({ name: `it reads ${shown(token)}`,
      text: shown(token) })) };
    return html`<w-grid style="--layers: ${last + 1}" name="the lens: layers and tokens" .least=${this.column}
      .rows=${[...rows, reads]}
        .columns=${answer.written.slice(first).map((token) => (token === null ? "?" : shown(token)))}></w-grid>
      <p class="caption">${this.at && this.at.row <= last ? this.said(this.at)
        : html`<span class="scale"><span>${HINT}</span><span>0</span><i></i><span>1</span></span>`}</p>`;
  }

  /** A cell in words. @param {{row: number, column: number}} at */
  said({ row, column }) {
    const { layers, cells, tokens } = /** @type {Answer} */ (this.answer);
    const [layer, place] = [layers.length - 1 - row, column + this.first];
    const cell = cells[layer]?.[place];
    if (!cell) return "";
    const of = cells.at(-1)?.[place].token ?? "";
    const name = layer ? `Layer ${layers[layer]}` : "The embedding";
    const what = `“${shown(cell.token)}” (${percent(cell.probability)})`;
    const own = `${name} after “${shown(tokens[place])}” would write ${what}`;
    const final = `number ${cell.rank_of_final} (${percent(cell.probability_of_final)})`;
    return cell.token === of ? `${own}.` : `${own}; “${shown(of)}”, the last layer's, is ${final}.`;
  }
}

/** @param {string} token */
const shown = (token) => (token === "·" ? "␣" : label(token.replaceAll("\n", "↵")));

define("w-lens", Lens);
