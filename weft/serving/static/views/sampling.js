// @ts-check
// How a language model draws the next token: what temperature, top-k and top-p make of its logits, and their controls.

import { slider } from "weft/controls.js";
import { fixed, label } from "weft/words.js";
import { post } from "../api.js";
import { html } from "../view.js";

/**
 * @typedef {{temperature: number, top_k: number, top_p: number, tokens: number, seed: number}} Sampling top_k 0: all
 * @typedef {{token: string, id: number, text: string, logit: number}} Logit
 * @typedef {{tokens: Logit[], log_sum: number, vocabulary: number}} Logits the largest, the likeliest first
 */

const LARGEST_K = [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 100, 0]; // of the slider; 0: all
/** @type {Record<string, [number, number]>} */
const LIMITS = { temperature: [0, 2], top_k: [0, 1e6], top_p: [0, 1], tokens: [1, 4096], seed: [0, 2 ** 53] };
const WHOLE = ["top_k", "tokens", "seed"];

/** @param {string} name @param {any} value */
const fits = (name, value) => typeof value === "number" && value >= LIMITS[name][0] && value <= LIMITS[name][1]
  && (!WHOLE.includes(name) || Number.isInteger(value));

/** @param {any} value */
export const isSampling = (value) => Boolean(value) && Object.keys(LIMITS).every((name) => fits(name, value[name]));

/** What both views that draw tokens keep in the state. `weft generate` draws with the same temperature. */
export const SAMPLING_KEYS = {
  sampling: { first: { temperature: 0.8, top_k: 0, top_p: 1, tokens: 80, seed: 1 }, allowed: isSampling },
};

/**
 * A state with one temperature: that of the sampling.
 * @param {any} state @param {any} first
 */
export function tempered({ temperature, ...state }, { sampling }) {
  if (temperature === undefined) return state;
  return { ...state, sampling: { ...sampling, ...state.sampling, temperature: Math.min(temperature,
    LIMITS.temperature[1]) } };
}

/** @param {any} view */
export function shaping(view) {
  const { sampling } = view.state;
  const set = (/** @type {object} */ change) => view.change({ sampling: { ...view.state.sampling, ...change } },
    { typing: true });
  const last = LARGEST_K.length - 1;
  const k = sampling.top_k ? LARGEST_K.findIndex((one) => one >= sampling.top_k) : last;
  return html`
    ${slider("Temperature", sampling.temperature, { min: 0, max: 2, step: 0.05 }, fixed(sampling.temperature, 2),
      (temperature) => set({ temperature }))}
    ${slider("Top-k", k < 0 ? last : k, { min: 0, max: last, step: 1 }, String(sampling.top_k || "all"),
      (at) => set({ top_k: LARGEST_K[at] }))}
    ${slider("Top-p", sampling.top_p, { min: 0.05, max: 1, step: 0.05 }, fixed(sampling.top_p, 2),
      (top_p) => set({ top_p }))}`;
}

/** A field for a whole number. @param {any} view @param {string} name @param {"tokens" | "seed"} key */
export function field(view, name, key) {
  const changed = ({ target }) => {
    const value = target.value === "" ? NaN : Number(target.value);
    if (fits(key, value)) view.change({ sampling: { ...view.state.sampling, [key]: value } }, { typing: true });
    else target.value = view.state.sampling[key];
  };
  return html`<label class="control"><span>${name}</span><input class="whole" type="number" inputmode="numeric"
    min=${LIMITS[key][0]} max=${LIMITS[key][1]} .value=${String(view.state.sampling[key])} @change=${changed}></label>`;
}

/**
 * The probabilities that the next token is drawn with, 0 for those that are cut off, and that of all tokens which are
 * not among the largest. Their logits are not known, only their sum: at a temperature other than 1 they count as equal.
 * @param {Logits} logits
 * @param {{temperature: number, top_k: number, top_p: number}} sampling
 * @returns {{chances: number[], rest: number}}
 */
