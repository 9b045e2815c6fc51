// @ts-check
// The futures of a text: each follows the prompt or another future, begins with a chosen token or none, and is written
// by the model. They are kept in the address; what was written is kept here.

import { stream } from "../api.js";
import { added, isSampling, reached } from "./sampling.js";

const KEPT = 100; // futures

/**
 * @typedef {{text: string, logProb: number | null, top: [string, number][]}} Token logProb null: chosen by hand
 * @typedef {{tokens: Token[], before: string, finish: string, error: Error | null, seconds: number, isDone: boolean,
 *   stop: AbortController}} Written
 * @typedef {{from: number, at: number, text: string} & import("./sampling.js").Sampling} Future
 *   the tokens of future `from` up to `at`, then this text, then as many tokens as are drawn; from −1: the prompt
 */

/** Futures that were written, by all that decides what they say. @type {Map<string, Written>} */
const known = new Map();

/** Futures as an address has them. @param {Future} future */
export const packed = ({ from, at, text, temperature, top_k, top_p, tokens, seed }) =>
  [from, at, text, temperature, top_k, top_p, tokens, seed];
/** @param {any[]} list @returns {Future} */
const unpacked = ([from, at, text, temperature, top_k, top_p, tokens, seed]) =>
  ({ from, at, text, temperature, top_k, top_p, tokens, seed });

/** @param {any} list */
export const areFutures = (list) => Array.isArray(list) && list.length <= KEPT && list.every(isFuture);
/** @param {any} one @param {number} i */
const isFuture = (one, i) => Array.isArray(one) && Number.isInteger(one[0]) && one[0] >= -1 && one[0] < i
  && Number.isInteger(one[1]) && one[1] >= 0 && typeof one[2] === "string" && isSampling(unpacked(one));

/** Stop what is being written, and forget the oldest. */
export function abandon() {
  for (const [key, written] of known) {
    if (written.isDone) continue;
    written.stop.abort();
    known.delete(key);
  }
  for (const key of [...known.keys()].slice(0, -KEPT)) known.delete(key);
}

export class Futures {
  /** @param {import("../view.js").View} view whose state has them */
  constructor(view) {
    this.view = view;
    this.took = 0; // milliseconds of the last drawing
    /** @type {any} */ this.drawing = null; // that is to come
  }

