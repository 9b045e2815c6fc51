// @ts-check
// One query of one head, number by number: q, each key, their products, the score, softmax, and the values it weighs.

import { heat } from "weft/colours.js";
import { Element, classMap, define, html, moved, nothing, styleMap } from "weft/element.js";
import { sharp } from "weft/lines.js";
import { fixed, label } from "weft/words.js";

const ROW = { least: 0.9, most: 1.9 }; // its height, in units
const NARROW = { width: 620, least: 1.5 }; // pixels; there, rows have more height, and scroll
const AROUND = 15.5; // units of height that are not rows of keys
const DEPTH = 0.7; // a power of values before they become colours: small ones are seen, too

/**
 * @typedef {{key: number[], score: number, scaled: number | null, visible: boolean, weight: number, value: number[]}}
 *   Row
 * @typedef {{width: number, formula: string, query: number[], rows: Row[], output: number[]}} Numbers as /api/head has
 *   them
 */

/** Whether the score is a plain sum of products. @param {Numbers} numbers */
export const isDot = ({ formula, query, rows }) => formula.startsWith("q · k") && query.length === rows[0].key.length;

/** @param {number[]} a @param {number[]} b */
export const products = (a, b) => a.map((one, i) => one * b[i]);

/** The indices of numbers, the largest by size first. @param {number[]} values */
export const bySize = (values) => values.map((_, i) => i).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));

/** A number with as many digits as it needs. @param {number} number */
export const short = (number) => fixed(number, Math.abs(number) >= 100 ? 1 : Math.abs(number) >= 10 ? 2 : 3);

const largest = (/** @type {number[][]} */ vectors) => Math.max(1e-9, ...vectors.flat().map(Math.abs));

export class Vectors extends Element {
  static measured = true;
  static properties = {
    numbers: { attribute: false },
    keys: { attribute: false }, // tokens
    query: { type: String }, // the token, in words
    selected: { attribute: false }, // {key}: a row
    isSorted: { attribute: false }, // dimensions by their share in the score of the selected key
    isPlain: { attribute: false }, // values as they are, without their weights
    worked: { attribute: false }, // what is calculated for the selected row: a template
    at: { state: true }, // {of: "key" | "value", index} that is pointed at, where it is drawn
  };

  constructor() {
    super();
    /** @type {Numbers} */ this.numbers = /** @type {any} */ (null);
    /** @type {string[]} */ this.keys = [];
    this.query = "";
    /** @type {{key: number | null}} */ this.selected = { key: null };
    this.isSorted = false;
    this.isPlain = false;
    /** @type {any} */ this.worked = nothing;
    /** @type {{of: string, index: number} | null} */ this.at = null;
  }

  /** The row that is looked at: the one with the largest weight, if none is selected. */
  get row() {
    const { key } = this.selected;
    const { rows } = this.numbers;
    return key !== null && key < rows.length ? key : rows.reduce((best, { weight }, i) => (weight > rows[best].weight
      ? i : best), 0);
  }

