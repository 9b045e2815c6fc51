// @ts-check
// Decide: the beam search as a tree.

import { View, define, html } from "../view.js";

class DecideSearch extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-decide-search", DecideSearch);
export const decideSearch = { name: "decide", label: "Decide", needs: ["search"], tag: "v-decide-search" };
