// @ts-check
// Change: heads switched off, tokens replaced, words forced, and what becomes of what the model writes.

import { segmented } from "weft/controls.js";
import { counted, differing, fixed, isEnd, label, percent, signed } from "weft/words.js";
import { lines } from "../api.js";
import { View, define, hasPairs, html, looked, nothing } from "../view.js";
import { forced, likeliest, rivals } from "./forcing.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/grid.js";
import "weft/tokens.js";

const RIVALS = 10; // tokens that could stand in the place of one
const [SOME, MANY] = [8, 16]; // more heads of a layer: boards below each other; cells without a number
const LEAST = 0.0001; // nats: the scale of effects is never shorter
const WORSE = -0.0005; // a change of the score that counts
const SCORE = "mean log-probability of a token";
const UNCHANGED = { off: [], replace: {}, force: {}, temperature: 1 };

/** @typedef {import("weft/store.js").Head} Head */
/** @typedef {"many" | "here" | "none"} Measure over many texts, for this one, or not shown */

const key = (/** @type {Head} */ { kind, layer, head }) => `${kind} ${layer} ${head}`;
const is = (/** @type {Head} */ a, /** @type {Head} */ b) => key(a) === key(b);
const among = (/** @type {Head[]} */ heads, /** @type {Head} */ one) => heads.some((other) => is(one, other));
const stop = (/** @type {Event} */ event) => event.stopPropagation();

class Change extends View {
  static properties = {
    by: { state: true }, // Measure: which effect shades the heads
    falls: { state: true }, // of this text, by head: what the score falls by without it
    trouble: { state: true },
    at: { state: true }, // the token of the text that is chosen, from 0; one that is written is the step that is pinned
  };

  constructor() {
    super();
    /** @type {Measure | ""} */ this.by = "";
    /** @type {Map<string, number> | null} */ this.falls = null;
    this.trouble = "";
    /** @type {number | null} */ this.at = null;
    this.measuring = new AbortController();
    this.measured = ""; // what `falls` are of
    this.plain = this.ask(() => ["api/run", UNCHANGED], { quiet: true });
    this.changed = this.ask(() => ["api/run", { top: RIVALS }]);
    this.without = this.ask(() => (this.off.length ? ["api/off", { off: this.off }] : null), { quiet: true });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.measuring.abort();
  }

  /** The heads that are off and that this model has. @returns {Head[]} */
  get off() {
    return this.state.off.filter((/** @type {Head} */ { kind, layer, head }) =>
      head <= (this.model.heads[kind]?.each[layer - 1] ?? 0));
  }

  /** All heads. @returns {Head[]} */
  get heads() {
    return this.model.kinds.flatMap((/** @type {any} */ { name: kind }) =>
      this.model.heads[kind].each.flatMap((/** @type {number} */ count, /** @type {number} */ layer) =>
        Array.from({ length: count }, (_, head) => ({ kind, layer: layer + 1, head: head + 1 }))));
  }

  get given() {
    return this.state.target.trim();
  }

  get hasHeads() {
    return this.model.traces.includes("importance");
  }

  // What heads do.

  /** What their effect depends on. */
  get asked() {
    const { text, sentence } = this.state;
    return JSON.stringify([text, sentence, { ...this.store.request(this.pane), off: [] }, this.model.base]);
  }

  willUpdate() {
    this.by ||= this.#first;
    if (this.measured && this.measured !== this.asked) this.#forget();
  }

