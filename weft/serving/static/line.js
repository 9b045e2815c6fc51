// @ts-check
// The line of input of a pane: the text, which sentence of it, a translation that is given, examples, and what-ifs.

import { menu, numbers } from "weft/controls.js";
import { Element, define, html, live, nothing } from "weft/element.js";
import { WHAT_IF, Watching } from "weft/store.js";
import { label } from "weft/words.js";
import { post } from "./api.js";
import { hasPairs, looked } from "./view.js";

const [LEAST, MOST] = [12, 200]; // characters of a text that make its field wider
const LINES = 3.6; // a field that is higher, in units of its type, has more than two lines
const PAUSE = 300; // milliseconds after the last key before it is asked about

export class Line extends Element {
  static properties = {
    store: { attribute: false },
    model: { attribute: false },
    models: { attribute: false }, // all that are served
    languages: { attribute: false }, // names
    pane: { type: String, reflect: true },
    hasTarget: { type: Boolean }, // whether a translation can be given
    place: { state: true }, // {text, number, of}
    stood: { state: true }, // what stood where something else is put
  };

  constructor() {
    super();
    /** @type {import("weft/store.js").Store} */ this.store = /** @type {any} */ (undefined);
    /** @type {any} */ this.model = null;
    /** @type {any[]} */ this.models = [];
    /** @type {string[]} */ this.languages = [];
    /** @type {"a" | "b"} */ this.pane = "a";
    this.hasTarget = false;
    this.place = { text: "", number: 1, of: 1 };
    /** @type {{replace: Record<string, string>, force: Record<string, string>}} */
    this.stood = { replace: {}, force: {} };
    this.compared = "";
    /** @type {any} */ this.timer = 0;
    this.watching = new Watching(this, () => this.store);
  }

