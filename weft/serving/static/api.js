// Requests to the service. Answers are cached, so going back costs nothing.

const CACHED = 60; // answers
const answers = new Map();

export function get(path) {
  return ask(path, { method: "GET", headers: {} });
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Send this API key with every request, until the tab is closed. */
export function useKey(key) {
  sessionStorage.setItem("key", key);
}

async function ask(path, options) {
  const known = `${path} ${options.body ?? ""}`;
  if (!answers.has(known)) {
    const key = sessionStorage.getItem("key");
    if (key) options.headers.Authorization = `Bearer ${key}`;
    const answer = await fetch(path, options).catch((error) => {
      throw error.name === "AbortError" ? error : new Error("The service does not respond. Is it still running?");
    });
    const data = await answer.json().catch(() => ({}));
    options.signal?.throwIfAborted(); // an aborted answer may be incomplete
    if (!answer.ok) {
      const error = new Error(data.error ?? `The service answered ${answer.status}.`);
      error.status = answer.status;
      throw error;
    }
    answers.set(known, data);
    if (answers.size > CACHED) answers.delete(answers.keys().next().value);
  }
  return answers.get(known);
}
