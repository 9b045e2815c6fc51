// @ts-check
// Change: heads switched off.

import { View, define, html } from "../view.js";

class Change extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-change", Change);
export const change = { name: "change", label: "Change", needs: ["importance"], tag: "v-change" };
