// How one text differs from another.

import { h } from "weft/dom.js";

/** A text in which the words that differ from another text are marked. */
export function differing(text, other) {
  const [mine, theirs] = [text, other].map((one) => one.split(/(\s+)/));
  const same = common(mine, theirs);
  return mine.map((word, i) => (same.has(i) || !word.trim() ? word : h("em", {}, word)));
}

/** Indices of the longest common subsequence in the first list. */
function common(a, b) {
  const length = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const found = new Set();
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      found.add(i);
      i += 1;
      j += 1;
    } else if (length[i + 1][j] >= length[i][j + 1]) i += 1;
    else j += 1;
  }
  return found;
}
