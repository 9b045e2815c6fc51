// @ts-check
// A drawing as it is seen, as SVG: boxes, text as text, what is SVG already, and what canvases say they have drawn.

import { heat } from "weft/colours.js";

const SHAPE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-style", "font-weight",
  "text-anchor", "dominant-baseline", "visibility"];
const MARGIN = 12; // pixels around a saved drawing
const NARROWEST = 420; // pixels of a saved drawing, for its caption
const LINE = 15; // pixels of a line of the caption
const SCALE = 3; // pixels of a PNG for one of the screen

const escaped = (text) => text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
const round = (number) => Math.round(number * 100) / 100;
const paint = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d",
  { willReadFrequently: true }));
paint.canvas.width = paint.canvas.height = 1;
/** @type {Map<string, {colour: string, alpha: number}>} */
const plain = new Map();

/** Any colour of a style sheet as #rrggbb and its opacity, which every program reads. @param {string} colour */
function hex(colour) {
  let found = plain.get(colour);
  if (!found) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = "#000";
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    found = { colour: `#${[r, g, b].map((value) => value.toString(16).padStart(2, "0")).join("")}`, alpha: a / 255 };
    plain.set(colour, found);
  }
  return found;
}

/** @typedef {{signed?: boolean, from: string, to: string, said?: string}} Legend what the colours mean */

/**
 * @param {HTMLElement} root
 * @param {string[]} words above and below the drawing: its title and its caption
 * @param {Legend | null} [legend]
 */
export function toSVG(root, words, legend = null) {
  const back = unrolled(root);
  const paper = getComputedStyle(document.body).backgroundColor;
  const isLight = hex(paper).colour > "#8";
  if (isLight) root.style.setProperty("--paper", "#fff"); // that of print
  try {
    return drawn(root, words, isLight ? "#ffffff" : hex(paper).colour, legend);
  } finally {
    root.style.removeProperty("--paper");
    back();
  }
}

/**
 * Make what scrolls as large as what is in it, until the function that is returned is called.
 * @param {HTMLElement} root
 */
function unrolled(root) {
  /** @type {(() => void)[]} */
  const back = [];
  for (const element of /** @type {HTMLElement[]} */ ([root, ...root.querySelectorAll("*")])) {
    if (!(element instanceof HTMLElement) || !scrolls(getComputedStyle(element))) continue;
    const { scrollWidth, scrollHeight, clientWidth, clientHeight, offsetWidth, offsetHeight } = element;
    const [wide, high] = [scrollWidth > clientWidth, scrollHeight > clientHeight];
    if (!wide && !high) continue;
    const { style: { cssText }, scrollLeft, scrollTop } = element;
    Object.assign(element.style, { maxWidth: "none", maxHeight: "none" },
      wide ? { minWidth: `${scrollWidth + offsetWidth - clientWidth}px` } : {},
      high ? { minHeight: `${scrollHeight + offsetHeight - clientHeight}px` } : {});
    back.push(() => {
      element.style.cssText = cssText;
      Object.assign(element, { scrollLeft, scrollTop });
    });
  }
  return () => back.reverse().forEach((one) => one());
}

/** @param {CSSStyleDeclaration} style */
const scrolls = ({ overflowX, overflowY }) => [overflowX, overflowY].some((one) => one === "auto" || one === "scroll");

