// Asking the service. An answer is kept for a while: going back to what was seen costs nothing.

const REMEMBERED = 60;
const answers = new Map();

export function get(path) {
  return ask(path, { method: "GET", headers: {} });
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Where the service asks for a key: it is sent with everything, and forgotten with the tab. */
export function useKey(key) {
  sessionStorage.setItem("key", key);
}

async function ask(path, options) {
  const known = `${path} ${options.body ?? ""}`;
  if (!answers.has(known)) {
    const key = sessionStorage.getItem("key");
    if (key) options.headers.Authorization = `Bearer ${key}`;
    const answer = await fetch(path, options).catch((error) => {
      throw error.name === "AbortError" ? error : new Error("The service does not answer. Is it still running?");
    });
    const data = await answer.json().catch(() => ({}));
    options.signal?.throwIfAborted(); // half an answer is none
    if (!answer.ok) {
      const error = new Error(data.error ?? `The service says ${answer.status}.`);
      error.status = answer.status;
      throw error;
    }
    answers.set(known, data);
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(known);
}
