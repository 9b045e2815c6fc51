// @ts-check
// Decide, for a language model: the likeliest next tokens beside the caret, as temperature, top-k and top-p reshape
// them, and what each layer would write. A click writes one, the space key draws one.

import { counted, percent } from "weft/words.js";
import { View, define, html, keyed, nothing } from "../view.js";
import { SAMPLING_KEYS, added, drawn, field, isText, reached, shaped, shaping, shown, whole } from "./sampling.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/lens.js";

const BARS = 40;
const LAYER = 70; // milliseconds for a layer of the lens to fill
const DROP = 260; // and for the word to drop

class DecideNext extends View {
  static properties = {
    window: { state: true }, // the end of the text that the model sees
    isFilling: { state: true },
    told: { state: true },
    parts: { state: true }, // of a character, which are written, but no text yet
  };

  constructor() {
    super();
    /** @type {{text: string, from: number, context: number | null} | null} */ this.window = null;
    this.measured = "";
    this.isFilling = false;
    this.told = "";
    /** @type {string[]} */ this.parts = [];
    this.dropped = ""; // the token that was written last
    this.isCurrent = false; // whether the window is of this text
    this.isOwed = false; // a token is to be drawn as soon as its probabilities are there
    const seen = () => ({ text: this.window?.text, target: null, force: { ...this.parts } });
    this.next = this.ask(() => (this.window ? ["api/next", { ...seen(), step: this.parts.length }] : null));
    this.lens = this.ask(() => (this.window && this.model.traces.includes("lens") ? ["api/lens",
      { ...seen(), target: "" }] : null));
  }

  willUpdate() {
    const { text } = this.state;
    const key = `${this.model.base} ${text}`;
    if (key === this.measured) return;
    this.measured = key;
    this.told = "";
    this.parts = [];
    this.isCurrent = this.isOwed = false;
    if (!text.endsWith(this.dropped)) this.dropped = "";
    const found = (window) => {
      if (key === this.measured) Object.assign(this, { window, isCurrent: true });
    };
    reached(this.model, text).then(found, () => found({ text, from: 0, context: null }));
  }

  updated() {
    super.updated();
    if (this.isOwed && this.isReady) this.step();
  }

  /** Whether the probabilities are those after this text. */
  get isReady() {
    return this.isCurrent && this.next.data && !this.next.busy;
  }

  /** The probabilities that the next token is drawn with. */
  get shaped() {
    const { sampling, temperature } = this.state;
    return shaped(this.next.data, { ...sampling, temperature: sampling.temperature * temperature });
  }

