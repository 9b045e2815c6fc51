// @ts-check
// Run, for translators: two panes that translate as you type. Pointing at a word lights up the words it came from.

import { differing, fixed, label, percent, signed } from "weft/words.js";
import { post } from "../api.js";
import { View, define, html, languageName, live, nothing, styleMap } from "../view.js";
import { likeliest, rivals } from "./forcing.js";
import "weft/tokens.js";

const PAUSE = 220; // milliseconds after the last key before a request
// sentences that are asked about at the same time, in their order: the first are shown before the last
const AT_ONCE = 6;
const RIVALS = 8;

/**
 * @typedef {{text: string, space: string, start: number, number: number, found: any, isOld?: boolean}} Sentence
 *  `found` is the answer, isOld: to what was there
 */

class RunTranslate extends View {
  static properties = {
    sentences: { state: true },
    lit: { state: true }, // words of the text: {start, spans, weights}
    trouble: { state: true },
    said: { state: true },
  };

  constructor() {
    super();
    /** @type {Sentence[]} */ this.sentences = [];
    /** @type {any} */ this.lit = null;
    this.trouble = "";
    this.said = "";
    this.asked = "";
    this.pointed = "";
    /** @type {any} */ this.timer = 0;
    this.stop = new AbortController();
    this.run = this.ask(() => ["api/run", { top: RIVALS, target: null }]); // the chosen sentence, with what is changed
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop.abort();
    this.asked = "";
  }

  /** What is wrong is said below the panes: there has to be a place to type. */
  problem() {
    return nothing;
  }

  willUpdate() {
    const { text, off } = this.state;
    const asked = JSON.stringify([text, off, this.model.base]);
    if (asked === this.asked) return;
    this.asked = asked;
    this.lit = null;
    this.#translate(text, off);
  }

