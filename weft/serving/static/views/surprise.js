// @ts-check
// Surprise: a text coloured by the log-probability of each token, with what was expected instead.

import { fixed, percent } from "weft/words.js";
import { View, define, html, nothing } from "../view.js";
import { hasWords, shown } from "./sampling.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/tokens.js";

const MOST = 7; // nats of the darkest shade: one in a thousand
const LISTED = 12; // of the most surprising tokens
const SCALE = html`<span class="scale"><span>expected</span><i></i><span>${MOST} nats: one in a thousand</span></span>`;

/** @typedef {{token: string, log_prob: number, rank: number, top: {token: string, log_prob: number}[]}} Step */

class Surprise extends View {
  constructor() {
    super();
    this.rated = this.ask(() => ["api/run", { target: "", force: {}, top: 6 }]);
  }

  /** @param {any} detail */
  meant(detail) {
    return detail && "at" in detail ? { step: detail.at } : detail;
  }

  /** @returns {(Step | null)[]} */
  get steps() {
    return this.rated.data?.text_steps ?? [];
  }

  /** What belongs to one answer, made once. */
  get found() {
    const { data } = this.rated;
    if (this.of !== data) Object.assign(this, { of: data, facts: this.#facts() });
    return this.facts;
  }

  #facts() {
    const { steps } = this;
    const tokens = this.rated.data.text_tokens;
    const losses = steps.map((step) => (step ? -step.log_prob : null));
    const rated = losses.flatMap((loss, at) => (loss === null ? [] : [{ loss, at }]));
    const nats = rated.reduce((sum, { loss }) => sum + loss, 0);
    const first = steps[0] ? "" : tokens[0] ?? "";
    const characters = [...this.rated.data.text].length - [...first].length;
    return {
      tokens: running(tokens, hasWords(this.model)), values: losses.map((loss) => (loss === null ? null : Math.min(1,
        loss / MOST))), losses,
      count: rated.length, mean: nats / rated.length, bits: nats / Math.LN2 / characters,
        most: rated.sort((a, b) => b.loss - a.loss).slice(0, LISTED),
    };
  }

  draw() {
    if (!this.rated.data) return nothing;
    const { tokens, values, losses } = this.found;
    const { step } = this.store.state.pin;
    const csv = () => [["token", "log_prob", "rank", "expected"],
      ...this.rated.data.text_tokens.map((token, i) =>
      [token, this.steps[i]?.log_prob ?? "", this.steps[i]?.rank ?? "", this.steps[i]?.top[0].token ?? ""])];
    return html`<w-figure label="How surprising each token is" .caption=${this.made()} .csv=${csv}
        .note=${SCALE}>
      <div class="sheet surprising"><w-tokens class="page" style=${`--letters: ${this.rated.data.text.length}`}
        mode="shade" name="tokens by surprise" .tokens=${tokens} .values=${values} .selected=${step !== null
          && step < losses.length ? step : null}></w-tokens></div>
    </w-figure>`;
  }

  get hasSummary() {
    return true;
  }

  inspector() {
    if (!this.rated.data?.text_tokens.length) return nothing;
    const { count, mean, bits, most } = this.found;
    const name = (at) => shown(this.rated.data.text_tokens[at]);
    const least = most.map(({ at, loss }) => ({ label: context(this.rated.data.text_tokens, at, hasWords(this.model)),
      value: loss, number: fixed(loss, 2), chosen: at === this.selection.step }));
    return html`<p class="facts surprise">${count ? html`<span><b class="number">${fixed(mean,
      3)}</b> nats a token</span><span><b class="number">${fixed(bits, 3)}</b> bits a character</span>
        <span><b class="number">${fixed(Math.exp(mean), 1)}</b> perplexity</span>` : nothing}<span><b
          class="number">${count.toLocaleString("en")}</b> ${count === 1 ? "token" : "tokens"} rated</span></p>
      <div class="one">${this.#one(name)}</div>
      <h3>Most surprising</h3>
      <w-bars name="the most surprising tokens, in nats" pickable .rows=${least} .most=${Math.max(MOST, most[0]?.loss
        ?? 0)} @w-hover=${(event) => {
        event.stopPropagation();
        this.tell("hover", { at: most[event.detail.index].at });
      }} @w-pick=${(event) => {
        event.stopPropagation();
        this.tell("pick", { at: most[event.detail.index].at });
        this.updateComplete.then(() => this.querySelector(".token.chosen")?.scrollIntoView({ block: "nearest" }));
      }}></w-bars>`;
  }

  /** The token that is selected. */
  #one(name) {
    const { step } = this.selection;
    const note = (text) => html`<p class="caption hint">${text}</p>`;
    if (step === null || step >= this.steps.length) return note("Point at a token to see what was expected instead.");
    const rated = this.steps[step];
    if (!rated) return html`<h3>${name(step)}</h3>${note("Nothing stands before it, so nothing predicts it.")}`;
    const isTop = rated.rank <= rated.top.length;
    const rows = [...rated.top, ...(isTop ? [] : [rated])].map((one, i) => ({
      label: shown(one.token), value: Math.exp(one.log_prob), number: percent(Math.exp(one.log_prob)),
      chosen: i + 1 === rated.rank || one === rated,
    }));
    return html`<h3>${name(step)}</h3>
      <p class="caption">Number <b class="number">${rated.rank}</b>, probability <b
        class="number">${percent(Math.exp(rated.log_prob))}</b>, <b class="number">${fixed(-rated.log_prob,
          2)}</b> nats. Expected:</p>
      <w-bars name="what was expected" .rows=${rows}></w-bars>`;
  }

  spoken() {
    const { step } = this.selection;
    const rated = step === null ? null : this.steps[step];
    if (!rated) return this.rated.data ? `${fixed(this.found.mean, 3)} nats a token` : "";
    const chance = (one) => percent(Math.exp(one.log_prob));
    const [best] = rated.top;
    const expected = `expected ${shown(best.token)}, ${chance(best)}`;
    return `${shown(rated.token)}: number ${rated.rank}, probability ${chance(rated)}; ${expected}`;
  }
}

/**
 * Tokens as running text: lines end where they end, and words are parted.
 * @param {string[]} tokens
 * @param {boolean} words
 */
function running(tokens, words) {
  return tokens.map((token, i) => {
    const space = words && i && tokens[i - 1] !== "↵" && token !== "↵" ? "·" : "";
    return space + token.replaceAll("↵", "\n").replaceAll("\n", "↵\n");
  });
}

/** A token between those around it. @param {string[]} tokens @param {number} at @param {boolean} words */
function context(tokens, at, words) {
  const between = words ? " " : "";
  const text = (from, to) => tokens.slice(Math.max(0, from),
    to).map((one) => one.replaceAll("·", " ").replaceAll("\n", "↵")).join(between);
  const own = shown(tokens[at]);
  return [...tokens[at]].length > 3 ? own : `${text(at - 6, at)}[${text(at, at + 1)}]${text(at + 1, at + 4)}`;
}

define("v-surprise", Surprise);
export const surprise = { name: "surprise", label: "Surprise", needs: ["surprise"], tag: "v-surprise",
  hasTarget: false };
