// In a report, in place of the requests to the service: the answers that it gave when the report was written.

const { moment, status, answers } = JSON.parse(document.getElementById("answers").textContent);

// A question by its path and its parameters, in whatever order and spelling they are.
function keyOf(path, parameters) { return JSON.stringify([path, Object.entries(parameters).sort()]); }

const found = new Map(answers.map((each) => [keyOf(each.path, each.parameters), each.answer]));

export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail);
    this.status = status;
  }
}

export function currentToken() { return ""; }

export function setToken() {}

function answerOf(path, parameters) {
  const answer = found.get(keyOf(path, parameters));
  if (answer === undefined) throw new Refused({ detail: "A report does not hold this answer; ask the service itself." }, 404);
  return structuredClone(answer);
}

export async function get(path) {
  const [name, query] = path.split("?");
  return answerOf(name, Object.fromEntries(new URLSearchParams(query ?? "")));
}

export async function getText(path) {
  const answer = await get(path);
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

export async function post(path, body) { return answerOf(path, { body: JSON.stringify(body) }); }

export async function follow(receive, connected) {
  connected(true);
  if (status.time !== undefined) receive("status", { ...status, report: moment });
}