/** Words in lines that are no wider than this. @param {string} words @param {number} width */
function wrapped(words, width) {
  /** @type {string[]} */
  const found = [];
  for (const word of words.split(" ")) {
    const longer = `${found.at(-1)} ${word}`;
    if (found.length && paint.measureText(longer).width <= width) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found;
}

/** @param {HTMLElement} root @param {string[]} words @param {string} paper @param {Legend | null} legend */
function drawn(root, [title, caption], paper, legend) {
  const box = root.getBoundingClientRect();
  const [left, top] = [box.left - MARGIN, box.top - MARGIN - 26];
  const found = /** @type {string[]} */ ([]);
  const place = { left, top, from: box.right, right: box.left, bottom: box.top, clips: 0, found };
  walk(root, place);
  const style = getComputedStyle(root);
  const ink = hex(style.color).colour;
  paint.font = `600 15px ${style.fontFamily}`;
  const least = Math.max(NARROWEST, paint.measureText(title).width);
  const aside = Math.max(0, Math.min(place.from - box.left, box.right - least - box.left)); // nothing is there
  const width = Math.max(least, place.right - box.left - aside) + 2 * MARGIN;
  const below = place.bottom - top + MARGIN;
  paint.font = `11px ${style.fontFamily}`;
  const said = wrapped(caption, width - 2 * MARGIN);
  const scale = legend ? 24 : 0;
  const height = below + scale + 8 + LINE * said.length;
  const font = escaped(style.fontFamily);
  const text = (words, y, more) =>
    `<text x="${MARGIN}" y="${round(y)}" font-family="${font}" fill="${ink}" ${more}>${escaped(words)}</text>`;
  const [w, h] = [width, height].map(round);
  const y = (line) => round(below + scale + LINE * (line + 0.75));
  const told = said.length === 1 ? escaped(caption) : said.map((line, i) =>
    `<tspan x="${MARGIN}" y="${y(i)}">${escaped(line)}</tspan>`).join(" ");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">
<rect width="100%" height="100%" fill="${paper}"/>
${text(title, 24, 'font-size="15" font-weight="600"')}
<g transform="translate(${round(-aside)} 0)">
${found.join("\n")}
</g>
${legend ? scaled(legend, below, font, ink) : ""}
<text x="${MARGIN}" y="${y(0)}" font-family="${font}" fill="${ink}" font-size="11" fill-opacity="0.75">${told}</text>
</svg>`;
}

/**
 * The colours from the least to the most.
 * @param {Legend} legend
 * @param {number} y
 * @param {string} font
 * @param {string} ink
 */
function scaled({ signed = false, from, to, said = "" }, y, font, ink) {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((at) =>
    `<stop offset="${at}" stop-color="${hex(heat(signed ? 2 * at - 1 : at, signed)).colour}"/>`);
  const start = MARGIN + paint.measureText(from).width + 6;
  const text = (x, words) => `<text x="${round(x)}" y="${round(y + 10)}" font-family="${font}" font-size="11" ` +
    `fill="${ink}" fill-opacity="0.75">${escaped(words)}</text>`;
  return `<g class="scale"><linearGradient id="colours">${stops.join("")}</linearGradient>${text(MARGIN, from)}` +
    `<rect x="${round(start)}" y="${round(y)}" width="120" height="12" rx="2" fill="url(#colours)" stroke="${ink}" ` +
    `stroke-opacity="0.2"/>${text(start + 126, [to, said].filter(Boolean).join(", "))}</g>`;
}

/**
 * @typedef {{left: number, top: number, from: number, right: number, bottom: number, clips: number,
 *   found: string[]}} Place from: where what is found begins; right and bottom: where it ends
 */

/** @param {Place} place @param {{left: number, right: number, bottom: number}} box that something fills */
function reached(place, { left, right, bottom }) {
  place.from = Math.min(place.from, left);
  place.right = Math.max(place.right, right);
  place.bottom = Math.max(place.bottom, bottom);
}

/** @param {Element} element @param {Place} place */
function walk(element, place) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0"
    || element.classList.contains("unsaved")) return;
  const box = element.getBoundingClientRect();
  const { from, right, bottom } = place;
  const isLeaf = element instanceof SVGSVGElement || element instanceof HTMLCanvasElement;
  if (isLeaf) reached(place, box);
  if (element instanceof SVGSVGElement) return void place.found.push(copied(element, box, place));
  if (element instanceof HTMLCanvasElement) return void place.found.push(canvas(element, box, place));
  boxed(style, box, place, !element.matches(":focus-visible"));
  if (element.localName === "mfrac") bar(element, style, place);
  if (element.localName === "msqrt") radical(element, style, place);
  const isClipped = style.overflowX !== "visible" && !scrolls(style) && (element.scrollWidth > element.clientWidth + 1
    || element.scrollHeight > element.clientHeight + 1);
  if (isClipped) {
    const name = `clip${place.clips += 1}`;
    const [x, y, w, h] = [box.left - place.left, box.top - place.top, box.width, box.height].map(round);
    place.found.push(`<clipPath id="${name}"><rect x="${x}" y="${y}" width="${w}" height="${h}"/></clipPath>`,
      `<g clip-path="url(#${name})">`);
  }
  for (const child of stacked(element)) {
    if (child instanceof Element) walk(child, place);
    else if (child instanceof Text && child.data.trim()) lines(child, style, place);
  }
  if (isClipped) {
    place.found.push("</g>");
    Object.assign(place, { from, right, bottom });
    reached(place, box);
  }
}

/** What is in an element, from the lowest to the highest. @param {Element} element */
function stacked(element) {
  const level = (node) => (node instanceof Element ? Number(getComputedStyle(node).zIndex) || 0 : 0);
  return [...element.childNodes].map((node) => ({ node, level: level(node) })).sort((a, b) =>
    a.level - b.level).map(({ node }) => node);
}

/** The bar of a fraction. @param {Element} element @param {CSSStyleDeclaration} style @param {Place} place */
function bar(element, style, { left, top, found }) {
  const [over, under] = [...element.children].map((one) => one.getBoundingClientRect());
  const { left: from, right: to } = element.getBoundingClientRect();
  if (!over || !under) return;
  const y = round((over.bottom + under.top) / 2 - top);
  found.push(`<path class="fraction" d="M${round(from - left)} ${y}H${round(to - left)}" fill="none" ` +
    `stroke="${hex(style.color).colour}"/>`);
}

/** The sign of a root. @param {Element} element @param {CSSStyleDeclaration} style @param {Place} place */
function radical(element, style, { left, top, found }) {
  const box = element.getBoundingClientRect();
  const of = element.firstElementChild?.getBoundingClientRect() ?? box;
  const [x, end] = [box.left - left, box.right - left];
  const [low, high, sign] = [box.bottom - top - 1, Math.min(of.top - 1.5, box.top + 2) - top, of.left - box.left - 1];
  const d = [[x, low - (low - high) * 0.4], [x + sign * 0.2, low - (low - high) * 0.48], [x + sign * 0.5, low],
    [x + sign, high], [end, high]].map((point) => point.map(round).join(" ")).join("L");
  found.push(`<path class="root" d="M${d}" fill="none" stroke="${hex(style.color).colour}"/>`);
}

/**
 * The background, border and outline of an element.
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} box
 * @param {Place} place
 * @param {boolean} hasOutline
 */
function boxed(style, box, place, hasOutline) {
  const { left, top, found } = place;
  if (hasOutline && style.outlineStyle === "solid" && box.width && box.height) {
    const away = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth) / 2;
    found.push(`<rect x="${round(box.left - left - away)}" y="${round(box.top - top - away)}" ` +
      `width="${round(box.width + 2 * away)}" height="${round(box.height + 2 * away)}" fill="none" ` +
      `rx="${parseFloat(style.borderTopLeftRadius) || 0}" stroke="${hex(style.outlineColor).colour}" ` +
      `stroke-width="${parseFloat(style.outlineWidth)}"/>`);
  }
  const [fill, line] = [hex(style.backgroundColor), hex(style.borderTopColor)];
  const wide = style.borderTopStyle === "none" || style.borderLeftStyle === "none" ? 0
    : parseFloat(style.borderTopWidth) * (line.alpha > 0 ? 1 : 0);
  if (!(fill.alpha || wide) || !box.width || !box.height) return;
  reached(place, box);
  found.push(`<rect x="${round(box.left - left + wide / 2)}" y="${round(box.top - top +
    wide / 2)}" width="${round(box.width - wide)}" ` +
    `height="${round(box.height - wide)}" rx="${parseFloat(style.borderTopLeftRadius) || 0}" fill="${fill.alpha
      ? fill.colour : "none"}" fill-opacity="${round(fill.alpha)}"` +
    `${wide ? ` stroke="${line.colour}" stroke-width="${wide}"` : ""}/>`);
}

