// @ts-check
// A word of the model's that someone else chooses: the likeliest at a step, of which a click writes one.

import { label, percent } from "weft/words.js";
import { html, nothing } from "../view.js";
import "weft/bars.js";

/**
 * What is forced, with this token at a step, or without one. What was forced after it does not fit any more.
 * @param {Record<string, string>} force
 * @param {number} step
 * @param {string | null} token
 */
export function forced(force, step, token) {
  const before = Object.fromEntries(Object.entries(force).filter(([at]) => Number(at) < step));
  return token === null ? before : { ...before, [step]: token };
}

/**
 * Bars of the tokens that are likeliest at a step.
 * @param {any} view
 * @param {number} step
 * @param {{token: string, share: number}[]} found
 * @param {string | undefined} now the token that is written
 */
export function rivals(view, step, found, now) {
  const { force } = view.state;
  const write = (/** @type {string | null} */ token) => view.change({ force: forced(force, step, token) });
  const picked = (/** @type {CustomEvent} */ event) => {
    event.stopPropagation();
    write(found[event.detail.index].token);
  };
  const rows = found.map(({ token, share }) =>
    ({ label: label(token), value: share, number: percent(share), chosen: token === now }));
  return html`<w-bars pickable name="the likeliest tokens" .rows=${rows} @w-pick=${picked}></w-bars>
    ${step in force ? html`<button type="button" class="button"
      @click=${() => write(null)}>As the model has it</button>` : nothing}`;
}

/** Tokens with their probabilities, of a step as the service has it. @param {any} step */
export const likeliest = ({ top }) =>
  top.map((/** @type {any} */ { token, log_prob: logProb }) => ({ token, share: Math.exp(logProb) }));
