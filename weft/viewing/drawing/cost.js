// The cost of plans: curves over length or width, both axes logarithmic, and the tables below them.

import { h, isDark, menu, s, segmented } from "weft/dom.js";

const data = JSON.parse(document.getElementById("cost").textContent);
const plans = data.plans;

const WIDTH = 1000, HEIGHT = 470, LEFT = 66, RIGHT = 24, TOP = 24, BOTTOM = 44;
const MARGIN = 1.12; // around the shortest and the longest
const TERMS = {
  "t·k²": (t, k) => t * k * k, "t²·k": (t, k) => t * t * k, "t²": (t) => t * t, "t·k": (t, k) => t * k,
  "t": (t) => t, "k²": (t, k) => k * k, "k": (t, k) => k, "1": () => 1,
};
const UNITS = {
  seconds: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
};
const HUES = [262, 48, 158, 305, 20, 210, 90]; // those of the picture
const BROKEN = { reference: "dashed: unfused, all attention weights in memory", recomputed: "dashed: recomputed without cached state" };

const every = (list) => [...new Set(list)].sort((a, b) => a - b);
const lengths = every(plans.flatMap((plan) => plan.declared.map(({ length }) => length)));
const widths = every(plans[0].growth.layer.points.map(({ width }) => width));
const state = { of: "layer", measure: "seconds", along: "length", at: null, off: new Set() };

const figure = h("figure", { class: "scroll" });
const caption = h("p", { class: "caption", "aria-live": "polite" });
const sizes = h("label", { class: "control" });
const ofModels = [ // what a token of decoding does not have
  segmented("measure", { seconds: "Time", bytes: "Memory" }, state.measure, (value) => set({ measure: value })),
  segmented("along", { length: "Against length", width: "Against width" }, state.along, turn),
  sizes,
];
const chips = plans.map((plan, n) => h("button", {
  class: "chip", onclick: () => set({ off: state.off.delete(n) ? state.off : state.off.add(n) }),
}, `${plan.plan}: ${plan.mixer}`));
const key = h("span", { class: "control broken-key" });

document.querySelector("header").append(
  h("h1", {}, "What plans cost"),
  h("p", { class: "soft" }, `One sentence at a time, on ${data.machine.processor}, torch ${data.machine.torch}, ` +
    `${data.machine.threads} thread${data.machine.threads === 1 ? "" : "s"}.`));
document.querySelector("main").append(
  h("div", { class: "controls" },
    segmented("of", { layer: "Mixer layer", step: "Training step", decoding: "Token of decoding" }, state.of,
      (value) => set({ of: value })), ...ofModels),
  h("div", { class: "chips" }, ...chips, key), figure, caption, ...data.tables.map(table));
addEventListener("theme", draw);
turn(state.along);

/** Against length at one width, or against width at one length. */
function turn(along) {
  const [name, fixed, at] = along === "length" ? ["width k", widths, widths[widths.length >> 1]] : ["length t", lengths, lengths.at(-1)];
  sizes.replaceChildren(h("span", {}, name), menu(name, fixed.map((n) => [n, n]), at, (value) => set({ at: Number(value) })));
  set({ along, at });
}

function set(changed) {
  Object.assign(state, changed);
  draw();
}

function draw() {
  const isDecoding = state.of === "decoding";
  for (const control of ofModels) control.style.display = isDecoding ? "none" : "";
  chips.forEach((chip, n) => {
    chip.style.setProperty("--colour", shade(n));
    chip.setAttribute("aria-pressed", !state.off.has(n));
  });
  const curves = plans.flatMap((plan, n) => (state.off.has(n) ? [] : curvesOf(plan, n)));
  const broken = curves.find((curve) => curve.broken)?.broken;
  key.textContent = BROKEN[broken] ?? "";
  key.style.display = broken ? "" : "none";
  caption.textContent = isDecoding ? "Dots are measured, each plan in its own width."
    : "Dots are measured, lines are fitted. A cross marks where terms in t² overtake terms in t.";
  figure.replaceChildren(curves.length ? plot(curves) : h("p", { class: "soft" }, "No plan is chosen."));
}

function shade(n) {
  return `oklch(${isDark() ? 0.74 : 0.53} 0.16 ${HUES[n % HUES.length]})`;
}

/** What a plan has to show: {colour, name, broken, points: [{x, y}], line: x → y or null, crossing: x or null} */
function curvesOf(plan, n) {
  const colour = shade(n);
  if (state.of === "decoding") {
    return ["cached", "recomputed"].map((how) => ({
      colour, name: `${plan.plan}, ${how}`, broken: how === "recomputed" && how, line: null, crossing: null,
      points: plan.decoding.map((token) => ({ x: token.length, y: token[how] })),
    }));
  }
  const kinds = state.of === "layer" ? ["layer", "reference"] : ["step"];
  return kinds.filter((kind) => plan.growth[kind]).map((kind) => {
    const { points, time, memory, crossing } = plan.growth[kind];
    const { coefficients } = state.measure === "seconds" ? time : memory;
    const other = state.along === "length" ? "width" : "length";
    const line = (x) => Object.entries(coefficients).reduce((sum, [name, value]) =>
      sum + value * (state.along === "length" ? TERMS[name](x, state.at) : TERMS[name](state.at, x)), 0);
    return {
      colour, name: `${plan.plan}${kind === "reference" ? ", unfused" : ""}`, broken: kind === "reference" && kind, line,
      crossing: state.along === "length" && state.measure === "seconds" ? crossing[state.at] : null,
      points: points.filter((point) => point[other] === state.at).map((point) => ({ x: point[state.along], y: point[state.measure] })),
    };
  }).filter(({ points }) => points.length);
}

