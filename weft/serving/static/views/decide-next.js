// @ts-check
// Decide: the next token.

import { View, define, html } from "../view.js";

class DecideNext extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-decide-next", DecideNext);
export const decideNext = { name: "decide", label: "Decide", needs: ["next"], tag: "v-decide-next" };