  /** Draw what is written in a quarter of the time at most: of a long text, that takes longer than writing a token. */
  #drawSoon() {
    this.drawing ??= setTimeout(async () => {
      this.drawing = null;
      const start = performance.now();
      this.view.requestUpdate();
      await this.view.updateComplete;
      this.took = performance.now() - start;
    }, Math.max(16, 3 * this.took));
  }

  /** @returns {Future[]} the second pane has those of the first that begin at the prompt, until it has its own */
  get list() {
    const { state, pane, store } = this.view;
    const all = state.futures.map(unpacked);
    return pane === "b" && !store.state.b?.futures ? all.filter(({ from }) => from < 0) : all;
  }

  /** The number of the future that is shown. */
  get at() {
    return Math.min(this.view.state.future, this.list.length - 1);
  }

  /** All that decides what a future says. @returns {string} */
  key(i) {
    const { model, state } = this.view;
    if (i < 0) return JSON.stringify([model.base, model.hash, state.text, state.temperature, state.off]);
    const { from, ...own } = this.list[i];
    return JSON.stringify([this.key(from), own]);
  }

  /** @returns {Written | undefined} */
  written(i) {
    return known.get(this.key(i));
  }

  /** All tokens of a future after the prompt. @returns {Token[]} */
  tokens(i) {
    if (i < 0) return [];
    const { from, at } = this.list[i];
    return [...this.tokens(from).slice(0, at), ...this.written(i)?.tokens ?? []];
  }

  /** The text before a token. @param {number} i a future */
  before(i, at) {
    return this.view.state.text + this.tokens(i).slice(0, at).map(({ text }) => text).join("");
  }

  get isWriting() {
    return this.list.some((_, i) => this.written(i)?.isDone === false);
  }

  /** Write what can be written now: a future begins where the one before it has come to. */
  writeNext() {
    this.list.forEach(({ from, at }, i) => {
      const key = this.key(i);
      const isReady = from < 0 || this.written(from)?.isDone || this.tokens(from).length > at;
      if (!known.has(key) && isReady) this.#write(key, this.before(from, at), this.list[i]);
    });
  }

  async #write(key, before, { text, tokens, ...sampling }) {
    const first = text ? [{ text, logProb: null, top: [] }] : [];
    /** @type {Written} */
    const written = { tokens: [...first], before: before + text, finish: "", error: null, seconds: 0, isDone: false,
      stop: new AbortController() };
    known.set(key, written);
    const { signal } = written.stop;
    const { base } = this.view.model;
    const { temperature, top_k, top_p, seed } = sampling;
    const start = performance.now();
    try {
      const { text: prompt } = await reached(this.view.model, written.before, signal);
      const asked = { prompt, max_tokens: tokens, top_k, top_p, seed, logprobs: 5,
        temperature: temperature * this.view.state.temperature, off: this.view.state.off };
      for await (const { choices: [choice] } of stream("v1/completions", asked, { signal, base })) {
        if (!choice) continue;
        for (const token of pieces(choice)) {
          const isFirst = written.tokens.length === first.length;
          written.tokens.push(isFirst ? { ...token, text: added(this.view.model, written.before, token.text) } : token);
        }
        written.finish = choice.finish_reason ?? "";
        written.seconds = (performance.now() - start) / 1000;
        this.#drawSoon();
      }
    } catch (error) {
      if (!signal.aborted) written.error = /** @type {Error} */ (error);
    }
    written.isDone = true;
    this.view.requestUpdate();
  }

  /** Stop writing: the futures as far as they have come, and what keeps their texts once they are in the state. */
  stopped() {
    /** @type {(Written | undefined)[]} */
    const kept = [];
    const futures = this.list.map((future, i) => {
      const written = this.written(i);
      if (!written || written.isDone) return future;
      written.stop.abort();
      known.delete(this.key(i));
      const tokens = written.tokens.length - Number(Boolean(future.text));
      if (tokens) kept[i] = written;
      return { ...future, tokens: tokens || 1 };
    });
    const keep = () => kept.forEach((written, i) => written
      && known.set(this.key(i), Object.assign(written, { isDone: true, finish: "stopped" })));
    return { futures, keep };
  }

  /** The future that a token of the shown one follows, and where. */
  place(at) {
    let from = this.at;
    while (from >= 0 && this.list[from].at >= at) from = this.list[from].from;
    return { from, at };
  }

  /** The future that wrote a token of the one that is shown. */
  owner(step) {
    let at = this.at;
    while (this.list[at].from >= 0 && this.list[at].at > step) at = this.list[at].from;
    return at;
  }

  /** The futures as pieces of text: each is cut where others fork. */
  tree() {
    const shownPieces = new Set();
    for (let i = this.at, to = Infinity; i >= 0; to = this.list[i].at,
      i = this.list[i].from) shownPieces.add(`${i} ${to}`);
    const lit = (i, from) => [...shownPieces].some((one) => {
      const [future, to] = one.split(" ").map(Number);
      return future === i && from < to;
    });
    const node = (i, from) => {
      const all = this.tokens(i);
      const forks = this.list.map((one, n) => ({ ...one, n })).filter((one) => one.from === i && one.at > from);
      const to = Math.min(all.length, ...forks.map(({ at }) => at));
      const text = all.slice(from, to).map((token) => token.text).join("");
      const after = forks.filter(({ at }) => at === to).map(({ n, at }) => node(n, at));
      const rest = to < all.length ? [node(i, to)] : [];
      return { id: `${i}.${from}`, label: line(text), title: text, lit: lit(i, from), chosen: i === this.at
        && to === all.length, children: [...rest, ...after] };
    };
    const roots = this.list.flatMap(({ from }, n) => (from < 0 ? [n] : []));
    const text = [...line(this.view.state.text)];
    const label = text.length > 18 ? `… ${text.slice(-17).join("").replace(/^\S*\s+/, "")}` : text.join("");
    return { id: "prompt", label, title: this.view.state.text, lit: true, children: roots.map((n) => node(n, 0)) };
  }
}

/** @param {string} text */
const line = (text) => text.replaceAll("\n", "↵").trim() || "…";

/**
 * The tokens of a piece, each with the text that it begins; the last of those that are one character has it.
 * @param {any} choice @returns {Token[]}
 */
function pieces({ text, logprobs: { tokens, token_logprobs: values, top_logprobs: tops, text_offset: offsets } }) {
  const characters = [...text]; // the service counts Unicode characters
  const from = offsets[0] ?? 0;
  return tokens.map((_, i) => ({
    text: characters.slice(offsets[i] - from, (offsets[i + 1] ?? Infinity) - from).join(""),
    logProb: values[i],
    top: Object.entries(tops[i] ?? {}).sort((a, b) => /** @type {number} */ (b[1]) - /** @type {number} */ (a[1])),
  }));
}
