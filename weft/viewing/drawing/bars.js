// @ts-check
// Bars: shares of a whole with their numbers, such as the likeliest tokens or what a query attends to.

import { Element, classMap, define, html, moved, nothing, styleMap } from "weft/element.js";

/**
 * @typedef {{label: string, value: number, number: string, parts?: {value: number, colour: string}[],
 *   chosen?: boolean, title?: string, dim?: boolean}} Row
 *   value, and that of each part: a share of `most`
 */

export class Bars extends Element {
  static properties = {
    rows: { attribute: false },
    most: { type: Number }, // the value of a full bar
    name: { type: String },
    pickable: { type: Boolean }, // a click tells "pick" with {index}
  };

  constructor() {
    super();
    /** @type {Row[]} */ this.rows = [];
    this.most = 1;
    this.name = "";
    this.pickable = false;
  }

  render() {
    const wide = (value) => `${((100 * Math.min(Math.abs(value), this.most)) / this.most).toFixed(2)}%`;
    return html`<ul class="bars" aria-label=${this.name || nothing} @keydown=${this.#move}>${this.rows.map((row,
      index) => {
      const parts = row.parts ?? [{ value: row.value, colour: row.value < 0 ? "var(--cold)" : "var(--accent)" }];
      const inner = html`<span dir="auto">${row.label}</span>
        <i>${parts.map(({ value, colour }) => html`<u
          style=${styleMap({ width: wide(value), background: colour })}></u>`)}</i>
        <span class="number">${row.number}</span>`;
      const look = classMap({ bar: true, chosen: Boolean(row.chosen), dim: Boolean(row.dim) });
      return html`<li>${this.pickable ? html`<button type="button" class=${look} title=${row.title ?? nothing}
          @click=${() => this.tell("pick", { index })} @mouseenter=${() => this.tell("hover", { index })}
            @focus=${() => this.tell("hover", { index })}>${inner}</button>`
        : html`<div class=${look} title=${row.title ?? nothing}>${inner}</div>`}</li>`;
    })}</ul>`;
  }

  #move(event) {
    const buttons = [...this.querySelectorAll("button")];
    const to = moved(event, buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target)), buttons.length);
    if (to === null || !buttons.length) return;
    event.preventDefault();
    buttons[to].focus();
  }
}

define("w-bars", Bars);
