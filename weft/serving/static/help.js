// @ts-check
// What the keys do, and the switch for them.

import { html, live } from "weft/element.js";

const KEYS = [["/", "the text"], ["[ ]", "layer"], [", .", "head"], ["← →", "token"], ["↑ ↓", "what it looks at"],
  ["space", "play"], ["p", "pin"], ["b", "a second one"], ["f", "present"], ["s", "save the figure"], ["Esc", "let go"],
  ["?", "these keys"]];

/**
 * The keys of a page with so many views.
 * @param {number} views
 * @param {boolean} works
 * @param {(works: boolean) => void} changed
 */
export function help(views, works, changed) {
  return html`<dialog aria-label="Keys"><h2>Keys</h2><dl>${[[`1 – ${views}`, "views"], ...KEYS].map(([key, what]) =>
    html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <label class="control"><input type="checkbox" .checked=${live(works)}
      @change=${(event) => changed(event.target.checked)}> These keys work</label>
    <form method="dialog"><button class="button">Close</button></form></dialog>`;
}
