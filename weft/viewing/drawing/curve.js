// @ts-check
// Curves over two axes, linear or logarithmic: dots that are measured, lines that are fitted or joined.

import { Element, define, html, nothing, svg } from "weft/element.js";
import { line as path, scaleLinear, scaleLog, ticks } from "weft/vendor/d3.js";

const STEPS = 60; // of a fitted line

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{name: string, colour: string, points: Point[], line?: ((x: number) => number) | null,
 *   broken?: boolean, cross?: number | null}} Series
 *   line: a fitted curve, else the points are joined; cross: where on the line a cross is drawn
 * @typedef {{label: string, log?: boolean, at?: number[], words?: (value: number) => string,
 *   from?: number, to?: number}} Axis
 *   at: where its ticks are
 */

export class Curve extends Element {
  static measured = true;
  static properties = {
    series: { attribute: false },
    x: { attribute: false },
    y: { attribute: false },
    slopes: { attribute: false }, // {1: "t", 2: "t²"}: guides of these powers, where both axes are logarithmic
    name: { type: String },
    at: { state: true }, // [series, point] that is pointed at
  };

  constructor() {
    super();
    /** @type {Series[]} */ this.series = [];
    /** @type {Axis} */ this.x = { label: "" };
    /** @type {Axis} */ this.y = { label: "" };
    /** @type {Record<number, string>} */ this.slopes = {};
    this.name = "curves";
    /** @type {[number, number] | null} */ this.at = null;
  }

  render() {
    if (!this.room.width || !this.series.length) return nothing;
    const unit = this.em;
    const [width, height] = [this.room.width, Math.max(this.room.height, unit * 16)];
    const [left, right, top, bottom] = [unit * 4.6, unit * 1.8, unit * 1.2, unit * 3.1];
    const points = this.series.flatMap((one) => one.points);
    const x = scale(this.x, points.map((point) => point.x), left, width - right, 1.12);
    const y = scale(this.y, points.map((point) => point.y), height - bottom, top, 1.6);
    const words = (axis, value) => axis.words?.(value) ?? value.toLocaleString("en");
    return html`<svg class="curves" width=${width} height=${height} role="application" aria-roledescription="plot"
      aria-label=${`${this.name}. Arrow keys go from point to point.`} tabindex="0"
      @keydown=${this.#move} @pointermove=${(event) => this.#point(event, x, y)} @blur=${() => { this.at = null; }}>
      ${marks(this.x, x).map((value) => svg`<line class="grid" x1=${x(value)} x2=${x(value)} y1=${top}
        y2=${height - bottom} />
        <text x=${x(value)} y=${height - bottom + unit * 1.2} text-anchor="middle">${words(this.x, value)}</text>`)}
      ${marks(this.y, y).map((value) => svg`<line class="grid" x1=${left} x2=${width - right} y1=${y(value)}
        y2=${y(value)} />
        <text x=${left - unit * 0.5} y=${y(value) + unit * 0.3} text-anchor="end">${words(this.y, value)}</text>`)}
      <text x=${width - right} y=${height - unit * 0.4} text-anchor="end">${this.x.label}</text>
      <text x=${unit * 0.2} y=${unit * 0.8}>${this.y.label}</text>
      ${this.#slopes(x, y, unit)}
      ${this.series.map((one) => this.#curve(one, x, y, unit))}
      ${this.at ? this.#ring(x, y, unit) : nothing}
    </svg>`;
  }

