// @ts-check
// Controls: a row of choices, a menu, a switch, a slider.

import { html, nothing } from "weft/element.js";

/**
 * A row of exclusive choices: native radio buttons, so arrow keys work. The form keeps them apart from others.
 * @param {string} name
 * @param {Record<string, string>} choices
 * @param {string} value
 * @param {(value: any) => void} chosen
 */
export function segmented(name, choices, value, chosen) {
  return html`<form class="segmented" role="radiogroup" aria-label=${name}>${Object.entries(choices).map(([key,
    text]) => html`<label>
    <input type="radio" name="one" value=${key} .checked=${key === value}
      @change=${() => chosen(key)}><span>${text}</span></label>`)}</form>`;
}

/**
 * @param {string} name
 * @param {[string | number, string | number][]} choices
 * @param {any} value
 * @param {(value: string) => void} chosen
 */
export function menu(name, choices, value, chosen) {
  return html`<select aria-label=${name} @change=${(event) => chosen(event.target.value)}>${choices.map(([key, text]) =>
    html`<option value=${key} .selected=${String(key) === String(value)}>${text}</option>`)}</select>`;
}

/** The first whole numbers as choices. @param {number} count @returns {[number, number][]} */
export const numbers = (count) => Array.from({ length: count }, (_, i) => [i + 1, i + 1]);

/**
 * A button that stays pressed.
 * @param {string} text
 * @param {boolean} pressed
 * @param {() => void} act
 * @param {string} [title]
 */
export function pressing(text, pressed, act, title) {
  return html`<button class="button" type="button" aria-pressed=${pressed} title=${title ?? nothing}
    @click=${act}>${text}</button>`;
}

/**
 * @param {string} name
 * @param {number} value
 * @param {{min: number, max: number, step: number}} range
 * @param {string} shown the value in words
 * @param {(value: number) => void} changed
 */
export function slider(name, value, { min, max, step }, shown, changed) {
  return html`<label class="control"><span>${name}</span><input type="range" aria-label=${name} aria-valuetext=${shown}
    min=${min} max=${max} step=${step}
    .value=${String(value)} @input=${(event) => changed(Number(event.target.value))}><span
      class="number">${shown}</span></label>`;
}
