// @ts-check
// Run, for translators: two panes that translate as you type. Pointing at a word lights up the words it came from.

import { differing, fixed, label, percent, signed } from "weft/words.js";
import { post } from "../api.js";
import { View, classMap, define, html, languageName, live, nothing, styleMap } from "../view.js";
import { likeliest, rivals } from "./forcing.js";
import "weft/tokens.js";

const PAUSE = 220; // milliseconds after the last key before a request
// sentences that are asked about at the same time, in their order: the first are shown before the last
const AT_ONCE = 6;
const TOGETHER = 30; // milliseconds: what is answered within them is drawn together,
const GROUP = 8; // and no more than so many sentences for each that is asked about at the same time
const MOST = 50; // sentences of a paragraph
const RIVALS = 8;
const [SHORT, LONG] = [90, 400]; // characters of a text: the type is larger or smaller
const LEAST = 0.01; // weights below it are shown as what they are

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
    /** @type {Promise<void> | null} */ this.soon = null;
    this.run = this.ask(() => ["api/run", { top: RIVALS, target: null }]); // the chosen sentence, with what is changed
    this.tree = this.ask(() => this.isChanged ? ["api/search", { beam: this.model.search.width }] : null);
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
    const how = JSON.stringify([off, this.model.base]);
    const asked = how + text;
    if (asked === this.asked) return;
    const isSame = this.asked.startsWith(how);
    this.asked = asked;
    this.lit = null;
    this.#translate(text, off, isSame);
  }

  /**
   * Sentence by sentence: those that are known stay, the others come in their order.
   * @param {string} text
   * @param {any[]} off
   * @param {boolean} isSame whether the answers so far are of the same model
   */
  async #translate(text, off, isSame) {
    this.stop.abort();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const { base, search } = this.model;
    const asking = { signal, base };
    const how = { nbest: search.width, ...(off.length ? { off } : {}) };
    try {
      const cut = text.trim() ? await post("api/sentences", { text }, asking) : [];
      signal.throwIfAborted();
      const before = this.sentences.filter(({ found }) => found);
      const known = new Map(isSame ? before.filter(({ isOld }) => !isOld).map((one) => [one.text, one.found]) : []);
      let [start, number] = [0, 0];
      this.sentences = cut.map((/** @type {any} */ { text: own, space }) => {
        const isEmpty = !own.trim();
        if (!isEmpty) number += 1;
        const found = isEmpty ? null : known.get(own) ?? before[number - 1]?.found ?? null;
        const one = { text: own, space, start, number: isEmpty ? 0 : number, found, isOld: !known.has(own) };
        start += own.length + space.length;
        return one;
      });
      this.trouble = "";
      const waiting = this.sentences.filter(({ number: isOne, isOld }) => isOne && isOld);
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let one = waiting.shift(), i = 1; one; one = waiting.shift(), i += 1) {
          const found = await post("api/translate", { text: one.text, ...how }, asking);
          signal.throwIfAborted();
          Object.assign(one, { found, isOld: false });
          const drawn = this.#draw();
          if (i % GROUP === 0) await drawn;
        }
      }));
    } catch (error) {
      if (signal.aborted) return;
      this.sentences = [];
      this.trouble = /** @type {Error} */ (error).message;
    }
  }

  /** Draw soon, with all that is answered until then. */
  #draw() {
    this.soon ??= new Promise((drawn) => {
      setTimeout(() => { this.soon = null; this.requestUpdate(); drawn(); }, TOGETHER);
    });
    return this.soon;
  }

  /** @param {any} event */
  #typed({ target: { value: text } }) {
    clearTimeout(this.timer);
    this.lit = null;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.change({ text, sentence: 1, target: "", replace: {}, force: {} }, { typing: true });
      this.store.unpin({ typing: true });
    }, PAUSE);
    this.requestUpdate();
  }

  /** The sentence that the other views show, too. */
  get chosen() {
    const number = Math.max(1, Math.min(this.state.sentence, this.count));
    return this.sentences.find((one) => one.number === number) ?? null;
  }

  /** Whether the chosen sentence is not as the model has it, so that its translation is that of /api/run. */
  get isChanged() {
    const { replace, force, temperature } = this.state;
    return Boolean(Object.keys(replace).length || Object.keys(force).length || temperature !== 1);
  }

  /** What is written for a sentence, or null. @param {Sentence} one */
  #written(one, chosen = this.chosen) {
    const { data, busy } = this.run;
    if (one === chosen && this.isChanged) return data && { ...data, tokens: data.target, isOld: busy };
    const { translations: [best], translation } = one.found ?? { translations: [] };
    return best ? { ...best, translation, isOld: one.isOld } : null;
  }

  /** How many sentences there are. */
  get count() {
    return this.sentences.findLast(({ number }) => number)?.number ?? 0;
  }

  /** Whether there are several sentences, so that it has to be said which one is meant. */
  get isMany() {
    return this.count > 1;
  }

  draw() {
    const { sentences, run: { data, error, busy } } = this;
    const [from, to] = this.model.languages.map(languageName);
    const isAlone = this.store.panes.length === 1; // else the text is typed in its line above
    const field = /** @type {HTMLTextAreaElement | null} */ (this.querySelector("textarea"));
    const { chosen } = this;
    const text = this.timer && field ? field.value : this.state.text;
    const type = text.length < SHORT ? 1.9 : text.length < LONG ? 1.4 : 1.15;
    const trouble = this.trouble || (this.isChanged && error?.message); // else only what is beside it is missing
    const isGuess = isAlone && !busy && !trouble && data?.guessing;
    const guessing = isGuess && `${this.isMany ? `Sentence ${chosen?.number}: ` : ""}${data.guessing}`;
    const copy = html`<button class="button" type="button" @click=${this.#copy}>${this.said || "Copy"}</button>`;
    return html`<div class="translating" style=${styleMap({ "--type": `${type}em` })}>
      <section class="pane-of"><h2>${from}</h2><div class="typed">
        <div class="mirror" dir="auto" aria-hidden=${isAlone}>${this.#mirror(text)}</div>
        ${isAlone ? html`<textarea dir="auto" aria-label=${`Text in ${from}`} spellcheck="false" autocomplete="off"
          placeholder="Type or paste a text" .value=${live(text)} @input=${this.#typed}></textarea>` : nothing}
      </div></section>
      <section class="pane-of"><h2>${to} ${navigator.clipboard && sentences.length ? copy : nothing}</h2>
        <div class="output" aria-live="polite" aria-label=${`Translation into ${to}`}
          >${paragraphs(sentences).map((some) => html`<div dir="auto">${some.map((one) =>
            html`${this.#sentence(one, chosen)}${one.space}`)}</div>`)}</div>
        ${guessing ? html`<p class="guess" role="note">${guessing}</p>` : nothing}</section>
      ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : nothing}
      ${this.#alternatives()}</div>`;
  }

  /** What is typed, with the words lit up behind it. @param {string} text */
  #mirror(text) {
    if (!this.lit) return html`${text}${"\n"}`;
    const { start, end, spans, weights } = this.lit;
    const own = [...text.slice(start, end)]; // the service counts Unicode characters, a string here UTF-16
    const most = Math.max(...weights, LEAST);
    let at = 0;
    const parts = spans.map((/** @type {any} */ span, /** @type {number} */ i) => {
      const [before, word] = [own.slice(at, span.start).join(""), own.slice(span.start, span.end).join("")];
      const weight = ((weights[i] ?? 0) / most).toFixed(3);
      at = span.end;
      return html`${before}<mark style=${styleMap({ "--weight": weight })}>${word}</mark>`;
    });
    return html`${text.slice(0, start)}${parts}${own.slice(at).join("")}${text.slice(end)}${"\n"}`;
  }

  /**
   * A translated sentence: its tokens, underlined where the model was not sure.
   * @param {Sentence} one
   * @param {Sentence | null} chosen
   */
  #sentence(one, chosen) {
    const found = this.#written(one, chosen);
    if (!one.number) return nothing;
    if (!found) return html`<span class="soft">…</span>`;
    const isChosen = one === chosen;
    const selected = isChosen ? this.store.state.pin.step : null;
    const { chances, titles } = rated(found);
    const pointed = (/** @type {CustomEvent} */ event) => {
      event.stopPropagation();
      this.#point(one, found, event.detail?.at ?? null);
    };
    const picked = (/** @type {CustomEvent} */ event) => {
      event.stopPropagation();
      this.#choose(one, event.detail.at);
    };
    return html`<w-tokens class=${classMap({ old: found.isOld, here: isChosen && this.isMany })} mode="doubt"
      .tokens=${found.tokens} .values=${chances} .titles=${titles} .selected=${selected}
      name=${this.isMany ? `sentence ${one.number}` : "translation"} @w-hover=${pointed} @w-pick=${picked}
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
    const begun = (/** @type {string} */ token) => token.startsWith("·");
    const word = at === null ? -1 : found.tokens.slice(1, at + 1).filter(begun).length;
    const mine = at === null ? "" : `${one.start} ${word}`;
    if (mine === this.pointed) return;
    this.pointed = mine;
    if (at === null || !this.model.aligner || found.isOld) { // some models cannot tell
      this.lit = null;
      return;
    }
    try {
      const { off } = this.state;
      const body = { text: one.text, target: found.translation, ...(off.length ? { off } : {}) };
      const { source: spans, weights } = await post("api/align", body, { base: this.model.base });
      const { start, text } = one;
      if (this.pointed === mine) this.lit = { start, end: start + text.length, spans, weights: weights[word] ?? [] };
    } catch { /* nothing to light up */ }
  }

  /** The other translations of the chosen sentence, and how probable each is. */
  #alternatives() {
    const one = this.chosen;
    const translations = this.isChanged ? this.tree.data?.ended : one?.found?.translations;
    if (!one || !translations) return nothing;
    const [best] = translations;
    const list = translations.filter((/** @type {any} */ { text }, /** @type {number} */ i) =>
      translations.findIndex((/** @type {any} */ other) => other.text === text) === i);
    const whole = () => {
      this.change({ target: "" });
      this.store.set({ pin: { ...this.store.state.pin, step: null } });
    };
    const marked = (/** @type {string} */ text) => differing(text, best.text)
      .map(({ word, differs }) => (differs ? html`<em>${word}</em>` : word));
    const row = (/** @type {any} */ { text, score }) => html`<tr class=${text === best.text ? "winning" : ""}>
      <td dir="auto">${marked(text)}</td>
      <td class="number score">${fixed(score, 3)}</td>
      <td class="number change">${text === best.text ? "" : signed(score - best.score, 3)}</td></tr>`;
    const attends = this.model.traces.includes("attention");
    return html`<section class="alternatives">
      <h2>${this.isMany ? `Sentence ${one.number}: other translations` : "Other translations"}</h2>
      <div class="table-place stacked"><table>
        <thead><tr><th scope="col">translation</th>
          <th scope="col">${this.model.search.length_penalty === 1 ? "mean log-probability of a token" : "score"}</th>
          <th scope="col">difference from the best</th></tr></thead>
        <tbody>${list.map(row)}</tbody></table></div>
      <p class="links">${attends ? html`<a href="#/look" @click=${whole}>Where it looks</a>` : nothing}
        <a href="#/decide" @click=${whole}>How it was found</a></p></section>`;
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
    const { chosen } = this;
    const text = this.sentences.map((one) => `${this.#written(one, chosen)?.translation ?? ""}${one.space}`).join("");
    await navigator.clipboard.writeText(text);
    this.said = "Copied";
    setTimeout(() => { this.said = ""; }, 1200);
  }
}

/**
 * Sentences in blocks, so that the browser need not lay out all of a long text again for each of them.
 * @param {Sentence[]} sentences
 */
function paragraphs(sentences) {
  /** @type {Sentence[][]} */
  const found = [];
  sentences.forEach((one, i) => {
    if (!i || found[found.length - 1].length === MOST || sentences[i - 1].space.includes("\n")) found.push([]);
    found[found.length - 1].push(one);
  });
  return found;
}

/** @type {WeakMap<number[], {chances: number[], titles: string[]}>} */
const RATED = new WeakMap();

/** The probabilities of tokens, and in words: once, since equal lists need no drawing. @param {any} found */
function rated({ tokens, log_probs }) {
  const known = RATED.get(log_probs);
  if (known) return known;
  const chances = log_probs.map(Math.exp);
  const titles = chances.map((/** @type {number} */ chance, /** @type {number} */ i) =>
    `${label(tokens[i])}: ${percent(chance)}`);
  RATED.set(log_probs, { chances, titles });
  return { chances, titles };
}

define("v-run-translate", RunTranslate);
export const runTranslate = { name: "run", label: "Run", needs: ["run", "pairs"], tag: "v-run-translate",
  hasOwnInput: true, hasTarget: false };