export function shaped({ tokens, log_sum, vocabulary }, { temperature, top_k, top_p }) {
  const most = tokens[0].logit;
  const above = tokens.map(({ logit }) => logit - most);
  if (temperature === 0) return { chances: above.map((_, i) => (i ? 0 : 1)), rest: 0 };
  const least = top_k ? above[Math.min(top_k, above.length) - 1] : -Infinity;
  const weights = above.map((one) => (one < least ? 0 : Math.exp(one / temperature)));
  const others = vocabulary - tokens.length;
  const unseen = others ? Math.max(0, Math.exp(log_sum - most) - above.reduce((sum, one) => sum + Math.exp(one), 0))
    : 0;
  const tail = others && !(top_k && top_k <= tokens.length) ? others * (unseen / others) ** (1 / temperature) : 0;
  const all = weights.reduce((sum, one) => sum + one, 0) + tail;
  let before = 0;
  const kept = weights.map((weight, i) => {
    const stays = i === 0 || top_p >= 1 || before < top_p; // a sum of all may be a little above 1
    before += weight / all;
    return stays ? weight / all : 0;
  });
  const rest = top_p >= 1 || before < top_p ? tail / all : 0;
  const total = kept.reduce((sum, one) => sum + one, 0) + rest;
  return { chances: kept.map((one) => one / total), rest: rest / total };
}

/**
 * One of the largest by chance; the same text and seed draw the same.
 * @param {number[]} chances @param {string} text @param {number} seed
 */
export function drawn(chances, text, seed) {
  let hash = 2166136261 ^ seed; // FNV-1a, then one step of mulberry32
  for (const character of `${seed} ${text}`) hash = Math.imul(hash ^ /** @type {number} */ (character.codePointAt(0)),
    16777619);
  let mixed = (hash + 0x6d2b79f5) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  let left = (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * chances.reduce((sum, one) => sum + one, 0);
  const at = chances.findIndex((one) => { left -= one; return one > 0 && left < 0; });
  return at < 0 ? chances.findLastIndex((one) => one > 0) : at;
}

/** Whether the tokens of a model are words, which a space parts. @param {any} model */
export const hasWords = (model) => (model.plan.codec.name ?? model.plan.codec) === "words";

/** What a token adds to this text. @param {any} model @param {string} before @param {string} text of the token alone */
export const added = (model, before, text) => (hasWords(model) && before && !/\s$/.test(before) && text !== "\n"
  ? ` ${text}` : text);

/** A token on its own, as people read it. @param {string} token as the service shows it, or its text */
export const shown = (token) => label(token.replaceAll(" ", "·").replaceAll("\n", "↵")) || token;

/**
 * The text of parts of characters: null as long as they are not whole, "" if they will never be.
 * @param {string[]} parts as the service shows them, such as <C3> and <A9>
 */
export function whole(parts) {
  const pieces = parts.join("").replaceAll("·", " ").split(/(<[89A-F][0-9A-F]>)/).filter(Boolean);
  const bytes = pieces.flatMap((one) => (/^<[89A-F][0-9A-F]>$/.test(one) ? [parseInt(one.slice(1), 16)]
    : [...new TextEncoder().encode(one)]));
  const begun = new TextDecoder().decode(Uint8Array.from(bytes), { stream: true });
  if (begun.includes("\ufffd")) return "";
  return new TextEncoder().encode(begun).length === bytes.length ? begun : null;
}

/** Whether a token is a text: not the end, nor a part of a character. @param {string} text */
export const isText = (text) => text !== "" && text !== "∎" && !text.includes("\ufffd")
  && !/^<[89A-F][0-9A-F]>$/.test(text);

/**
 * The end of a text that the model sees at once, and how many characters stand before it.
 * @param {any} model @param {string} text @param {AbortSignal} [signal]
 * @returns {Promise<{text: string, from: number, context: number | null}>}
 */
export async function reached(model, text, signal) {
  if (new TextEncoder().encode(text).length < model.limit - 1) return { text, from: 0, context: null };
  const asking = { signal, base: model.base };
  const found = await post("tokenize", { prompt: text, add_special_tokens: true }, asking);
  if (found.max_model_len === null || found.count <= found.max_model_len) return { text, from: 0, context: null };
  const { prompt } = await post("detokenize", { tokens: found.tokens.slice(1 - found.max_model_len) }, asking);
  const end = hasWords(model) ? prompt : prompt.replace(/^\ufffd+/, "");
  return { text: end, from: Math.max(0, text.length - end.length), context: found.max_model_len };
}
