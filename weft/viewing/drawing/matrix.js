// Matrix: a heat map with tokens on both axes. Arrow keys move from cell to cell.

import { colour, h, heatRamp, label, redrawn, sharp } from "weft/dom.js";

const SLANT = (55 * Math.PI) / 180;
const STEEP = (82 * Math.PI) / 180; // in narrow columns, where slanted tokens would touch
const NARROW = 18; // pixels of a cell
const LARGEST = 34; // pixels of a cell
const READABLE = 22;
const SMALLEST = 11; // that has room for tokens

/**
 * seen: {queries, keys, map}. `tell` receives the cell under the pointer, {query, key}, or null. Cells smaller than
 * SMALLEST, where allowed, are drawn without tokens.
 */
export function drawMatrix(root, seen, name, tell, smallest = SMALLEST, largest = LARGEST) {
  const { queries, keys, map } = seen;
  const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": name });
  root.replaceChildren(h("div", { class: "matrix" }, canvas));
  const down = queries.map(label);
  const across = keys.map(label);
  let at = null; // [query, key]
  let place = null; // where the cells are

  /** The place of the cells, right of and below tokens of this slant. */
  function fitted(slant, font) {
    const measure = canvas.getContext("2d");
    measure.font = `13px ${font}`;
    const longest = (texts) => Math.max(...texts.map((text) => measure.measureText(text).width), 0);
    const left = Math.ceil(longest(down)) + 10;
    const top = Math.ceil(longest(across) * Math.sin(slant)) + 20;
    const overhang = Math.ceil(measure.measureText(across.at(-1) ?? "").width * Math.cos(slant)) + 8;
    const room = root.clientWidth - left - overhang;
    // As large as fits the width; and the height of the window, as long as it stays easy to read.
    const below = innerHeight - root.getBoundingClientRect().top - scrollY - top - 28;
    const high = Math.max(READABLE, Math.floor(below / queries.length));
    const cell = Math.max(smallest, Math.min(largest, high, Math.floor(room / keys.length)));
    return { left, top, overhang, cell, slant };
  }

  function draw() {
    const font = getComputedStyle(document.body).fontFamily;
    place = fitted(SLANT, font);
    if (place.cell < NARROW) place = fitted(STEEP, font);
    const named = place.cell >= SMALLEST;
    if (!named) {
      const cell = Math.floor(root.clientWidth / Math.max(queries.length, keys.length));
      place = { left: 0, top: 0, overhang: 0, cell: Math.max(smallest, cell) };
    }
    const { left, top, overhang, cell, slant } = place;
    const size = Math.max(10, Math.min(13, cell - 3));
    const context = sharp(canvas, left + cell * keys.length + overhang, top + cell * queries.length + 2);
    const ramp = heatRamp();
    context.font = `${size}px ${font}`;
    context.textBaseline = "middle";
    const [ink, accent] = [colour("--ink"), colour("--accent")];
    const gap = cell > 18 ? 1.5 : named ? 0.75 : 0;
    for (let query = 0; query < queries.length; query++) {
      context.textAlign = "right";
      context.fillStyle = at?.[0] === query ? accent : ink;
      if (named) context.fillText(down[query], left - 7, top + (query + 0.5) * cell);
      for (let key = 0; key < keys.length; key++) {
        const [r, g, b] = ramp[Math.round(Math.min(1, map[query][key]) * 255)];
        context.fillStyle = `rgb(${r} ${g} ${b})`;
        context.fillRect(left + key * cell, top + query * cell, cell - gap, cell - gap);
      }
    }
    context.textAlign = "left";
    if (named) across.forEach((text, key) => {
      context.save();
      context.translate(left + (key + 0.5) * cell, top - 6);
      context.rotate(-slant);
      context.fillStyle = at?.[1] === key ? accent : ink;
      context.fillText(text, 0, 0);
      context.restore();
    });
    if (at) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(left + at[1] * cell - 1, top + at[0] * cell - 1, cell + 2 - gap, cell + 2 - gap);
    }
  }

  function choose(query, key) {
    const inside = query >= 0 && query < queries.length && key >= 0 && key < keys.length;
    const next = inside ? [query, key] : null;
    if (String(next) === String(at)) return;
    at = next;
    draw();
    tell?.(at && { query, key });
  }

  canvas.addEventListener("mousemove", ({ offsetX, offsetY }) =>
    choose(Math.floor((offsetY - place.top) / place.cell), Math.floor((offsetX - place.left) / place.cell)));
  canvas.addEventListener("mouseleave", () => choose(-1, -1));
  canvas.addEventListener("blur", () => choose(-1, -1));
  canvas.addEventListener("focus", () => at ?? choose(0, 0));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [query, key] = at ?? [0, 0];
    choose(Math.max(0, Math.min(query + step[0], queries.length - 1)), Math.max(0, Math.min(key + step[1], keys.length - 1)));
  });
  return redrawn(root, draw);
}
