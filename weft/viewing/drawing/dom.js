// Helpers for every drawing: elements, colours of the theme, sharp canvases.

/** h("button", {class: "chip", onclick: f, "aria-pressed": true}, "text", child …) */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same for SVG elements. */
export function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// The event "theme" is sent when colours change, by the system or by the page's button.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));

const probe = h("span", { style: "display: none" });

/** A colour of the style sheet as it is now, dark or light: colour("--accent") → "rgb(36, 86, 196)" */
export function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

export function rgb(name) {
  return colour(name).match(/[\d.]+/g).slice(0, 3).map(Number);
}

export function isDark() {
  const [r, g, b] = rgb("--paper");
  return r + g + b < 384;
}

/** One colour per head, as far apart as possible. */
export function headColour(head, heads) {
  const hue = (28 + (360 * head) / Math.max(heads, 1)) % 360;
  return `oklch(${isDark() ? 0.76 : 0.6} 0.155 ${hue.toFixed(1)})`;
}

/** 256 colours from weight 0 to weight 1. */
export function heatRamp() {
  const [low, middle, high] = ["--heat-0", "--heat-1", "--heat-2"].map(rgb);
  const blend = (a, b, t) => a.map((value, i) => Math.round(value + (b[i] - value) * t));
  return Array.from({ length: 256 }, (_, i) => (i < 128 ? blend(low, middle, i / 128) : blend(middle, high, (i - 128) / 127)));
}

/** The canvas's context in CSS pixels, sharp on any screen. */
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

export const inner = { mark: "-" }; // before a token inside a word; none where tokens are characters

/** A token as people read it: one inside a word gets a hyphen. The same as weft.viewing.pictures.label. */
export function label(token) {
  if (token === "∎") return "(end)";
  if (token === "∅") return "(start)";
  if (!token.replaceAll("·", "")) return "(space)";
  if (token.startsWith("·")) return token.slice(1);
  return /^[\p{L}\p{N}]/u.test(token) ? inner.mark + token : token;
}

/** counted(1, "head") → "1 head", counted(8, "head") → "8 heads" */
export function counted(count, name) {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** Call `draw` soon, when the width of the element changes, and when the theme changes. Returns a function that stops it. */
export function redrawn(element, draw) {
  let width = -1;
  const resized = new ResizeObserver(() => {
    if (element.clientWidth !== width) {
      width = element.clientWidth;
      draw();
    }
  });
  resized.observe(element);
  addEventListener("theme", draw);
  return () => {
    resized.disconnect();
    removeEventListener("theme", draw);
  };
}

/** A number with this many digits, and a minus as wide as a plus. */
export function fixed(number, digits) {
  return number.toFixed(digits).replace("-", "−");
}

/** A row of exclusive choices: native radio buttons, so arrow keys work. */
export function segmented(name, choices, value, onchange) {
  const group = `${name}-${(segmented.count = (segmented.count ?? 0) + 1)}`;
  return h("div", { class: "segmented", role: "radiogroup", "aria-label": name },
    ...Object.entries(choices).map(([key, text]) =>
      h("label", {},
        h("input", { type: "radio", name: group, value: key, "aria-label": text, checked: key === value, onchange: () => onchange(key) }),
        h("span", {}, text))));
}

export function menu(name, choices, value, onchange) {
  const select = h("select", { "aria-label": name, onchange: () => onchange(select.value) },
    ...choices.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text)));
  return select;
}