/**
 * The lines of a piece of text, each where it stands.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style
 * @param {Place} place
 */
function lines(node, style, place) {
  const { left, top, found } = place;
  paint.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const up = paint.measureText("x").fontBoundingBoxAscent;
  const range = document.createRange();
  /** @type {{x: number, y: number, text: string}[]} */
  const seen = [];
  const add = (from, text, space) => {
    range.setStart(node, from);
    range.setEnd(node, from + text.length);
    const box = range.getBoundingClientRect();
    const { left: x, top: y } = box;
    if (!box.width) return;
    if (text.length > 1 && range.getClientRects().length > 1) { // a word in two lines
      let at = from;
      [...text].forEach((one, i) => {
        add(at, one, i ? "" : space);
        at += one.length;
      });
      return;
    }
    reached(place, box);
    const last = seen.at(-1);
    if (last?.y === y && style.direction === "ltr") last.text += `${space}${text}`;
    else seen.push({ x, y, text });
  };
  for (const { index, 0: word } of node.data.matchAll(/\S+/g)) add(index, word, " ");
  const { colour, alpha } = hex(style.color);
  const isVariable = node.parentElement?.localName === "mi" && node.data.trim().length === 1;
  const slant = isVariable || style.fontStyle === "italic" ? ' font-style="italic"' : "";
  for (const { x, y, text } of seen) {
    found.push(`<text x="${round(x - left)}" y="${round(y - top +
      up)}" font-family="${escaped(style.fontFamily)}" font-size="${style.fontSize}" ` +
      `font-weight="${style.fontWeight}"${slant} fill="${colour}"${alpha < 1 ? ` fill-opacity="${round(alpha)}"`
        : ""}>${escaped(text)}</text>`);
  }
}