  #typed(event, key) {
    const { value } = /** @type {HTMLTextAreaElement} */ (event.target);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.#set({ [key]: value }, true);
    }, PAUSE);
  }

  #entered(event, key) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    clearTimeout(this.timer);
    this.timer = 0;
    this.#set({ [key]: /** @type {HTMLTextAreaElement} */ (event.target).value }, false);
  }

  #set(change, typing) {
    const other = "text" in change ? { sentence: 1, target: "", replace: {}, force: {}, futures: [] } : {};
    this.store.hover(null);
    this.store.change(this.pane, { ...other, ...change }, { typing });
    if (this.pane === "a") this.store.unpin({ typing });
  }

  willUpdate() {
    this.#compare();
    const { text, sentence } = this.store.of(this.pane);
    const asked = `${text} ${sentence} ${this.model.base}`;
    if (asked === this.asked) return;
    this.asked = asked;
    looked(this.store, this.pane, this.model).then((place) => { if (asked === this.asked) this.place = place; },
      () => {});
  }

  /** Ask what stands where something is replaced or forced. */
  #compare() {
    const { store, pane, model } = this;
    const { text, sentence, replace, force } = store.of(pane);
    const places = { replace: Object.keys(replace), force: Object.keys(force) };
    const fields = store.request(pane);
    const asked = places.replace.length + places.force.length ? JSON.stringify([text, sentence, fields, model.base])
      : "";
    if (asked === this.compared) return;
    this.compared = asked;
    this.stood = { replace: {}, force: {} };
    if (!asked) return;
    const isOf = (/** @type {string[]} */ tokens, /** @type {string[]} */ all) =>
      Object.fromEntries(all.filter((at) => tokens[Number(at)]).map((at) => [at, label(tokens[Number(at)])]));
    const run = async (/** @type {object} */ change) => {
      const { text: own } = await looked(store, pane, model);
      return post("api/run", { text: own, ...fields, ...change }, { base: model.base });
    };
    const tell = (/** @type {"replace" | "force"} */ what, /** @type {any} */ found) => {
      if (asked === this.compared) this.stood = { ...this.stood, [what]: { ...this.stood[what], ...found } };
    };
    const quiet = () => {}; // the view says what is wrong
    if (places.replace.length) run(WHAT_IF).then((plain) =>
      tell("replace", isOf(hasPairs(model) ? plain.source : plain.text_tokens, places.replace)), quiet);
    for (const at of places.force) {
      const earlier = Object.fromEntries(Object.entries(force).filter(([step]) => Number(step) < Number(at)));
      run({ force: earlier }).then(({ target }) => tell("force", isOf(target, [at])), quiet);
    }
  }

  render() {
    const { store, pane, model } = this;
    const state = store.of(pane);
    const isPair = hasPairs(model);
    const known = store.known[pane] ?? { translation: "" };
    const { number, of, text: sentence } = this.place;
    const name = isPair ? this.languages[0] : "Text";
    // fields are as wide as their texts are long
    const long = (/** @type {string} */ text = "") => `--long: ${Math.max(LEAST, Math.min(text.length, MOST))}`;
    return html`<div class="line">
      ${store.panes.length > 1 ? html`<b class="pane-name">${pane.toUpperCase()}</b>` : nothing}
      ${pane === "b" && this.models.length > 1 ? menu("model of B", this.models.map((one) => [one.name, one.name]),
        state.model || this.models[0].name,
        (chosen) => store.change("b", { model: chosen, off: [], replace: {}, force: {} })) : nothing}
      <label class="field" style=${long(state.text)}><span>${name}</span><textarea rows="1" dir="auto"
        spellcheck="false" autocomplete="off"
        placeholder="Type or paste a text"
        data-field="text" .value=${live(this.timerOf("text") ?? state.text)} @input=${(event) => this.#typed(event,
          "text")}
        @keydown=${(event) => this.#entered(event, "text")}></textarea></label>
      ${of > 1 ? html`<span class="origin control"><span>Sentence</span>${menu("number of the sentence", numbers(of),
        number,
        (next) => store.change(pane, { sentence: Number(next), target: "" }))}<span>of ${of}</span><q
          dir="auto" title=${sentence}>${sentence}</q></span>` : nothing}
      ${isPair && this.hasTarget ? html`<label class="field target"
        style=${long(state.target || known.translation)}><span>${this.languages[1]}</span><textarea rows="1"
        dir="auto" spellcheck="false" autocomplete="off"
        placeholder=${known.translation} data-field="target" .value=${live(state.target)}
          @input=${(event) => this.#typed(event, "target")}
        @keydown=${(event) => this.#entered(event, "target")}></textarea></label>` : nothing}
      ${!isPair && this.hasTarget && known.translation ? html`<span class="origin
        control"><span>likeliest continuation</span><q dir="auto"
          title=${known.translation}>${known.translation}</q></span>` : nothing}
      ${pane === "a" ? this.#examples() : nothing}
    </div>${known.guessing ? html`<p class="guessing" role="note">${known.guessing}</p>`
      : nothing}${this.#whatIfs(state)}`;
  }

  /** While someone types, the field keeps what is typed. @param {string} key */
  timerOf(key) {
    const field = /** @type {HTMLTextAreaElement | null} */ (this.querySelector(`[data-field=${key}]`));
    return field && field === document.activeElement && this.timer ? field.value : null;
  }

  #examples() {
    const { examples } = this.model;
    if (!examples.length) return nothing;
    return html`<details class="menu examples" @focusout=${closed} @keydown=${(event) => event.key === "Escape"
      && shut(event)}>
      <summary>Examples</summary><div>${examples.map((/** @type {any} */ { name, text, note }) => html`<button
        type="button" title=${text}
        @click=${(event) => { shut(event); clearTimeout(this.timer); this.timer = 0; this.#set({ text },
          false); }}>${name}${note ? html` <small>${note}</small>` : nothing}</button>`)}</div></details>`;
  }

  /** What is changed in the model or its input; each can be taken back. */
  #whatIfs(/** @type {any} */ { off, replace, force, temperature }) {
    const kind = (name) => this.model.kinds.find((one) => one.name === name)?.label ?? name;
    const { stood } = this;
    const plain = (/** @type {any} */ token) => String(token).replaceAll("·", " ").trim();
    const chips = [
      ...off.map((head) => [`${kind(head.kind)} ${head.layer}·${head.head} off`,
        { off: off.filter((one) => one !== head) }]),
      ...Object.entries(replace).map(([at, token]) => [`${stood.replace[at] ?? `token ${Number(at) + 1}`} → ${
        plain(token) || "nothing"}`, { replace: without(replace, at) }]),
      ...Object.entries(force).map(([at, token]) => [`${stood.force[at] ?? `step ${Number(at) + 1}`} → ${
        plain(token) || label(String(token))}`, { force: without(force, at) }]),
      ...(temperature === 1 ? [] : [[`temperature ${temperature}`, { temperature: 1 }]]),
    ];
    if (!chips.length) return nothing;
    return html`<div class="what-ifs" role="group"
      aria-label=${`What if, ${this.pane.toUpperCase()}`}><span>${this.store.panes.length > 1
        ? html`<b class="pane-name">${this.pane.toUpperCase()}</b> what if` : "What if"}</span>${chips.map(([text,
        change]) =>
        html`<button type="button" class="what-if"
      title="Take it back" aria-label=${`take back: ${text}`} @click=${() => this.store.change(this.pane,
        change)}>${text} <span aria-hidden="true">×</span></button>`)}</div>`;
  }

  updated() {
    for (const field of this.querySelectorAll("textarea")) grown(field);
  }
}

/** @param {Record<string, string>} all @param {string} at */
function without(all, at) {
  const { [at]: gone, ...rest } = all;
  return rest;
}

/** @param {Event} event */
function shut(event) {
  const menu = /** @type {HTMLElement} */ (event.target).closest("details");
  if (menu) menu.open = false;
}

/** @param {FocusEvent} event */
function closed(event) {
  const menu = /** @type {HTMLDetailsElement} */ (event.currentTarget);
  if (event.relatedTarget && !menu.contains(/** @type {Node} */ (event.relatedTarget))) menu.open = false;
}

/**
 * Make a field as high as its text or placeholder: two lines at most, and more while someone writes in it.
 * @param {HTMLTextAreaElement} field
 */
function grown(field) {
  field.style.height = "auto";
  const { scrollHeight: height } = field;
  field.style.height = `${height}px`;
  const isCut = height > LINES * parseFloat(getComputedStyle(field).fontSize);
  field.parentElement?.toggleAttribute("data-cut", isCut);
  field.title = isCut ? field.value || field.placeholder : "";
}

define("w-input", Line);
