// @ts-check
// Change: heads switched off, tokens replaced, words forced, and what becomes of what the model writes.

import { pressing, segmented } from "weft/controls.js";
import { counted, differing, fixed, isEnd, label, percent, signed } from "weft/words.js";
import { lines } from "../api.js";
import { View, define, hasPairs, html, looked, nothing } from "../view.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/grid.js";
import "weft/tokens.js";

const RANKED = 14; // heads in the list
const RIVALS = 10; // tokens that could stand in the place of one
const WIDE = 8; // more heads of a layer are boards below each other
const UNIT = "mean log-probability of a token";
const UNCHANGED = { off: [], replace: {}, force: {}, temperature: 1 };

/** @typedef {import("weft/store.js").Head} Head */

const is = (/** @type {Head} */ a, /** @type {Head} */ b) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;
const named = (/** @type {Head} */ { kind, layer, head }) => `${kind} ${layer} ${head}`;

class Change extends View {
  static properties = {
    by: { state: true }, // which measured effect shades the heads: "many", "here" or "none"
    falls: { state: true }, // of this sentence, by head: what the score falls by without it
    trouble: { state: true },
    at: { state: true }, // the token of the text that is chosen, from 0; one that is written is the step that is pinned
  };

  constructor() {
    super();
    this.by = "";
    /** @type {Map<string, number> | null} */ this.falls = null;
    this.trouble = "";
    /** @type {number | null} */ this.at = null;
    this.measuring = new AbortController();
    this.measured = ""; // what was asked about
    this.plain = this.ask(() => ["api/run", UNCHANGED]);
    this.changed = this.ask(() => ["api/run", { top: RIVALS }]);
    this.off = this.ask(() => (this.heads.length ? ["api/off", { off: this.heads }] : null));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.measuring.abort();
  }

  /** The heads that are off and that this model has. @returns {Head[]} */
  get heads() {
    return this.state.off.filter(({ kind, layer, head }) => head <= (this.model.heads[kind]?.each[layer - 1] ?? 0));
  }

  /** What the effect of heads depends on. */
  get asked() {
    const { text, sentence } = this.state;
    return JSON.stringify([text, sentence, { ...this.store.request(this.pane), off: [] }, this.model.base]);
  }

  willUpdate() {
    this.by ||= this.model.heads_ranked ? "many" : "none";
    if (this.measured && this.measured !== this.asked) this.#forget(); // the effect of heads is that of one sentence
  }

