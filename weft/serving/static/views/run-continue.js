// @ts-check
// Run: a page of text that the model continues, token by token. Each written token shows the distribution it was drawn
// from; another token of it forks the text there, and the futures are a tree.

import { moved } from "weft/element.js";
import { counted, fixed, percent } from "weft/words.js";
import { post } from "../api.js";
import { View, classMap, define, html, nothing, repeat, styleMap } from "../view.js";
import { SAMPLING_KEYS, added, field, isText, reached, shaped, shaping, shown } from "./sampling.js";
import { Futures, abandon, areFutures, packed } from "./futures.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/tree.js";

const BARS = 12; // of a distribution
const PAUSE = 300; // milliseconds after the last key
const REST = 120; // milliseconds on a token before its whole distribution is asked for
const HINT = "Each token is underlined, the more the less likely it was. Point at one to see what it was drawn from. "
  + "Click it, then another: the text forks.";
const UNCHANGED = "Replaced and forced tokens do not hold here: the text is written as it stands.";

class RunContinue extends View {
  static properties = { whole: { state: true } };

  constructor() {
    super();
    this.texts = new Futures(this);
    /** @type {any} */ this.timer = 0;
    /** @type {any} */ this.resting = 0;
    this.place = ""; // what is pointed at
    /** @type {import("./sampling.js").Logits | null} the distribution there, once it is known */ this.whole = null;
  }

  /** There is something to do without a text, too; what is wrong with a future stands on the page. */
  problem() {
    return nothing;
  }

  willUpdate() {
    this.texts.writeNext();
    this.#point();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    abandon();
  }

  // What is done with it.