  /** Write one of the likeliest tokens, and go on. */
  #write(index) {
    const { token, text } = this.next.data.tokens[index];
    const before = this.state.text;
    const parts = [...this.parts, token];
    const more = isText(text) && !this.parts.length ? added(this.model, before, text) : whole(token === "∎" ? []
      : parts);
    if (more === null) this.parts = parts;
    if (!more) {
      this.told = more === null ? `${parts.join("")} is a part of a character.` : token === "∎"
        ? "The model ends the text here." : `${parts.join("")} is no text.`;
      return;
    }
    this.dropped = more;
    this.store.unpin();
    this.change({ text: before + more, futures: [], future: 0 });
  }

  /** Draw one token: the lens fills layer by layer, and the word drops into the text. */
  step() {
    if (this.problem() !== nothing) return;
    this.isOwed = !this.isReady;
    if (this.isOwed) return;
    const { text, sampling } = this.state;
    const { tokens } = this.next.data;
    const chances = this.shaped.chances.map((one, i) =>
      (tokens[i].token === "∎" || (isText(tokens[i].text) && !this.parts.length)
        || whole([...this.parts, tokens[i].token]) !== "" ? one : 0));
    if (!chances.some(Boolean)) return;
    const index = drawn(chances, text + this.parts.join(""), sampling.seed);
    clearTimeout(this.timer);
    if (this.isFilling || !this.lens.data || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.isFilling = false;
      this.#write(index);
      return;
    }
    this.isFilling = true;
    this.timer = setTimeout(() => {
      this.isFilling = false;
      if (text === this.state.text) this.#write(index);
    }, this.lens.data.layers.length * LAYER + DROP);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
    this.isFilling = false;
  }

  controls() {
    return html`<button type="button" class="button main" title="Space" @click=${() => steps()}>Draw one</button>
      <button type="button" class="button" ?disabled=${!this.state.text} @click=${() => this.#back()}>Take back</button>
      ${shaping(this)} ${field(this, "Seed", "seed")}`;
  }

  /** Take the last token back. */
  #back() {
    const { text } = this.state;
    if (this.parts.length) {
      this.parts = [];
      this.told = "";
      return;
    }
    const last = this.lens.data?.tokens.at(-1);
    const size = this.dropped && text.endsWith(this.dropped) ? this.dropped.length : last === "↵" ? 1
      : [...(last ?? "x")].length;
    this.dropped = "";
    this.change({ text: [...text].slice(0, -size).join(""), futures: [], future: 0 });
  }

  draw() {
    const { text } = this.state;
    const { window, dropped } = this;
    const from = window && text.endsWith(window.text) ? window.from : 0;
    const end = dropped && text.endsWith(dropped) ? text.length - dropped.length : text.length;
    return html`<div class="choosing">
      <w-figure label="Text" .note=${this.told || (window?.context
        ? `the model sees the last ${counted(window.context - 1, "token")}` : "space draws a token")}
        .caption=${this.made()}>
        <div class="sheet"><p class="page" dir="auto"><span class="unseen">${text.slice(0,
          from)}</span>${text.slice(from, end)}${end < text.length
          ? keyed(text, html`<span class="dropped">${text.slice(end)}</span>`) : nothing}<span
          class="unseen">${this.parts.join("")}</span><span class="caret"></span></p></div>
      </w-figure>
      ${this.#bars()}
      ${this.lens.data ? html`<w-figure class="through" label="Lens"
        .note=${"what each layer would write if it were the last"} .caption=${this.made()} .csv=${() => this.#cells()}>
        <w-lens ?data-filling=${this.isFilling} .answer=${this.lens.data} .selected=${this.#selected()}
          @w-pick=${({ detail }) => {
          if (this.isFilling) return;
          this.store.pin({ query: detail.query }, { toggle: true });
        }}></w-lens></w-figure>` : nothing}
    </div>`;
  }

  #selected() {
    const { query } = this.selection;
    return query ?? this.lens.data.tokens.length - 1;
  }

  #bars() {
    const { data } = this.next;
    if (!data) return html`<div class="beside"></div>`;
    const { chances, rest } = this.shaped;
    const own = data.tokens.map(({ logit }) => Math.exp(logit - data.log_sum));
    const rows = data.tokens.slice(0, BARS).map(({ token, text }, i) => ({
      label: shown(isText(text) ? text : token), value: chances[i], number: chances[i] ? percent(chances[i])
        : "cut off", dim: !chances[i],
      title: `by the model itself ${percent(own[i])}`,
    }));
    const kept = chances.filter((one) => one > 0).length;
    const others = rest > 0
      ? html`<p class="caption">${percent(rest)} for those beyond the ${counted(data.tokens.length,
      "likeliest token")}</p>` : nothing;
    const csv = () => [["token", "logit", "probability", "drawn_with"], ...data.tokens.map(({ token,
      logit }, i) =>
      [token, logit, own[i], chances[i]])];
    return html`<w-figure class="beside" label="Next token"
      .note=${`${rest > 0 ? "all" : kept} of ${data.vocabulary.toLocaleString("en")} left`}
      .caption=${this.made("", ...this.#settings())}
        .csv=${csv}>
      <w-bars name="the likeliest next tokens" pickable .rows=${rows} .most=${Math.max(...chances)}
        @w-hover=${(event) => event.stopPropagation()}
        @w-pick=${(event) => {
          event.stopPropagation(); this.#write(event.detail.index); }}></w-bars>${others}</w-figure>`;
  }

  /** What the probabilities are reshaped by; a what-if has a temperature of its own. */
  #settings() {
    const { temperature, top_k, top_p } = this.state.sampling;
    return [`sampling temperature ${temperature}`, top_k ? `top-k ${top_k}` : "", top_p < 1 ? `top-p ${top_p}` : ""];
  }

  #cells() {
    const { tokens, layers, cells } = this.lens.data;
    return [["reads", ...layers.flatMap((layer) => [`${layer} writes`, "probability"])],
      ...tokens.map((token, i) =>
      [token, ...cells.flatMap((row) => [row[i].token, row[i].probability])])];
  }

  spoken() {
    const { data } = this.next;
    if (!data) return "";
    const { chances } = this.shaped;
    const said = data.tokens.slice(0, 3).map(({ token }, i) =>
      `${shown(token)} ${percent(chances[i])}`);
    return `${this.dropped ? `${shown(this.dropped)} was written. ` : ""}Next: ${said.join(", ")}`;
  }
}

/** One token in every pane. */
function steps() {
  for (const view of /** @type {any[]} */ ([...document.querySelectorAll("v-decide-next")])) view.step();
}

define("v-decide-next", DecideNext);
export const decideNext = { name: "decide", label: "Decide", needs: ["next", "complete"], tag: "v-decide-next",
  hasTarget: false, keys: SAMPLING_KEYS };
