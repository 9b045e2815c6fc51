// @ts-check
// Colours of the theme as the style sheet has them, which has them from palette.json.

/** @typedef {[number, number, number]} RGB */

// The event "theme" is sent when colours change, by the system or by the page's button.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));
addEventListener("theme", () => known.clear(), { capture: true });

/** @type {Map<string, any>} until the theme changes */
const known = new Map();
const probe = document.createElement("span");
probe.hidden = true;

/** @param {string} name @param {() => any} make */
function remembered(name, make) {
  if (!known.has(name)) known.set(name, make());
  return known.get(name);
}

/** A colour as it is now, dark or light: rgb("--accent") → [36, 86, 196]. @param {string} name @returns {RGB} */
export function rgb(name) {
  return remembered(name, () => {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g)?.slice(0, 3).map(Number) ?? [0, 0, 0];
  });
}

/** @param {RGB} a @param {RGB} b @param {number} t */
const blend = (a, b, t) => a.map((value, i) => Math.round(value + (b[i] - value) * t));

/** 256 colours through so many of the style sheet. @param {string} name @param {number} count @returns {RGB[]} */
function ramp(name, count) {
  return remembered(`ramp ${name}`, () => {
    const stops = Array.from({ length: count }, (_, n) => rgb(`--${name}-${n}`));
    return Array.from({ length: 256 }, (_, i) => {
      const at = Math.min((i / 255) * (count - 1), count - 1.0001);
      return blend(stops[Math.floor(at)], stops[Math.floor(at) + 1], at % 1);
    });
  });
}

/** From weight 0 to weight 1. */
export const heatRamp = () => ramp("heat", 3);

/** From −1 (less) over 0 to 1 (more). */
export const differenceRamp = () => ramp("diverging", 5);

/** The colour of a weight, or of a difference. @param {number} value @param {boolean} [signed] */
export function heat(value, signed = false) {
  const place = signed ? (Math.max(-1, Math.min(1, value)) + 1) / 2 : Math.max(0, Math.min(1, value));
  return `rgb(${(signed ? differenceRamp() : heatRamp())[Math.round(place * 255)].join(" ")})`;
}

/** Whether text on this weight has to be light in the light theme and dark in the dark one. @param {number} value */
export const isDeep = (value) => value > 0.6;

export const COLOURS = 8; // that differ without hue; further heads are told apart by their number

/** The colour of a head, from 0. @param {number} head */
export const headColour = (head) => `var(--head-${(head % COLOURS) + 1})`;