  /**
   * @param {Partial<import("./futures.js").Future>} future of which the rest is as it is chosen
   * @param {number} step that stays selected
   */
  #add(future, step = -1) {
    clearTimeout(this.timer);
    const text = /** @type {HTMLElement} */ (this.querySelector(".prompt")).textContent;
    const isNew = text !== this.state.text;
    const next = { from: -1, at: 0, text: "", ...this.state.sampling, ...(isNew ? {} : future) };
    const all = [...(isNew ? [] : this.texts.list), next];
    this.store.hover(null);
    if (step < 0) this.store.unpin();
    this.change({ text, futures: all.map(packed), future: all.length - 1 });
  }

  #goOn() {
    this.#add(this.texts.at < 0 ? {} : this.texts.place(this.texts.tokens(this.texts.at).length));
  }

  /** The same place once more, with the next seed. */
  #another() {
    const { from, at, text } = this.texts.list[this.texts.at];
    const same = this.texts.list.filter((one) => one.from === from && one.at === at && one.text === text);
    this.#add({ from, at, text, seed: Math.max(...same.map(({ seed }) => seed)) + 1 });
  }

  /** Write another token at a place, and go on from there. */
  #fork(step, text) {
    const before = this.texts.before(this.texts.at, step);
    this.#add({ ...this.texts.place(step), text: added(this.model, before, text) }, step);
  }

  #stop() {
    const { futures, keep } = this.texts.stopped();
    this.change({ futures: futures.map(packed) }, { typing: true });
    keep();
  }

  #begin(text) {
    clearTimeout(this.timer);
    this.store.unpin();
    this.change({ text, futures: [], future: 0 });
  }

  #typed(event) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#take(), PAUSE);
    event.stopPropagation();
  }

  /** Take what was typed into the state. */
  #take() {
    clearTimeout(this.timer);
    const text = this.querySelector(".prompt")?.textContent ?? "";
    if (text !== this.state.text) this.change({ text, futures: [], future: 0 }, { typing: true });
  }

  // The distribution of a token.

  /** Ask for the whole distribution of the token that is pointed at. */
  #point() {
    const { step } = this.selection;
    const token = step === null ? null : this.texts.tokens(this.texts.at)[step];
    const place = token ? `${step} ${this.texts.before(this.texts.at, step)}` : "";
    if (place === this.place) return;
    this.place = place;
    this.whole = null;
    clearTimeout(this.resting);
    if (!token) return;
    const before = this.texts.before(this.texts.at, step);
    this.resting = setTimeout(async () => {
      try {
        const { text } = await reached(this.model, before);
        const found = await post("api/next", { text, off: this.state.off }, { base: this.model.base });
        if (place === this.place && agrees(found, before, token, this.model)) this.whole = found;
      } catch { /* the five likeliest are there */ }
    }, REST);
  }

  /** What might have been written at a place. @returns {{rows: any[], caption: any, texts: string[]}} */
  #others(step) {
    const token = this.texts.tokens(this.texts.at)[step];
    const before = this.texts.before(this.texts.at, step);
    const future = this.texts.list[this.texts.owner(step)];
    const same = (text) => added(this.model, before, text) === token.text;
    const sampling = { ...future, temperature: future.temperature * this.state.temperature };
    const natural = sampling.temperature === 1 && !sampling.top_k && sampling.top_p === 1;
    if (!this.whole) {
      const rows = token.top.map(([text, logProb]) => bar(text, Math.exp(logProb), same(text), isText(text)));
      const how = natural ? "Drawn with" : "By the model itself, it has";
      const own = token.logProb === null ? nothing
        : html`${how} probability <b class="number">${percent(Math.exp(token.logProb))}</b>.`;
      return { rows, texts: token.top.map(([text]) => text), caption: own };
    }
    const { tokens, log_sum } = this.whole;
    const { chances } = shaped(this.whole, sampling);
    const at = tokens.findIndex(({ text }) => same(text));
    const listed = tokens.map((_, i) => i).filter((i) => i < BARS || i === at);
    const rows = listed.map((i) => bar(tokens[i].text || tokens[i].token, chances[i], i === at, isText(tokens[i].text),
      `by the model itself ${percent(Math.exp(tokens[i].logit - log_sum))}`));
    const how = token.logProb === null ? "Chosen by hand; it would be drawn" : "Drawn";
    const chance = (value) => html`<b class="number">${percent(value)}</b>`;
    const model = natural || at < 0 ? nothing
      : html`; the model's own is ${chance(Math.exp(tokens[at].logit - log_sum))}`;
    const odds = at < 0 ? nothing : html`${how} with probability ${chance(chances[at])}${model}, number ${at + 1} of ${
      counted(this.whole.vocabulary, "token")}.`;
    return { rows, texts: listed.map((i) => tokens[i].text), caption: odds };
  }

  // What is seen.

  controls() {
    const { isWriting, at } = this.texts;
    const main = (name, act) => html`<button type="button" class="button main" title="Ctrl + Enter"
      @click=${() => this.#all(act)}>${name}</button>`;
    return html`${isWriting ? main("Stop", "stop") : main(at < 0 ? "Continue" : "Go on", "goOn")}
      ${at < 0 || isWriting ? nothing : html`
        <button type="button" class="button" title="The same place with the next seed"
          @click=${() => this.#all("another")}>Another</button>
        <button type="button" class="button"
          @click=${() => this.#begin(this.texts.before(at, Infinity))}>Use as text</button>`}
      ${shaping(this)} ${field(this, "Tokens", "tokens")} ${field(this, "Seed", "seed")}`;
  }

  /** The space key: go on, or stop. */
  step() {
    if (this.pane === "a") this.#all(this.texts.isWriting ? "stop" : "goOn");
  }

  /** One button for both panes. */
  #all(act) {
    const panes = /** @type {any[]} */ ([...document.querySelectorAll("v-run-continue")]);
    for (const pane of panes.filter((one) => one === this || one.store.state.b?.futures)) pane.act(act);
  }

  /** @param {"goOn" | "another" | "stop"} act */
  act(act) {
    if (act === "stop") this.#stop();
    else if (act === "another") this.#another();
    else this.#goOn();
  }

  draw() {
    const { at } = this.texts;
    const all = this.texts.tokens(at);
    const written = this.texts.written(at);
    const isChanged = ["replace", "force"].some((name) => Object.keys(this.state[name]).length);
    const csv = () => [["token", "log_prob"], ...all.map(({ text, logProb }) => [text, logProb ?? ""])];
    const count = this.texts.list.length;
    return html`<div class="continuing">
      <w-figure label="Text" .note=${this.#told(written, all.length)} .caption=${this.made(this.#command())}
        .command=${this.#command()} .csv=${csv}>
        <div class="sheet" @click=${this.#toPrompt}>
          ${this.#page(all, written)}
          ${written?.error ? html`<p class="trouble" role="alert">${written.error.message}</p>` : nothing}
          ${isChanged ? html`<p class="caption">${UNCHANGED}</p>` : nothing}
          ${at < 0 ? this.#examples() : nothing}
        </div>
      </w-figure>
      ${count > 1 ? html`<w-figure class="futures" label="Futures" .note=${`${count}; click one to go back to it`}
        .caption=${this.made()}>
        <w-tree name="futures of the text" .root=${this.texts.tree()}
          @w-pick=${({ detail }) => this.#go(detail.id)}></w-tree>
      </w-figure>` : nothing}
    </div>`;
  }

  /** The prompt, which can be edited, and what is written after it. */
  #page(all, written) {
    const { step } = this.store.state.pin;
    const token = ({ text, logProb }, i) => {
      if (!text) return nothing; // a part of a character
      const point = () => this.tell("hover", { step: i });
      return html`<span role="option" id=${this.#id(i)} aria-selected=${i === step}
        aria-label=${text.trim() ? nothing : shown(text)}
        class=${classMap({ token: true, chosen: i === this.selection.step, byhand: logProb === null,
          doubt: logProb !== null })}
        style=${styleMap(logProb === null ? {} : { "--doubt": (1 - Math.exp(logProb)).toFixed(2) })}
        @mouseenter=${point} @click=${() => this.tell("pick", { step: i })}>${text}</span>`;
    };
    const active = this.selection.step === null ? nothing : this.#id(this.selection.step);
    return html`<div class="page" dir="auto"><span class="prompt" role="textbox" aria-multiline="true" tabindex="0"
      aria-label="Text to continue" data-placeholder="Type the beginning of a text" spellcheck="false"
      @input=${this.#typed} @blur=${this.#take} @keydown=${this.#entered}></span><span class="continued" role="listbox"
      tabindex=${all.length ? 0 : -1} aria-activedescendant=${active} aria-label="Continuation"
      aria-orientation="horizontal" @keydown=${this.#move}
      @mouseleave=${() => this.tell("hover", null)}>${repeat(all, (_, i) => `${this.texts.at} ${i}`, token)}</span>${
        written?.isDone === false ? html`<span class="caret"></span>` : nothing}</div>`;
  }

  /** The command that writes the last piece of the future. */
  #command() {
    const { temperature, top_k, top_p, tokens, seed } = this.texts.list[this.texts.at] ?? this.state.sampling;
    const cuts = `${top_k ? ` --top-k ${top_k}` : ""}${top_p < 1 ? ` --top-p ${top_p}` : ""}`;
    const text = (this.texts.written(this.texts.at)?.before ?? this.state.text).replaceAll("'", "'\\''");
    const drawn = `--temperature ${temperature}${cuts} --max-tokens ${tokens} --seed ${seed}`;
    return `echo '${text}' | weft generate ${this.model.name} ${drawn}`;
  }

  #examples() {
    const one = ({ name, text, note }) => html`<button type="button" class="button" title=${text}
      @click=${() => this.#begin(text)}>${name}${note ? html` <small>${note}</small>` : nothing}</button>`;
    return html`<p class="begin"><span class="soft">Begin with</span> ${this.model.examples.map(one)}</p>`;
  }

  #told(written, count) {
    if (!written) return "Ctrl + Enter continues it";
    const speed = written.seconds ? `, ${(written.tokens.length / written.seconds).toFixed(0)} per second` : "";
    const end = { stop: ", the end", stopped: ", stopped" }[written.finish] ?? "";
    return html`<span role="status">${counted(count, "token")}${speed}${end}</span>`;
  }

  #go(id) {
    if (id === "prompt") return;
    this.store.hover(null);
    this.change({ future: Number(id.split(".")[0]) });
  }

  inspector() {
    if (this.texts.at < 0) return nothing;
    const { step } = this.selection;
    const token = step === null ? null : this.texts.tokens(this.texts.at)[step];
    if (!token) return html`<p class="caption hint">${HINT}</p>`;
    const { rows, caption, texts } = this.#others(step);
    return html`<h3>${shown(token.text)} <span class="soft">token ${step + 1}</span></h3>
      <p class="caption">${caption}</p>
      <w-bars name="what might have been written" pickable .rows=${rows}
        .most=${Math.max(...rows.map(({ value }) => value), 0.01)} @w-pick=${(event) => {
        event.stopPropagation();
        const text = texts[event.detail.index];
        const isOther = added(this.model, this.texts.before(this.texts.at, step), text) !== token.text;
        if (isText(text) && isOther) this.#fork(step, text);
      }} @w-hover=${(event) => event.stopPropagation()}></w-bars>`;
  }

  spoken() {
    const { step } = this.selection;
    const token = step === null || this.texts.at < 0 ? null : this.texts.tokens(this.texts.at)[step];
    return token?.logProb === null || !token ? "" : `${shown(token.text)}: log-probability ${fixed(token.logProb,
      2)}, ${percent(Math.exp(token.logProb))} by the model itself`;
  }

  // The prompt is edited in its place.

  firstUpdated() {
    const field = /** @type {HTMLElement} */ (this.querySelector(".prompt"));
    try {
      field.contentEditable = "plaintext-only";
    } catch { // older browsers
      field.contentEditable = "true";
    }
  }

  updated() {
    super.updated();
    const field = /** @type {HTMLElement} */ (this.querySelector(".prompt"));
    if (document.activeElement !== field && field.textContent !== this.state.text) field.textContent = this.state.text;
    const written = this.texts.written(this.texts.at);
    const sheet = /** @type {HTMLElement} */ (this.querySelector(".sheet"));
    // what is written stays in sight
    if (written && !written.isDone && this.selection.step === null) sheet.scrollTop = sheet.scrollHeight;
  }

  /** A click beside the text is one into it. */
  #toPrompt(event) {
    if (event.target === event.currentTarget) /** @type {HTMLElement} */ (this.querySelector(".prompt")).focus();
  }

  #entered(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!this.texts.isWriting) this.#goOn();
  }

  /** @param {number} step */
  #id(step) {
    return `${this.pane}-written-${step}`;
  }

  #move(event) {
    const tokens = this.texts.tokens(this.texts.at);
    const seen = tokens.map((_, i) => i).filter((i) => tokens[i].text);
    const { step } = this.selection;
    const to = moved(event, seen.indexOf(step), seen.length, ["ArrowLeft"], ["ArrowRight"]);
    if (to !== null && seen.length) {
      this.tell("hover", { step: seen[to] });
      this.querySelector(`#${this.#id(seen[to])}`)?.scrollIntoView({ block: "nearest" });
    } else if (step !== null && (event.key === "Enter" || event.key === " ")) this.tell("pick", { step });
    else return;
    event.preventDefault();
  }
}

/**
 * @param {string} text
 * @param {number} value
 * @param {boolean} chosen
 * @param {boolean} can whether it can be written
 * @param {string} [title]
 */
function bar(text, value, chosen, can, title) {
  return { label: shown(text), value, number: value ? percent(value) : "cut off", chosen, dim: !value || !can,
    title: can ? title : "Not a text by itself" };
}

/**
 * Whether a distribution is the one that a token was drawn from: a text may be cut into tokens in another way than it
 * was written.
 * @param {any} found @param {string} before @param {import("./futures.js").Token} token
 * @param {any} model
 */
function agrees(found, before, token, model) {
  if (token.logProb === null) return true;
  const own = found.tokens.find(({ text }) => added(model, before, text) === token.text);
  return own ? Math.abs(own.logit - found.log_sum - token.logProb) < 0.02 : found.vocabulary > found.tokens.length;
}

define("v-run-continue", RunContinue);
export const runContinue = {
  name: "run", label: "Run", needs: ["complete"], tag: "v-run-continue", hasOwnInput: true, hasTarget: false,
  keys: { ...SAMPLING_KEYS, futures: { first: [], allowed: areFutures }, future: { first: 0,
    allowed: (value) => Number.isInteger(value) && value >= 0 } },
};