/** @param {SVGSVGElement} element @param {DOMRect} box @param {Place} place */
function copied(element, box, { left, top }) {
  const copy = /** @type {SVGSVGElement} */ (element.cloneNode(true));
  const [from, to] = [element, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of SHAPE) {
      const value = style.getPropertyValue(name);
      if (name !== "fill" && name !== "stroke") to[i].setAttribute(name, value);
      else if (value === "none" || value.startsWith("url")) to[i].setAttribute(name, value);
      else {
        const { colour, alpha } = hex(value);
        to[i].setAttribute(name, colour);
        if (alpha < 1) to[i].setAttribute(`${name}-opacity`,
          String(alpha * Number(style.getPropertyValue(`${name}-opacity`))));
      }
    }
    for (const name of ["class", "style", "tabindex"]) to[i].removeAttribute(name);
  });
  for (const [name, value] of Object.entries({ x: box.left - left, y: box.top - top, width: box.width,
    height: box.height })) {
    copy.setAttribute(name, String(round(value)));
  }
  copy.setAttribute("overflow", getComputedStyle(element).overflow === "visible" ? "visible" : "hidden");
  return new XMLSerializer().serializeToString(copy).replace(/<!--.*?-->/g,
    "").replace(' xmlns="http://www.w3.org/2000/svg"', "");
}

/**
 * What a canvas says it has drawn (its method `drawn`), else its pixels.
 * @param {any} element
 * @param {DOMRect} box
 * @param {Place} place
 */
function canvas(element, box, { left, top }) {
  const [x, y] = [round(box.left - left), round(box.top - top)];
  if (element.drawn) return `<g transform="translate(${x} ${y})">${element.drawn()}</g>`;
  const size = `width="${round(box.width)}" height="${round(box.height)}"`;
  return `<image x="${x}" y="${y}" ${size} preserveAspectRatio="none" style="image-rendering: pixelated" ` +
    `href="${element.toDataURL()}"/>`;
}

/** @param {string} drawing an SVG @returns {Promise<Blob>} */
export async function toPNG(drawing) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await image.decode();
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [image.width * SCALE, image.height * SCALE];
  /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d")).drawImage(image, 0, 0, sheet.width, sheet.height);
  return new Promise((done, failed) => sheet.toBlob((blob) => (blob ? done(blob)
    : failed(new Error("This browser makes no PNG of it.")))));
}

/** Rows as comma-separated values. @param {(string | number)[][]} rows */
export function toCSV(rows) {
  const cell = (value) => (/[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** @param {string} name @param {BlobPart} data @param {string} type */
export function download(name, data, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
