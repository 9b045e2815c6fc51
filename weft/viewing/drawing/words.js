// @ts-check
// Tokens and numbers as people read them.

export const inner = { mark: "-" }; // before a token inside a word; none where tokens are characters

/**
 * A token as people read it: one inside a word gets a hyphen. The same as weft.viewing.pictures.label.
 * @param {string} token
 */
export function label(token) {
  if (token === "∎") return "(end)";
  if (token === "∅") return "(start)";
  if (!token.replaceAll("·", "")) return "(space)";
  if (token.startsWith("·")) return token.slice(1);
  return /^[\p{L}\p{N}]/u.test(token) ? inner.mark + token : token;
}

/** Whether a token is no text but begins or ends one. @param {string} token */
export const isEnd = (token) => token === "∎" || token === "∅";

const REST = "‥"; // the rest of a character that is several tokens

/**
 * Tokens that belong together, because they are one character. Each has the indices [from, to) of its tokens.
 * @param {string[]} tokens
 */
export function characters(tokens) {
  /** @type {{from: number, to: number, text: string, token: string}[]} */
  const found = [];
  tokens.forEach((token, from) => {
    if (token === REST && found.length) found[found.length - 1].to += 1;
    else found.push({ from, to: from + 1, token, text: label(token) });
  });
  return found;
}

/** A label for each token. @param {string[]} tokens */
export const labels = (tokens) => tokens.map(label);

/** Tokens as the text they are. @param {string[]} tokens */
export function written(tokens) {
  return characters(tokens.filter((token) => !isEnd(token))).map(({ token }) => token).join("").replaceAll("·",
    " ").trim();
}

/** counted(1, "head") → "1 head", counted(8, "head") → "8 heads". @param {number} count @param {string} name */
export function counted(count, name) {
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}

/** A number with this many digits, and a minus as wide as a plus. @param {number} number @param {number} digits */
export function fixed(number, digits) {
  return number.toFixed(digits).replace("-", "−");
}

/** fixed, with a plus. @param {number} number @param {number} digits */
export function signed(number, digits) {
  return `${number > 0 ? "+" : ""}${fixed(number, digits)}`;
}

/** A probability as a percentage: 72 %, 3.4 %, <0.1 %. @param {number} chance */
export function percent(chance) {
  const hundred = chance * 100;
  return hundred >= 9.95 ? `${hundred.toFixed(0)} %` : hundred >= 0.1 ? `${hundred.toFixed(1)} %` : "<0.1 %";
}

/** A number far from 1, as 2.6·10⁵. @param {number} number @param {number} [digits] */
export function scientific(number, digits = 1) {
  const [size, power] = number.toExponential(digits).split("e");
  return `${size}·10${[...String(Number(power))].map((one) => (one === "-" ? "⁻"
    : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(one)])).join("")}`;
}

/** A count in thousands or millions: 7.57 M, 512 k, 9,216. @param {number} count */
export function thousands(count) {
  if (count >= 1e6) return `${(count / 1e6).toFixed(2)} M`;
  return count >= 1e4 ? `${Math.round(count / 1e3)} k` : count.toLocaleString("en");
}

/**
 * Indices of the longest common subsequence of two lists, as pairs.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[number, number][]}
 */
export function common(a, b) {
  const length = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  /** @type {[number, number][]} */
  const found = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (length[i + 1][j] >= length[i][j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

/**
 * A text cut into words and the space between them, each marked if another text does not have it.
 * @param {string} text
 * @param {string} other
 */
export function differing(text, other) {
  const [mine, theirs] = [text, other].map((one) => one.split(/(\s+)/));
  const same = new Set(common(mine, theirs).map(([i]) => i));
  return mine.map((word, i) => ({ word, differs: Boolean(word.trim()) && !same.has(i) }));
}

/**
 * The tokens of two texts beside each other: those that both have, and those that stand in each other's place.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {{a: number | null, b: number | null, token: string}[]}
 */
export function aligned(a, b) {
  const found = [];
  let [i, j] = [0, 0];
  for (const [toA, toB] of [...common(a, b), [a.length, b.length]]) {
    while (i < toA || j < toB) {
      const [one, other] = [i < toA ? i++ : null, j < toB ? j++ : null];
      const [mine, theirs] = [one === null ? "" : label(a[one]), other === null ? "" : label(b[other])];
      found.push({ a: one, b: other, token: `·${[mine, theirs].filter(Boolean).join(" → ") || "…"}` });
    }
    if (toA < a.length) found.push({ a: i++, b: j++, token: a[toA] });
  }
  return found;
}