  /** Of a row, in pixels: all of them fit, if they can. @param {number} count */
  #height(count) {
    const { em: unit, room } = this;
    const least = room.width < NARROW.width ? NARROW.least : ROW.least;
    return Math.max(least * unit, Math.min(ROW.most * unit, (room.height - AROUND * unit) / count));
  }

  /**
   * A row of cells.
   * @param {number[]} vector
   * @param {number} most
   * @param {string} name
   * @param {string} of
   * @param {number[] | null} [order]
   */
  #strip(vector, most, name, of, order = null) {
    const point = (/** @type {MouseEvent} */ event) => {
      const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
      const index = Math.max(0, Math.min(vector.length - 1,
        Math.floor(((event.clientX - box.left) / box.width) * vector.length)));
      if (this.at?.of !== of || this.at.index !== index) this.at = { of, index };
    };
    return html`<span class="strip" data-of=${of} @mousemove=${point} @mouseleave=${() => { this.at = null; }}><canvas
      role="img" aria-label=${name}
      .vector=${order ? order.map((i) => vector[i]) : vector} .most=${most}></canvas></span>`;
  }

  render() {
    if (!this.numbers) return nothing;
    const { numbers, keys, row, at, isPlain } = this;
    const { query, rows, output, width, formula } = numbers;
    const dot = isDot(numbers);
    const divided = rows[0].scaled !== null;
    const shared = query.length === rows[0].key.length; // dimensions of query and keys are beside each other
    const all = dot ? rows.map(({ key }) => products(query, key)) : [];
    const order = dot && this.isSorted ? bySize(all[row]) : null;
    const sum = rows.map(({ weight, value }) => value.map((one) => (isPlain ? one : weight * one)));
    const most = { key: largest(rows.map(({ key }) => key)), query: largest([query]), product: largest(all),
      value: largest(isPlain ? [output, ...sum] : sum) };
    const name = (/** @type {number} */ i) => label(keys[i]);
    const scored = formula.startsWith("q · k");
    const strip = (/** @type {number[]} */ vector, /** @type {"key" | "product"} */ of, /** @type {string} */ said) =>
      this.#strip(vector, most[of], said, "key", order);
    const ask = this.#strip(query, most.query, "query", shared ? "key" : "query", order);
    let step = 0;
    const numbered = (/** @type {any} */ text) => html`<small>${step += 1}</small> ${text}`;
    const index = at && (at.of === "key" && order ? order[at.index] : at.index);
    return html`<div class=${classMap({ vectors: true, dot, divided })}
      style=${styleMap({ "--row": `${this.#height(rows.length).toFixed(1)}px`, "--dimensions": String(at?.of === "value"
        ? output.length : rows[0].key.length), "--at": String(at?.index ?? -1) })} data-at=${at?.of ?? nothing}>
      <div class="product-of">
        <span><i>${scored ? "q" : "s"}</i> of ${this.query}</span>${ask}<span class="number"></span>
        <span><i>${scored ? "k" : "h"}</i> of ${name(row)}</span>${strip(rows[row].key, "key",
          `key of ${name(row)}`)}<span class="number"></span>
        ${dot ? html`<span><i>q</i> × <i>k</i></span>${strip(all[row], "product", `products of ${name(row)}`)}<span
          class="number" title="their sum: q · k">Σ ${short(rows[row].score)}</span>` : nothing}
      </div>
      <p class="pointed number" aria-hidden="true">${this.#pointed(index, all)}</p>
      ${this.worked}
      <table class="numbers"><thead><tr>
        <th scope="col">key</th><th scope="col" class="wide">${scored ? "k" : "h"}</th>${dot ? html`<th scope="col"
          class="wide">q × k</th>` : nothing}
        <th scope="col">${numbered(scored ? "q·k" : "score")}</th>${divided
          ? html`<th scope="col">${numbered(html`÷ √${width}`)}</th>` : nothing}
        <th scope="col" class="share">${numbered("softmax")}</th><th scope="col" class="strips">${numbered(isPlain ? "v"
          : "× v")}</th>
      </tr><tr class="asks"><th scope="row">query</th><td class="wide">${ask}</td>${dot ? html`<td class="wide"></td>`
        : nothing}<td></td>${divided ? html`<td></td>` : nothing}<td></td><td></td></tr></thead>
      <tbody @keydown=${this.#move}>${rows.map(({ key, score, scaled, visible, weight }, i) => html`<tr
        class=${classMap({ masked: !visible, chosen: i === row })} tabindex=${i === row ? 0 : -1}
          @mouseenter=${() => this.tell("hover", { key: i })} @focus=${() => this.tell("hover", { key: i })}
            @click=${() => this.tell("pick", { key: i })}>
        <th scope="row">${name(i)}</th>
        <td class="wide">${strip(key, "key", `key of ${name(i)}`)}</td>
        ${dot ? html`<td class="wide">${strip(all[i], "product", `products of ${name(i)}`)}</td>` : nothing}
        <td class="number score">${short(score)}</td>
        ${divided ? html`<td class="number scaled">${short(/** @type {number} */ (scaled))}</td>` : nothing}
        <td class="weight"><span><i style=${styleMap({ width: `${(100 * weight).toFixed(2)}%` })}></i></span><span
          class="number">${visible ? weight.toFixed(4) : "masked"}</span></td>
        <td class="strips">${this.#strip(sum[i], most.value, `${isPlain ? "" : "weighted "}value of ${name(i)}`,
          "value")}</td></tr>`)}
      </tbody>
      <tfoot @mouseenter=${() => this.tell("hover", null)}><tr><th scope="row" colspan="1">Σ</th><td
        class="wide"></td>${dot ? html`<td class="wide"></td>` : nothing}<td class="said" colspan=${divided ? 3
          : 2}>the head’s output</td>
        <td class="strips">${this.#strip(output, most.value, "output", "value")}</td></tr></tfoot></table></div>`;
  }

  /** What the dimension is that is pointed at. @param {number | null} index @param {number[][]} all */
  #pointed(index, all) {
    const { at, numbers: { query, rows, output }, row } = this;
    if (index === null || !at) return nothing;
    if (at.of === "query") return `dimension ${index + 1}: s ${short(query[index])}`; // its keys have other dimensions
    if (at.of === "key") {
      const k = short(rows[row].key[index]);
      return all.length ? `dimension ${index + 1}: q ${short(query[index])} × k ${k} = ${short(all[row][index])}`
        : `dimension ${index + 1}: ${k}`;
    }
    const { weight, value } = rows[row];
    const summand = `${weight.toFixed(4)} × v ${short(value[index])} = ${short(weight * value[index])}`;
    return `dimension ${index + 1}: weight ${summand}, of ${short(output[index])}`;
  }

  updated() {
    for (const canvas of /** @type {any[]} */ ([...this.querySelectorAll("canvas")])) {
      const { clientWidth: width, clientHeight: height } = canvas.parentElement;
      const colours = heat(1, true) + heat(-1, true);
      if (canvas.painted === canvas.vector && canvas.to === `${width} ${height} ${canvas.most} ${colours}`) continue;
      [canvas.painted, canvas.to] = [canvas.vector, `${width} ${height} ${canvas.most} ${colours}`];
      const context = sharp(canvas, width, height);
      const { vector, most } = canvas;
      const cell = width / vector.length;
      const gap = cell > 6 ? 1 : 0;
      const share = (/** @type {number} */ value) => Math.sign(value) * Math.min(1, Math.abs(value) / most) ** DEPTH;
      const colour = (/** @type {number} */ value) => heat(share(value), true);
      vector.forEach((/** @type {number} */ value, /** @type {number} */ i) => {
        context.fillStyle = colour(value);
        context.fillRect(i * cell, 0, cell - gap + (gap ? 0 : 0.4), height);
      });
      const wide = (cell - gap).toFixed(2);
      canvas.drawn = () => vector.map((/** @type {number} */ value, /** @type {number} */ i) =>
        `<rect x="${(i * cell).toFixed(2)}" y="0" width="${wide}" height="${height}" fill="${colour(value)}"/>`)
        .join("");
    }
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const rows = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).children]);
    const at = rows.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = moved(event, at, rows.length, ["ArrowUp"], ["ArrowDown"]);
    if (event.key === "Enter" || event.key === " ") this.tell("pick", { key: at });
    else if (to === null) return;
    else rows[to].focus();
    event.preventDefault();
  }
}

define("w-vectors", Vectors);