  #ring(x, y, unit) {
    const [series, point] = /** @type {[number, number]} */ (this.at);
    const { colour, points } = this.series[series] ?? {};
    return points?.[point] ? svg`<circle class="ring" cx=${x(points[point].x)} cy=${y(points[point].y)} r=${unit * 0.6}
      stroke=${colour} />` : nothing;
  }

  /** Straight lines of these slopes; their names stand outside, where no dot can be. */
  #slopes(x, y, unit) {
    const [[left, right], [low, high]] = [x.domain(), y.domain()];
    return Object.entries(this.slopes).map(([power, name]) => {
      const end = Math.min(right, left * (high / low) ** (1 / Number(power)));
      const above = low * (end / left) ** Number(power);
      const [tx, ty, anchor] = end === right ? [x(end) + unit * 0.4, y(above) + unit * 0.3, "start"]
        : [x(end), y(above) - unit * 0.4, "middle"];
      return svg`<line class="slope" x1=${x(left)} y1=${y(low)} x2=${x(end)} y2=${y(above)} /><text class="guide"
        x=${tx} y=${ty} text-anchor=${anchor}>${name}</text>`;
    });
  }

  /** @param {Series} series @param {any} x @param {any} y @param {number} unit */
  #curve({ colour, broken, points, line, cross }, x, y, unit) {
    if (!points.length) return nothing;
    const [first, last] = [points[0].x, points[points.length - 1].x];
    const at = (i) => first * (last / first) ** (i / STEPS);
    const places = line ? Array.from({ length: STEPS + 1 }, (_, i) => ({ x: at(i), y: Math.max(line(at(i)), 1e-12) }))
      : points;
    const drawn = path((point) => x(point.x), (point) => y(point.y))(places);
    const crossed = cross && line && cross >= first && cross <= last;
    const r = unit * 0.5;
    return svg`<path class=${broken ? "curve broken" : "curve"} stroke=${colour} d=${drawn} />
      ${points.map((point) => svg`<circle cx=${x(point.x)} cy=${y(point.y)} r=${unit * 0.28} stroke=${colour}
        stroke-width="1.6" fill=${broken ? "var(--paper)" : colour} />`)}
      ${crossed ? svg`<path
        d=${`M${x(cross) - r},${y(line(cross)) - r}l${2 * r},${2 * r}m${-2 * r},0l${2 * r},${-2 * r}`} stroke=${colour}
          stroke-width="2.5" stroke-linecap="round" />` : nothing}`;
  }

  /** The nearest point. */
  #point(event, x, y) {
    const box = this.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const all = this.series.flatMap(({ points }, s) => points.map((point, p) => ({ s, p,
      far: Math.hypot(x(point.x) - px, y(point.y) - py) })));
    const near = all.reduce((a, b) => (a.far <= b.far ? a : b));
    this.#choose(near.s, near.p);
  }

  #move(event) {
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowRight: [0, 1], ArrowLeft: [0, -1],
      ArrowDown: [1, 0], ArrowUp: [-1, 0] })[event.key];
    if (!step) return;
    event.preventDefault();
    const [series, point] = this.at ?? [0, -step[1]];
    const next = Math.max(0, Math.min(this.series.length - 1, series + step[0]));
    this.#choose(next, Math.max(0, Math.min(this.series[next].points.length - 1, point + step[1])));
  }

  #choose(series, point) {
    if (String(this.at) === String([series, point])) return;
    this.at = [series, point];
    this.tell("hover", { series: this.series[series], point: this.series[series].points[point] });
  }
}

/**
 * A scale of d3 over these values.
 * @param {Axis} axis
 * @param {number[]} values
 * @param {number} start
 * @param {number} end
 * @param {number} margin
 */
function scale({ log, from, to }, values, start, end, margin) {
  const [low, high] = [from ?? Math.min(...values), to ?? Math.max(...values)];
  return log ? scaleLog([low / margin, high * margin], [start, end]) : scaleLinear([low, high], [start, end]).nice();
}

/**
 * Where the ticks of an axis are; of a logarithmic one at powers of ten, or at twice and five times as much, too.
 * @param {Axis} axis
 * @param {any} scaled
 */
function marks({ log, at }, scaled) {
  const [low, high] = scaled.domain();
  if (at) return at;
  if (!log) return ticks(low, high, 6);
  const steps = Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1];
  const powers = Array.from({ length: 30 }, (_, i) => i - 15);
  return powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`))).filter((value) => value >= low
    && value <= high);
}

define("w-curve", Curve);
