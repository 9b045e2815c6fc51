// @ts-check
// Time: play, a step on or back, any step, and how fast.

import { menu } from "weft/controls.js";
import { Element, define, html } from "weft/element.js";

const PAUSE = 700; // milliseconds of a step
const SPEEDS = /** @type {[number, string][]} */ ([[0.5, "½ ×"], [1, "1 ×"], [2, "2 ×"], [4, "4 ×"]]);

export class Time extends Element {
  static properties = {
    at: { type: Number }, // the step that is shown, from 1; tells "time" with {at}
    count: { type: Number },
    name: { type: String }, // of a step
    isPlaying: { state: true },
    speed: { state: true },
  };

  constructor() {
    super();
    this.at = 1;
    this.count = 1;
    this.name = "step";
    this.isPlaying = false;
    this.speed = 1;
    /** @type {any} */ this.timer = 0;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop();
  }

  /** Play or pause. */
  toggle() {
    if (this.isPlaying) return this.stop();
    this.isPlaying = true;
    return this.#go(this.at >= this.count ? 1 : this.at + 1);
  }

  stop() {
    clearTimeout(this.timer);
    this.isPlaying = false;
  }

  /** @param {number} to */
  #go(to) {
    this.#tell(to);
    if (to >= this.count) return this.stop();
    this.timer = setTimeout(() => this.#go(Math.min(this.at, this.count) + 1), PAUSE / this.speed);
    return undefined;
  }

  /** @param {number} to */
  #tell(to) {
    this.tell("time", { at: Math.max(1, Math.min(to, this.count)) });
  }

  render() {
    const { at, count, isPlaying, name } = this;
    const by = (/** @type {number} */ step) => () => { this.stop(); this.#tell(at + step); };
    return html`<div class="playing" role="group" aria-label="Time">
      <button type="button" class="button" @click=${() => this.toggle()} title="space">${isPlaying ? "Pause"
        : "Play"}</button>
      <button type="button" class="tool" aria-label=${`one ${name} back`} ?disabled=${at <= 1}
        @click=${by(-1)}>‹</button>
      <input type="range" min="1" max=${count} .value=${String(at)} aria-label=${name}
        aria-valuetext=${`${name} ${at} of ${count}`}
        @input=${(/** @type {any} */ event) => { this.stop(); this.#tell(Number(event.target.value)); }}>
      <button type="button" class="tool" aria-label=${`one ${name} on`} ?disabled=${at >= count}
        @click=${by(1)}>›</button>
      <span class="number soft">${name} ${at} of ${count}</span>
      ${menu("speed", SPEEDS, this.speed, (speed) => { this.speed = Number(speed); })}
    </div>`;
  }
}

define("w-time", Time);