function plot(curves) {
  const xs = every(curves.flatMap(({ points }) => points.map(({ x }) => x)));
  const ys = curves.flatMap(({ points }) => points.map(({ y }) => y));
  const [low, high] = [Math.min(...ys) / 1.6, Math.max(...ys) * 1.6];
  const x = scale(xs[0] / MARGIN, xs.at(-1) * MARGIN, LEFT, WIDTH - RIGHT);
  const y = scale(low, high, HEIGHT - BOTTOM, TOP);
  const svg = s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "curves of cost" });
  for (const value of xs) {
    svg.append(s("line", { class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM }),
      s("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, value.toLocaleString("en")));
  }
  for (const value of ticks(low, high)) {
    svg.append(s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, words(value)));
  }
  svg.append(s("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" },
    along() === "length" ? "length t, in tokens" : "width k"));
  slopes(svg, x, y, xs[0] / MARGIN, xs.at(-1) * MARGIN, low, high);
  for (const curve of curves) svg.append(...drawn(curve, x, y));
  const ring = s("circle", { class: "ring", r: 8, visibility: "hidden" });
  svg.append(ring);
  svg.addEventListener("pointermove", (event) => point(event, svg, curves, x, y, ring));
  return svg;
}

/** Straight lines of slope 1 and 2, the powers that the lectures speak of; their names stand outside, where no dot can be. */
function slopes(svg, x, y, left, right, low, high) {
  const letter = along() === "length" ? "t" : "k";
  for (const [power, name] of [[1, letter], [2, `${letter}²`]]) {
    const end = Math.min(right, left * (high / low) ** (1 / power));
    const top = low * (end / left) ** power;
    const aside = end === right ? { x: x(end) + 6, y: y(top) + 4 } : { x: x(end), y: y(top) - 6, "text-anchor": "middle" };
    svg.append(s("line", { class: "slope", x1: x(left), y1: y(low), x2: x(end), y2: y(top) }),
      s("text", { class: "guide", ...aside }, name));
  }
}

function drawn({ colour, broken, points, line, crossing }, x, y) {
  const [first, last] = [points[0].x, points.at(-1).x];
  const places = line ? Array.from({ length: 61 }, (_, i) => first * (last / first) ** (i / 60)) : points.map((p) => p.x);
  const at = line ?? ((value) => points.find((p) => p.x === value).y);
  const path = s("path", {
    class: broken ? "curve broken" : "curve", stroke: colour,
    d: places.map((value, i) => `${i ? "L" : "M"}${x(value).toFixed(1)},${y(Math.max(at(value), 1e-12)).toFixed(1)}`).join(""),
  });
  const dots = points.map((p) => s("circle", {
    cx: x(p.x), cy: y(p.y), r: 4, stroke: colour, "stroke-width": 1.6, fill: broken ? "var(--paper)" : colour,
  }));
  const [cx, cy] = crossing >= first && crossing <= last ? [x(crossing), y(line(crossing))] : [];
  const cross = cx === undefined ? [] : [s("path", {
    d: `M${cx - 7},${cy - 7}l14,14m-14,0l14,-14`, stroke: colour, "stroke-width": 2.5, "stroke-linecap": "round",
  })];
  return [path, ...dots, ...cross];
}

/** The nearest point, in words. */
function point(event, svg, curves, x, y, ring) {
  const box = svg.getBoundingClientRect();
  const [px, py] = [(event.clientX - box.left) * (WIDTH / box.width), (event.clientY - box.top) * (WIDTH / box.width)];
  const far = ({ p }) => Math.hypot(x(p.x) - px, y(p.y) - py);
  const near = curves.flatMap((curve) => curve.points.map((p) => ({ curve, p }))).reduce((a, b) => (far(a) <= far(b) ? a : b));
  const { curve, p } = near;
  for (const [name, value] of Object.entries({ cx: x(p.x), cy: y(p.y), stroke: curve.colour, visibility: "visible" })) {
    ring.setAttribute(name, value);
  }
  const where = state.of === "decoding" ? `${p.x} tokens`
    : state.along === "length" ? `${p.x} tokens, width ${state.at}` : `${state.at} tokens, width ${p.x}`;
  const fitted = curve.line ? `, fitted ${words(curve.line(p.x))}` : "";
  const passes = curve.crossing ? `; t² overtakes t at ${Math.round(curve.crossing).toLocaleString("en")}` : "";
  caption.replaceChildren(h("b", {}, curve.name), `, ${where}: ${words(p.y)}${fitted}${passes}`);
}

function along() {
  return state.of === "decoding" ? "length" : state.along;
}

function scale(low, high, from, to) {
  return (value) => from + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from);
}

/** Powers of ten; where there are few of them, twice and five times as much too. */
function ticks(low, high) {
  const powers = Array.from({ length: 30 }, (_, i) => 10 ** (i - 15));
  const steps = Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1];
  return powers.flatMap((power) => steps.map((step) => step * power)).filter((value) => value >= low && value <= high);
}

function words(value) {
  const units = UNITS[state.of === "decoding" ? "seconds" : state.measure];
  const [size, unit] = units.find(([size]) => value >= size * 0.9999) ?? units.at(-1);
  return `${Number((value / size).toPrecision(3))} ${unit}`;
}

function table({ title, head, rows }) {
  return h("section", {}, h("h2", {}, title), h("div", { class: "scroll" }, h("table", { class: "told" },
    h("thead", {}, h("tr", {}, ...head.map((cell) => h("th", {}, cell)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))))));
}
