// @ts-check
// What a browser keeps of this page from visit to visit.

/** What browsers keep, where they may. @param {string} name */
export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keep it for the next visit. @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* until the page is closed, then */ }
}