  /**
   * Sentence by sentence: those that are known stay, the others come in their order.
   * @param {string} text
   * @param {any[]} off
   */
  async #translate(text, off) {
    this.stop.abort();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const { base, search } = this.model;
    const asking = { signal, base };
    try {
      const cut = text.trim() ? await post("api/sentences", { text }, asking) : [];
      signal.throwIfAborted();
      const before = this.sentences.filter(({ found }) => found);
      let [start, number] = [0, 0];
      this.sentences = cut.map((/** @type {any} */ { text: own, space }) => {
        if (own.trim()) number += 1;
        const one = { text: own, space, start, number: own.trim() ? number : 0, found: own.trim()
          ? before[number - 1]?.found ?? null : null, isOld: true };
        start += own.length + space.length;
        return one;
      });
      this.trouble = "";
      const waiting = [...this.sentences.entries()].filter(([, one]) => one.number);
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const [i, one] = next;
          const found = await post("api/translate", { text: one.text, nbest: search.width, ...(off.length ? { off }
            : {}) }, asking);
          signal.throwIfAborted();
          this.sentences = this.sentences.map((other, n) => (n === i ? { ...other, found, isOld: false } : other));
        }
      }));
    } catch (error) {
      if (signal.aborted) return;
      this.sentences = [];
      this.trouble = /** @type {Error} */ (error).message;
    }
  }

  /** @param {any} event */
  #typed({ target: { value: text } }) {
    clearTimeout(this.timer);
    this.lit = null;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.change({ text, sentence: 1, target: "", replace: {}, force: {} }, { typing: true });
      if (this.store.isSelected) this.store.set({ pin: { ...this.store.state.pin, query: null, key: null,
        step: null } }, { typing: true });
    }, PAUSE);
    this.requestUpdate();
  }

  /** The sentence that the other views show, too. */
  get chosen() {
    const all = this.sentences.filter(({ number }) => number);
    return all[Math.max(1, Math.min(this.state.sentence, all.length)) - 1] ?? null;
  }

  /** Whether the chosen sentence is not as the model has it, so that its translation is that of /api/run. */
  get isChanged() {
    const { replace, force, temperature } = this.state;
    return Boolean(Object.keys(replace).length || Object.keys(force).length || temperature !== 1);
  }

  /** What is written for a sentence: {tokens, log_probs, translation}, or null. @param {Sentence} one */
  #written(one) {
    const { data, busy } = this.run;
    if (one === this.chosen && this.isChanged) return data && { tokens: data.target, log_probs: data.log_probs,
      translation: data.translation, isOld: busy };
    const best = one.found?.translations[0];
    return best && { tokens: best.tokens, log_probs: best.log_probs, translation: one.found.translation,
      isOld: one.isOld };
  }

  draw() {
    const { text } = this.state;
    const [from, to] = this.model.languages.map(languageName);
    const isAlone = this.store.panes.length === 1; // else the text is typed in its line above
    const field = /** @type {HTMLTextAreaElement | null} */ (this.querySelector("textarea"));
    const typed = this.timer && field ? field.value : text;
    const { guessing } = this.run.data ?? {};
    const type = typed.length < 90 ? 1.9 : typed.length < 400 ? 1.4 : 1.15;
    return html`<div class="translating" style=${styleMap({ "--type": `${type}em` })}>
      <section class="pane-of"><h2>${from}</h2><div class="typed"><div class="mirror" dir="auto"
        aria-hidden=${isAlone}>${this.#mirror(typed)}</div>
        ${isAlone ? html`<textarea dir="auto" aria-label=${`Text in ${from}`} spellcheck="false" autocomplete="off"
          placeholder="Type or paste a text" .value=${live(typed)} @input=${this.#typed}></textarea>`
            : nothing}</div></section>
      <section class="pane-of"><h2>${to} ${navigator.clipboard && this.sentences.length ? html`<button class="button"
        type="button" @click=${this.#copy}>${this.said || "Copy"}</button>` : nothing}</h2>
        <div class="output" dir="auto" aria-live="polite"
          aria-label=${`Translation into ${to}`}>${this.sentences.map((one) =>
            html`${this.#sentence(one)}${one.space}`)}</div>
        ${guessing && isAlone && !this.run.busy ? html`<p class="guess" role="note">${this.sentences.length > 1
          ? `Sentence ${this.chosen?.number}: ` : ""}${guessing}</p>` : nothing}</section>
      ${this.trouble || this.run.error ? html`<p class="trouble" role="alert">${this.trouble
        || this.run.error.message}</p>` : nothing}
      ${this.#alternatives()}</div>`;
  }

  /** What is typed, with the words lit up behind it. @param {string} text */
  #mirror(text) {
    if (!this.lit) return html`${text}${"\n"}`;
    const { start, end, spans, weights } = this.lit;
    // the service counts Unicode characters, a string in JavaScript counts UTF-16
    const own = [...text.slice(start, end)];
    const most = Math.max(...weights, 0.01);
    let at = 0;
    const parts = spans.map((/** @type {any} */ span, /** @type {number} */ i) => {
      const before = own.slice(at, span.start).join("");
      at = span.end;
      return html`${before}<mark
        style=${styleMap({ "--weight": ((weights[i] ?? 0) / most).toFixed(3) })}>${own.slice(span.start,
          span.end).join("")}</mark>`;
    });
    return html`${text.slice(0, start)}${parts}${own.slice(at).join("")}${text.slice(end)}${"\n"}`;
  }

  /** A translated sentence: its tokens, underlined where the model was not sure. @param {Sentence} one */
  #sentence(one) {
    const found = this.#written(one);
    if (!one.number) return nothing;
    if (!found) return html`<span class="soft">…</span>`;
    const isChosen = one === this.chosen;
    const many = this.sentences.filter(({ number }) => number).length > 1;
    const { step } = this.store.state.pin;
    return html`<w-tokens class=${`sentence ${found.isOld ? "old" : ""} ${isChosen && many ? "here" : ""}`} mode="doubt"
      .tokens=${found.tokens} .values=${found.log_probs.map(Math.exp)} .selected=${isChosen ? step : null}
      .titles=${found.tokens.map((/** @type {string} */ token, /** @type {number} */ i) =>
        `${label(token)}: ${percent(Math.exp(found.log_probs[i]))}`)} name=${many ? `sentence ${one.number}`
          : "translation"}
      @w-hover=${(/** @type {CustomEvent} */ event) => { event.stopPropagation(); this.#point(one, found,
        event.detail?.at ?? null); }}
      @w-pick=${(/** @type {CustomEvent} */ event) => { event.stopPropagation(); this.#choose(one, event.detail.at); }}
        @focusout=${() => this.#point(one, found, null)}></w-tokens>`;
  }

  /** @param {Sentence} one @param {number} at */
  #choose(one, at) {
    const { pin } = this.store.state;
    const again = one === this.chosen && pin.step === at;
    if (one !== this.chosen) this.change({ sentence: one.number, target: "", replace: {}, force: {} });
    this.store.set({ pin: { ...pin, query: null, key: null, step: again ? null : at } });
  }

  /**
   * Light up the words that a token's word came from.
   * @param {Sentence} one
   * @param {any} found
   * @param {number | null} at
   */
  async #point(one, found, at) {
    const word = at === null ? -1 : found.tokens.slice(1, at + 1).filter((/** @type {string} */ token) =>
      token.startsWith("·")).length;
    const mine = at === null ? "" : `${one.start} ${word}`;
    if (mine === this.pointed) return;
    this.pointed = mine;
    if (at === null || !this.model.aligner || found.isOld) { // some models cannot tell
      this.lit = null;
      return;
    }
    try {
      const { off } = this.state;
      const { source, weights } = await post("api/align", { text: one.text, target: found.translation, ...(off.length
        ? { off } : {}) }, { base: this.model.base });
      if (this.pointed === mine) this.lit = { start: one.start, end: one.start + one.text.length, spans: source,
        weights: weights[word] ?? [] };
    } catch { /* nothing to light up */ }
  }

  /** The other translations of the chosen sentence, and how probable each is. */
  #alternatives() {
    const one = this.chosen;
    if (!one?.found) return nothing;
    const { translations } = one.found;
    const list = translations.filter((/** @type {any} */ { text }, /** @type {number} */ i) =>
      translations.findIndex((/** @type {any} */ other) => other.text === text) === i);
    const many = this.sentences.filter(({ number }) => number).length > 1;
    const to = () => this.change({ target: "" });
    return html`<section class="alternatives"><h2>${many ? `Sentence ${one.number}: other translations`
      : "Other translations"}</h2>
      <div class="table-place stacked"><table><thead><tr><th scope="col">translation</th><th
        scope="col">${this.model.search.length_penalty === 1 ? "mean log-probability of a token" : "score"}</th><th
          scope="col">to the best</th></tr></thead>
      <tbody>${list.map((/** @type {any} */ { text, score }, /** @type {number} */ i) => html`<tr class=${i ? ""
        : "winning"}><td dir="auto">${differing(text, translations[0].text).map(({ word, differs }) => (differs
        ? html`<em>${word}</em>` : word))}</td>
        <td class="number score">${fixed(score, 3)}</td><td class="number">${i ? signed(score - translations[0].score,
          3) : ""}</td></tr>`)}</tbody></table></div>
      <p class="links">${this.model.traces.includes("attention") ? html`<a href="#/look"
        @click=${to}>Where it looks</a>` : nothing}<a href="#/decide" @click=${to}>How it was found</a></p></section>`;
  }

  /** What could stand in the place of the token that is chosen. */
  inspector() {
    const { step } = this.store.state.pin;
    const one = step === null ? null : this.run.data?.steps[step];
    if (!one) return nothing;
    return html`<p class="caption">In place of <b dir="auto">${label(one.token)}</b>. A click writes it, and the model
      goes on.</p>${rivals(this, step, likeliest(one), one.token)}`;
  }

  async #copy() {
    const text = this.sentences.map((one) => `${this.#written(one)?.translation ?? ""}${one.space}`).join("");
    await navigator.clipboard.writeText(text);
    this.said = "Copied";
    setTimeout(() => { this.said = ""; }, 1200);
  }
}

define("v-run-translate", RunTranslate);
export const runTranslate = { name: "run", label: "Run", needs: ["run", "pairs"], tag: "v-run-translate",
  hasOwnInput: true, hasTarget: false };
