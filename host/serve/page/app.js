// The code leaves the address before anything else happens.
const code = new URLSearchParams(location.hash.slice(1)).get("login");
history.replaceState(null, "", location.pathname);

const say = (text) => { document.getElementById("state").textContent = text; };

async function ask(method, path, body) {
  const headers = {};
  const session = localStorage.getItem("session");
  if (session) headers.Authorization = "Bearer " + session;
  if (method === "POST") headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const value = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(value.detail);
  return value;
}

try {
  if (code) {
    localStorage.removeItem("session");
    localStorage.setItem("session", (await ask("POST", "/v1/login", { code })).session);
  }
  if (!localStorage.getItem("session")) {
    say("You are not logged in. The command agent web prints a link that logs you in.");
  } else {
    const server = await ask("GET", "/v1/server");
    say(`You are logged in to agent ${server.agent}, process ${server.pid} on ${server.host}.`);
  }
} catch (error) {
  say(error.message);
}