  #forget() {
    this.measuring.abort();
    this.measured = "";
    this.falls = null;
    this.trouble = "";
    if (this.by === "here") this.by = this.model.heads_ranked ? "many" : "none";
  }

  /** Switch off one head after the other; each fills its cell as it comes. */
  async #measure() {
    this.#forget();
    this.by = "here";
    this.measured = this.asked;
    this.measuring = new AbortController();
    const { signal } = this.measuring;
    this.falls = new Map();
    try {
      const { text } = await looked(this.store, this.pane, this.model);
      const body = { text, ...this.store.request(this.pane), off: [] };
      for await (const one of lines("api/importance", body, { signal, base: this.model.base })) {
        if (signal.aborted) return;
        if ("fall" in one) this.falls = new Map(this.falls).set(named(one), one.fall);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#forget();
      this.trouble = /** @type {Error} */ (error).message;
    }
  }

  /** The effect of each head that is known, in nats. @returns {Map<string, number>} */
  get effects() {
    if (this.by === "here") return this.falls ?? new Map();
    if (this.by === "none" || !this.model.heads_ranked) return new Map();
    return new Map(this.model.heads_ranked.heads.map((/** @type {any} */ one) => [named(one), one.loss]));
  }

  /** Switch heads off; or on, if all of them are off. @param {Head[]} some */
  #switch(some) {
    const { heads } = this;
    const on = some.some((head) => !heads.some((other) => is(head, other)));
    const rest = heads.filter((other) => !some.some((head) => is(head, other)));
    this.change({ off: on ? [...rest, ...some] : rest });
  }

  get hasHeads() {
    return this.model.kinds.length > 0 && this.model.traces.includes("importance");
  }

  controls() {
    const { by, falls } = this;
    const total = this.#all().length;
    const busy = by === "here" && falls && falls.size < total;
    const choices = { ...(this.model.heads_ranked ? { many: "Over many texts" } : {}), ...(falls ? { here: "Here" } : {}), none: "Not shown" };
    return html`<div class="control"><span>Effect of heads</span>${segmented("effect of heads", choices, by, (next) => { this.by = next; })}</div>
      <button type="button" class="button" ?disabled=${Boolean(busy)} @click=${() => this.#measure()}>Which heads matter here?</button>
      ${busy ? html`<span class="soft number" role="status">${falls.size} of ${total} heads</span>` : this.trouble ? html`<span class="trouble" role="alert">${this.trouble}</span>` : nothing}`;
  }

  /** All heads. @returns {Head[]} */
  #all() {
    return this.model.kinds.flatMap((/** @type {any} */ { name }) => this.model.heads[name].each.flatMap((/** @type {number} */ count, /** @type {number} */ layer) =>
      Array.from({ length: count }, (_, head) => ({ kind: name, layer: layer + 1, head: head + 1 }))));
  }

  draw() {
    if (!this.plain.data) return nothing;
    return html`<div class="changing">${this.#tokens()}${this.#results()}${this.#boards()}</div>`;
  }

  /** The text and what is written, to click on. */
  #tokens() {
    const { plain: { data: plain }, changed: { data: changed }, at } = this;
    const { replace, force } = this.state;
    const { step } = this.store.state.pin;
    const isPair = hasPairs(this.model);
    const text = isPair ? plain.source : plain.text_tokens;
    const shown = text.map((/** @type {string} */ token, /** @type {number} */ i) => (i in replace ? `·${label(token)} → ${replace[i] || "nothing"}` : token));
    const given = this.state.target.trim();
    return html`<div class="both"><div class="queries-of"><span class="soft">Replace</span><w-tokens apart .tokens=${shown} .selected=${at} name="tokens of the text; Enter replaces one"
        @w-hover=${stop} @w-pick=${(/** @type {CustomEvent} */ event) => { stop(event); this.#choose(isEnd(text[event.detail.at]) || event.detail.at === at ? null : event.detail.at, null); }}></w-tokens></div>
      ${!changed || given ? nothing : html`<div class="queries-of"><span class="soft">Write</span><w-tokens apart mode="doubt" .values=${changed.log_probs.map(Math.exp)} .tokens=${changed.target} .selected=${step}
        name="tokens that are written; Enter writes another" .titles=${changed.target.map((/** @type {string} */ token, /** @type {number} */ step) => `${label(token)}: ${percent(Math.exp(changed.log_probs[step]))}${step in force ? ", forced" : ""}`)}
        @w-hover=${stop} @w-pick=${(/** @type {CustomEvent} */ event) => { stop(event); this.#choose(null, event.detail.at === step ? null : event.detail.at); }}></w-tokens></div>`}</div>`;
  }

  /** @param {number | null} at @param {number | null} step */
  #choose(at, step) {
    this.at = at;
    if (step !== this.store.state.pin.step) this.store.pin({ step });
  }

  /** What is written without changes and with them, and how probable it is. */
  #results() {
    const { plain: { data: plain }, changed: { data: changed }, off: { data: off }, heads } = this;
    const { replace, force, temperature } = this.state;
    const others = [Object.keys(replace).length && counted(Object.keys(replace).length, "replaced token"), Object.keys(force).length && counted(Object.keys(force).length, "forced token"),
      temperature !== 1 && `temperature ${temperature}`].filter(Boolean);
    const what = hasPairs(this.model) ? "translation" : "continuation";
    const row = (/** @type {string} */ name, /** @type {any} */ text, /** @type {number | null} */ score, /** @type {number | null} */ change = null, more = "") => html`<tr class=${more}>
      <th scope="row">${name}</th><td dir="auto">${text}</td><td class="number score">${score === null || score === undefined ? "" : fixed(score, 4)}</td>
      <td class="number change">${change === null ? "" : html`<span class=${change < -0.0005 ? "worse" : nothing}>${signed(change, 4)}</span>`}</td></tr>`;
    const marked = (/** @type {string} */ text) => differing(text, plain.translation).map(({ word, differs }) => (differs ? html`<em>${word}</em>` : word));
    const changes = heads.length || others.length;
    const without = heads.length ? [`without ${counted(heads.length, "head")}`] : [];
    const name = (/** @type {any[]} */ all) => { const said = all.join(", "); return said.charAt(0).toUpperCase() + said.slice(1); };
    return html`<w-figure label="What it writes" .caption=${this.made()} .csv=${() => this.#csv(plain, changed, off)}><div class="table-place results stacked" aria-live="polite"><table>
      <thead><tr><th scope="col"></th><th scope="col">${what}</th><th scope="col">${UNIT}</th><th scope="col">change</th></tr></thead>
      <tbody>${row("As it is", plain.translation, plain.score)}
        ${!changes ? html`<tr class="soft"><th scope="row">No head is off</th><td colspan="3">Click a head to switch it off, a layer for all of its heads, or a token to change it.</td></tr>`
          : changed ? row(name([...others, ...without]), marked(changed.translation), changed.score, changed.score - plain.score, "now") : nothing}
        ${heads.length && off && off.after.translation !== off.without.translation ? row("With all heads, re-scored", off.after.translation, off.after.score, off.after.score - off.whole.score, "soft") : nothing}
      </tbody></table></div></w-figure>`;
  }

  /** The switches: of each kind of attention a grid of layers and heads. */
  #boards() {
    const { effects, heads, by } = this;
    const most = Math.max(0.0001, ...effects.values());
    const { kinds } = this.model;
    const many = Math.max(...kinds.map((/** @type {any} */ { name }) => this.model.heads[name].heads));
    const said = (/** @type {number} */ value) => (by === "here" ? `without it the score here falls by ${fixed(value, 4)} nats a token` : `without it the loss rises by ${fixed(value, 4)} nats a token`);
    return html`<w-figure label="Heads" .note=${effects.size ? html`<span class="scale"><span>0</span><i></i><span>${fixed(most, 4)} ${by === "here" ? "nats a token: the score falls by it without the head" : "nats a token: the loss rises by it without the head"}</span></span>` : nothing}
      .caption=${this.made(`weft heads ${this.model.name}`)} .csv=${() => [["kind", "layer", "head", "effect (nats a token)", "off"], ...this.#all().map((one) => [one.kind, one.layer, one.head, effects.get(named(one)) ?? "", heads.some((other) => is(other, one)) ? 1 : 0])]}>
      <div><div class="boards" data-many=${many > WIDE ? "" : nothing}>${kinds.map(({ name: kind, label: title }) => {
        const { heads: count, each } = this.model.heads[kind];
        const columns = Array.from({ length: count }, (_, i) => `${i + 1}`);
        const rows = each.map((/** @type {number} */ own, /** @type {number} */ i) => ({
          label: `layer ${i + 1}`,
          cells: columns.map((_, head) => {
            if (head >= own) return null; // this layer has fewer heads
            const one = { kind, layer: i + 1, head: head + 1 };
            const effect = effects.get(named(one));
            return { name: `${title} layer ${i + 1} head ${head + 1}${effect === undefined ? "" : `: ${said(effect)}`}`, text: many > 16 ? "" : String(head + 1),
              pressed: !heads.some((other) => is(other, one)), ...(effect === undefined ? {} : { value: Math.max(0, effect / most) }) };
          }),
        }));
        return html`<section class="board" aria-label=${title}><h3>${title}</h3><w-grid rows-pick .rows=${rows} .columns=${columns} name=${`heads of ${title}`}
          @w-pick=${(/** @type {CustomEvent} */ { detail: { row, column } }) => this.#switch(column === null ? Array.from({ length: each[row] }, (_, head) => ({ kind, layer: row + 1, head: head + 1 }))
            : [{ kind, layer: row + 1, head: column + 1 }])}></w-grid></section>`;
      })}</div>
      ${heads.length ? html`<p class="unsaved">${pressing("All on", false, () => this.change({ off: [] }))}</p>` : nothing}</div></w-figure>`;
  }

  inspector() {
    if (!this.plain.data) return nothing;
    const { step } = this.store.state.pin;
    if (this.at !== null) return this.#replacing(this.at);
    return (step !== null && this.#forcing(step)) || this.#ranked();
  }

  /** @param {number} at */
  #replacing(at) {
    const { plain: { data } } = this;
    const token = (hasPairs(this.model) ? data.source : data.text_tokens)[at];
    if (token === undefined) return this.#ranked();
    const { replace } = this.state;
    return html`<form class="changing-token" @submit=${(/** @type {any} */ event) => { event.preventDefault(); this.change({ replace: { ...replace, [at]: event.target.elements.token.value } }); }}>
      <p class="caption kept">In place of <b dir="auto">${label(token)}</b></p>
      <input name="token" autocomplete="off" dir="auto" aria-label=${`in place of ${label(token)}`} .value=${replace[at] ?? ""} placeholder="nothing">
      <div class="controls"><button class="button">Replace</button>${at in replace ? html`<button type="button" class="button" @click=${() => this.change({ replace: without(replace, at) })}>As it is</button>` : nothing}</div></form>`;
  }

  /** @param {number} step */
  #forcing(step) {
    const { data } = this.changed;
    const one = data?.steps[step];
    if (!one || this.state.target.trim()) return null;
    const before = Object.fromEntries(Object.entries(this.state.force).filter(([at]) => Number(at) < step)); // what is forced later does not fit any more
    const write = (/** @type {string} */ token) => this.change({ force: { ...before, [step]: token } });
    return html`<p class="caption">Step ${step + 1}: in place of <b dir="auto">${label(one.token)}</b></p>
      <w-bars pickable .rows=${one.top.map((/** @type {any} */ { token, log_prob: logProb }) => ({ label: label(token), value: Math.exp(logProb), number: percent(Math.exp(logProb)), chosen: token === one.token }))} name="the likeliest tokens"
        @w-pick=${(/** @type {CustomEvent} */ event) => { stop(event); write(one.top[event.detail.index].token); }}></w-bars>
      <form class="changing-token" @submit=${(/** @type {any} */ event) => { event.preventDefault(); const { value } = event.target.elements.word; if (value.trim()) write(`·${value.trim()}`); }}>
        <input name="word" autocomplete="off" dir="auto" aria-label="another word" placeholder="another word">
        <div class="controls"><button class="button">Write</button>${step in this.state.force ? html`<button type="button" class="button" @click=${() => this.change({ force: before })}>As the model has it</button>` : nothing}</div></form>`;
  }

  /** The heads, those that matter most first. */
  #ranked() {
    const { effects, by, heads } = this;
    if (!effects.size) return html`<p class="caption">“Which heads matter here?” switches off one head after the other.</p>`;
    const known = this.#all().filter((one) => effects.has(named(one))).sort((a, b) => /** @type {number} */ (effects.get(named(b))) - /** @type {number} */ (effects.get(named(a)))).slice(0, RANKED);
    const most = Math.max(0.0001, ...effects.values());
    const title = (/** @type {string} */ kind) => this.model.kinds.find((/** @type {any} */ { name }) => name === kind).label;
    const ranked = this.model.heads_ranked;
    const interval = (/** @type {Head} */ head) => {
      const one = by === "many" ? ranked.heads.find((/** @type {any} */ other) => is(other, head)) : null;
      return one ? `${fixed(one.loss, 4)}, 95 % interval ${fixed(one.low, 4)} to ${fixed(one.high, 4)}` : "";
    };
    return html`<p class="caption">${by === "many" ? `Heads by ${ranked.by}.` : `Heads by how much the ${UNIT} falls without each alone, here.`}</p>
      <w-bars pickable class="ranked" .most=${most} .rows=${known.map((one) => ({ label: `${title(one.kind)} ${one.layer}·${one.head}`, value: /** @type {number} */ (effects.get(named(one))), number: fixed(/** @type {number} */ (effects.get(named(one))), 4),
        title: interval(one), dim: heads.some((other) => is(other, one)) }))} name="heads by effect" @w-pick=${(/** @type {CustomEvent} */ event) => { stop(event); this.#switch([known[event.detail.index]]); }}></w-bars>`;
  }

  spoken() {
    const { plain: { data: plain }, changed: { data: changed } } = this;
    if (!plain || !changed || JSON.stringify(this.store.request(this.pane)) === "{}") return "";
    return `${changed.translation}: ${UNIT} ${fixed(changed.score ?? 0, 3)}, ${signed((changed.score ?? 0) - (plain.score ?? 0), 3)}`;
  }

  /** @param {any} plain @param {any} changed @param {any} off */
  #csv(plain, changed, off) {
    const rows = [["as it is", plain.translation, plain.score]];
    if (changed) rows.push(["changed", changed.translation, changed.score]);
    if (off) rows.push(["as it was, re-scored", off.after.translation, off.after.score]);
    return [["", "text", UNIT], ...rows];
  }
}

const stop = (/** @type {Event} */ event) => event.stopPropagation();

/** @param {Record<string, string>} all @param {number} at */
function without(all, at) {
  const { [at]: gone, ...rest } = all;
  return rest;
}

define("v-change", Change);
export const change = { name: "change", label: "Change", needs: ["run", "importance"], tag: "v-change" };