  /** @returns {Measure} */
  get #first() {
    return this.model.heads_ranked ? "many" : "none";
  }

  #forget() {
    this.measuring.abort();
    this.measured = this.trouble = "";
    this.falls = null;
    if (this.by === "here") this.by = this.#first;
  }

  /** Switch off one head after the other; each fills its cell as it comes. */
  async #measure() {
    this.#forget();
    this.by = "here";
    this.measured = this.asked;
    this.falls = new Map();
    this.measuring = new AbortController();
    const { signal } = this.measuring;
    try {
      const { text } = await looked(this.store, this.pane, this.model);
      const body = { text, ...this.store.request(this.pane), off: [] };
      for await (const one of lines("api/importance", body, { signal, base: this.model.base })) {
        if (signal.aborted) return;
        if ("fall" in one) this.falls = new Map(this.falls).set(key(one), one.fall);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#forget();
      this.trouble = /** @type {Error} */ (error).message;
    }
  }

  /** The effect of each head that is known, in nats a token. @returns {Map<string, number>} */
  get effects() {
    if (this.by === "here") return this.falls ?? new Map();
    const ranked = this.by === "many" ? this.model.heads_ranked?.heads ?? [] : [];
    return new Map(ranked.map((/** @type {any} */ one) => [key(one), one.loss]));
  }

  /** What an effect is, in words. */
  get told() {
    return this.by === "here" ? `fall of the ${SCORE} without the head`
      : "rise of the loss without the head, nats a token";
  }

  /** Switch heads off; or on, if all of them are off. @param {Head[]} some */
  #switch(some) {
    const { off } = this;
    const rest = off.filter((one) => !among(some, one));
    this.change({ off: some.every((one) => among(off, one)) ? rest : [...rest, ...some] });
  }

  controls() {
    if (!this.hasHeads) return nothing;
    const { by, falls, heads } = this;
    const isBusy = by === "here" && falls && falls.size < heads.length;
    /** @type {Record<string, string>} */
    const choices = { many: "Over many texts", here: "Here", none: "Not shown" };
    if (!this.model.heads_ranked) delete choices.many;
    if (!falls) delete choices.here;
    return html`<div class="control"><span>Effect of heads</span>
      ${segmented("effect of heads", choices, by, (next) => { this.by = next; })}</div>
      <button type="button" class="button" ?disabled=${Boolean(isBusy)}
        @click=${() => this.#measure()}>Which heads matter here?</button>
      ${isBusy ? html`<span class="soft number" role="status">${falls.size} of ${heads.length} heads</span>` : nothing}
      ${this.trouble ? html`<span class="trouble" role="alert">${this.trouble}</span>` : nothing}`;
  }

  draw() {
    if (!this.plain.data) return nothing;
    const boards = this.hasHeads ? this.#boards() : nothing;
    return html`<div class="changing">${this.#tokens()}${this.#results()}${boards}</div>`;
  }

  // What is read and written.

  /** @param {number | null} at @param {number | null} step */
  #choose(at, step) {
    this.at = at;
    if (step !== this.store.state.pin.step) this.store.pin({ step });
  }

  /** The tokens of the text, without replacements. @returns {string[]} */
  get text() {
    const { data } = this.plain;
    return hasPairs(this.model) ? data.source : data.text_tokens;
  }

  #tokens() {
    const { changed: { data: changed }, at, text } = this;
    const { replace, force, target } = this.state;
    const { step } = this.store.state.pin;
    const read = text.map((token, i) => (i in replace ? `·${label(token)} → ${replace[i] || "nothing"}` : token));
    const pickText = (/** @type {CustomEvent} */ event) => {
      stop(event);
      const { at: next } = event.detail;
      this.#choose(isEnd(text[next]) || next === at ? null : next, null);
    };
    const pickStep = (/** @type {CustomEvent} */ event) => {
      stop(event);
      this.#choose(null, event.detail.at === step ? null : event.detail.at);
    };
    const row = (/** @type {string} */ name, /** @type {any} */ tokens) =>
      html`<div class="queries-of"><span class="soft">${name}</span>${tokens}</div>`;
    const chances = changed?.log_probs.map(Math.exp) ?? [];
    const titles = chances.map((/** @type {number} */ chance, /** @type {number} */ i) =>
      `${label(changed.target[i])}: ${percent(chance)}${i in force ? ", forced" : ""}`);
    return html`<div class="both">
      ${row("Replace", html`<w-tokens apart name="tokens of the text; Enter replaces one" .tokens=${read}
        .selected=${at} @w-hover=${stop} @w-pick=${pickText}></w-tokens>`)}
      ${!changed || target.trim() ? nothing : row("Write", html`<w-tokens apart mode="doubt" .values=${chances}
        name="tokens that are written; Enter writes another" .tokens=${changed.target} .titles=${titles}
        .selected=${step} @w-hover=${stop} @w-pick=${pickStep}></w-tokens>`)}</div>`;
  }

  /** What is changed, in words. @returns {string} */
  get changes() {
    const { replace, force, temperature } = this.state;
    const [tokens, words] = [replace, force].map((some) => Object.keys(some).length);
    const off = this.off.length;
    const all = [tokens && counted(tokens, "replaced token"), words && counted(words, "forced token"),
      temperature !== 1 && `temperature ${temperature}`, off && `without ${counted(off, "head")}`];
    const said = all.filter(Boolean).join(", ");
    return said.charAt(0).toUpperCase() + said.slice(1);
  }

  /** What is written, and how probable it is: as it is, and changed; if only heads are off, the former without them. */
  #results() {
    const { plain: { data: plain }, changed: { data: changed }, without: { data: without }, changes } = this;
    const row = (/** @type {string} */ name, /** @type {any} */ text, /** @type {number | null} */ score,
      /** @type {number} */ change = 0, look = "") => html`<tr class=${look}><th scope="row">${name}</th>
        <td dir="auto">${text}</td><td class="number score">${score === null ? "" : fixed(score, 4)}</td>
        <td class="number change ${change < WORSE ? "worse" : ""}">${look ? signed(change, 4) : ""}</td></tr>`;
    const marked = () => differing(changed.translation, plain.translation)
      .map(({ word, differs }) => (differs ? html`<em>${word}</em>` : word));
    const idle = html`<tr class="soft"><th scope="row">${this.hasHeads ? "No head is off" : "Nothing is changed"}</th>
      <td colspan="3">Click ${this.hasHeads ? "a head to switch it off, a layer for all of its heads, or " : ""}a token
      to change it.</td></tr>`;
    const { replace, force, temperature } = this.state;
    const isOff = this.off.length && !Object.keys({ ...replace, ...force }).length && temperature === 1;
    const isOther = isOff && without && without.after.translation !== without.without.translation;
    return html`<w-figure label="What it writes" .caption=${this.made()} .csv=${() => this.#csv()}>
      <div class="table-place results stacked" aria-live="polite"><table>
        <thead><tr><th scope="col"></th><th scope="col">${hasPairs(this.model) ? "translation" : "continuation"}</th>
          <th scope="col">${SCORE}</th><th scope="col">change</th></tr></thead>
        <tbody>${row("As it is", plain.translation, plain.score)}
          ${changes ? nothing : idle}
          ${changes && changed ? row(changes, marked(), changed.score, changed.score - plain.score, "now") : nothing}
          ${isOther ? row("As it was, rated without them", without.after.translation, this.#score(without.after),
            this.#score(without.after) - this.#score(without.whole), "soft") : nothing}
        </tbody></table></div></w-figure>`;
  }

  /** The score of what is written, without the text that a language model goes on with. @param {any} pair */
  #score({ log_probs: logProbs }) {
    const own = hasPairs(this.model) ? logProbs : logProbs.slice(-this.plain.data.target.length);
    return own.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0) / own.length;
  }

  #csv() {
    const { plain, changed, without } = this;
    const row = (/** @type {string} */ name, /** @type {any} */ pair) =>
      [name, pair.translation, Number(this.#score(pair).toFixed(6))];
    return [["", "text", SCORE], row("as it is", plain.data), ...(changed.data ? [row("changed", changed.data)] : []),
      ...(without.data ? [row("as it was, rated without the heads", without.data.after)] : [])];
  }

  // The switches.

  /** Of each kind of attention a grid of layers and heads. */
  #boards() {
    const { effects, off, heads } = this;
    const most = Math.max(LEAST, ...[...effects.values()].map(Math.abs));
    const isSigned = Math.min(0, ...effects.values()) < 0;
    const { kinds } = this.model;
    const columns = Math.max(...kinds.map((/** @type {any} */ { name }) => this.model.heads[name].heads));
    const ends = isSigned ? [signed(-most, 3), signed(most, 3)] : ["0", fixed(most, 3)];
    const scale = html`<span class="scale ${isSigned ? "signed" : ""}"><span>${ends[0]}</span><i></i>
      <span>${ends[1]}</span> <span>${this.told}</span></span>`;
    const csv = () => [["kind", "layer", "head", this.told, "off"],
      ...heads.map((one) => [one.kind, one.layer, one.head, effects.get(key(one)) ?? "", Number(among(off, one))])];
    const boards = kinds.map((/** @type {any} */ kind) => this.#board(kind, most, isSigned));
    return html`<w-figure label="Heads" .note=${effects.size ? scale : nothing} .caption=${this.made()} .csv=${csv}>
      <div><div class="boards" ?data-many=${columns > SOME}>${boards}</div>
      ${off.length ? html`<p class="unsaved"><button type="button" class="button"
        @click=${() => this.change({ off: [] })}>All on</button></p>` : nothing}</div></w-figure>`;
  }

  /** @param {any} kind @param {number} most @param {boolean} isSigned */
  #board({ name: kind, label: title }, most, isSigned) {
    const { effects, off } = this;
    const { heads: count, each } = this.model.heads[kind];
    const columns = Array.from({ length: count }, (_, i) => `${i + 1}`);
    const cell = (/** @type {Head} */ one) => {
      const effect = effects.get(key(one));
      const said = effect === undefined ? "" : `: ${fixed(effect, 4)}, ${this.told}`;
      return { name: `${title} layer ${one.layer} head ${one.head}${said}`, text: count > MANY ? "" : String(one.head),
        pressed: !among(off, one), value: effect === undefined ? undefined : effect / most };
    };
    const rows = each.map((/** @type {number} */ own, /** @type {number} */ row) => ({ label: `layer ${row + 1}`,
      cells: columns.map((_, head) => (head < own ? cell({ kind, layer: row + 1, head: head + 1 }) : null)) }));
    const picked = (/** @type {CustomEvent} */ { detail: { row, column } }) => {
      const layer = this.heads.filter((one) => one.kind === kind && one.layer === row + 1);
      this.#switch(column === null ? layer : [layer[column]]);
    };
    return html`<section class="board" aria-label=${title}><h3>${title}</h3><w-grid rows-pick ?signed=${isSigned}
      name=${`heads, ${title}`} .rows=${rows} .columns=${columns} @w-pick=${picked}></w-grid></section>`;
  }

  // Beside it: what could stand in the place of a token; where none is chosen, the heads that matter most.

  inspector() {
    if (!this.plain.data) return nothing;
    const { step } = this.store.state.pin;
    if (this.at !== null && this.text[this.at] !== undefined) return this.#replacing(this.at);
    return (step !== null && this.#forcing(step)) || this.#ranked();
  }

  /** @param {number} at */
  #replacing(at) {
    const { replace } = this.state;
    const token = label(this.text[at]);
    const { [at]: gone, ...others } = replace;
    const send = (/** @type {any} */ event) => {
      event.preventDefault();
      this.change({ replace: { ...replace, [at]: event.target.elements.token.value } });
    };
    return html`<form class="changing-token" @submit=${send}>
      <p class="caption kept">In place of <b dir="auto">${token}</b></p>
      <input name="token" autocomplete="off" dir="auto" aria-label=${`in place of ${token}`} .value=${replace[at] ?? ""}
        placeholder="nothing">
      <div class="controls"><button class="button">Replace</button>${at in replace ? html`<button type="button"
        class="button" @click=${() => this.change({ replace: others })}>As it is</button>` : nothing}</div></form>`;
  }

  /** @param {number} step */
  #forcing(step) {
    const one = this.changed.data?.steps[step];
    if (!one || this.state.target.trim()) return null;
    const send = (/** @type {any} */ event) => {
      event.preventDefault();
      const word = event.target.elements.word.value.trim();
      if (word) this.change({ force: forced(this.state.force, step, `·${word}`) });
    };
    return html`<p class="caption kept">Step ${step + 1}: in place of <b dir="auto">${label(one.token)}</b></p>
      ${rivals(this, step, likeliest(one), one.token)}
      <form class="changing-token" @submit=${send}>
        <input name="word" autocomplete="off" dir="auto" aria-label="another word" placeholder="another word">
        <div class="controls"><button class="button">Write</button></div></form>`;
  }

  #ranked() {
    const { effects, by, off, heads } = this;
    if (!this.hasHeads) return nothing;
    if (!effects.size) {
      return html`<p class="caption">“Which heads matter here?” switches off one head after the other.</p>`;
    }
    const effect = (/** @type {Head} */ one) => /** @type {number} */ (effects.get(key(one)));
    const known = heads.filter((one) => effects.has(key(one))).sort((a, b) => effect(b) - effect(a));
    const title = (/** @type {string} */ kind) =>
      this.model.kinds.find((/** @type {any} */ { name }) => name === kind).label;
    const ranked = by === "many" ? this.model.heads_ranked : null;
    const row = (/** @type {Head} */ head) => {
      const one = ranked?.heads.find((/** @type {any} */ other) => is(other, head));
      const more = one && { number: `${fixed(one.loss, 4)} ± ${fixed((one.high - one.low) / 2, 4)}`,
        title: `${fixed(one.loss, 4)}, 95 % interval ${fixed(one.low, 4)} to ${fixed(one.high, 4)}` };
      return { label: `${head.layer}·${head.head} ${title(head.kind)}`, value: effect(head),
        number: fixed(effect(head), 4), dim: among(off, head), ...more };
    };
    const picked = (/** @type {CustomEvent} */ event) => {
      stop(event);
      this.#switch([known[event.detail.index]]);
    };
    return html`<p class="caption">Heads by ${ranked ? ranked.by : `the ${this.told}`}.</p>
      <w-bars pickable class="ranked" name="heads by effect" .rows=${known.map(row)}
        .most=${Math.max(LEAST, ...[...effects.values()].map(Math.abs))} @w-pick=${picked}></w-bars>`;
  }

  spoken() {
    const { plain: { data: plain }, changed: { data: changed }, changes } = this;
    if (!plain || !changed || !changes) return "";
    const [before, now] = [plain.score ?? 0, changed.score ?? 0];
    return `${changes}: ${changed.translation}, ${SCORE} ${fixed(now, 3)}, change ${signed(now - before, 3)}`;
  }
}

define("v-change", Change);
export const change = { name: "change", label: "Change", needs: ["run"], tag: "v-change" };
