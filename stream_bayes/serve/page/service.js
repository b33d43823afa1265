// Requests to the service, and the stream of its events.

let token = new URLSearchParams(location.hash.slice(1)).get("token") || sessionStorage.getItem("token") || "";
if (location.hash.includes("token=")) history.replaceState(null, "", location.pathname);
if (token) sessionStorage.setItem("token", token);

export function currentToken() { return token; }

export function setToken(given) {
  token = given.trim();
  if (token) sessionStorage.setItem("token", token); else sessionStorage.removeItem("token");
}

export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `status ${status}`);
    this.status = status;
    this.type = problem.type;
  }
}

async function answerOf(path, options) {
  const headers = { ...(options.headers || {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    throw new Refused({ detail: "the service does not answer; it may have ended" }, 0);
  }
  if (!answer.ok) throw new Refused(await answer.json().catch(() => ({})), answer.status);
  return answer;
}

export async function get(path) { return (await answerOf(path, {})).json(); }

export async function getText(path) { return (await answerOf(path, {})).text(); }

export async function post(path, body, type = "application/json") {
  const text = type === "application/json" ? JSON.stringify(body) : body;
  return (await answerOf(path, { method: "POST", body: text, headers: { "Content-Type": type } })).json();
}

// Follow the events for ever: `receive(kind, data)` for each, `connected(true | false)` when the line changes.
// `fetch` in place of EventSource, which sends no token.
export async function follow(receive, connected) {
  for (let pause = 500; ; pause = Math.min(2 * pause, 10000)) {
    try {
      const answer = await answerOf("v1/events", {});
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      connected(true);
      pause = 500;
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        const messages = text.split("\n\n");
        text = messages.pop();
        for (const message of messages) {
          let kind = "message", data = "";
          for (const line of message.split("\n")) {
            if (line.startsWith("event: ")) kind = line.slice(7);
            else if (line.startsWith("data: ")) data += line.slice(6);
          }
          if (data) receive(kind, JSON.parse(data));
        }
      }
      connected(false);
    } catch (error) {
      connected(false, error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
