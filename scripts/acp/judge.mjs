// Drives `agent acp` with the protocol's own TypeScript library, as an editor would: a session, a
// question, a second prompt, a load by another process, a cancel. Prints a line for each case; ends
// with status 1 at the first that fails.
//
//   node judge.mjs COMMAND FOLDER    COMMAND starts agent acp, FOLDER is where the sessions work
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const [command, cwd] = process.argv.slice(2);
const { agent, client } = acp.methods;

// An editor: what it was shown, and how it answers questions.
const editor = async (work, answer = (options) => options[0].optionId) => {
  const child = spawn(command, { stdio: ['pipe', 'pipe', 'inherit'] });
  const seen = [];
  const said = (kind) => seen.filter((u) => u.sessionUpdate === kind).map((u) => u.content?.text ?? '').join('');
  const app = acp.client({ name: 'judge' })
    .onRequest(client.session.requestPermission, (c) => ({ outcome: { outcome: 'selected', optionId: answer(c.params.options) } }))
    .onNotification(client.session.update, (c) => { seen.push(c.params.update); });
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (conn) => {
    const got = await conn.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'judge', version: '1' } });
    assert.equal(got.protocolVersion, 1);
    assert.equal(got.agentCapabilities.loadSession, true);
    await work(conn, { seen, said });
  });
  child.stdin.end();
};
const prompt = (sessionId, text) => ({ sessionId, prompt: [{ type: 'text', text }] });
let session;

await editor(async (conn, { said, seen }) => {
  session = (await conn.request(agent.session.new, { cwd, mcpServers: [] })).sessionId;
  assert.deepEqual(await conn.request(agent.session.prompt, prompt(session, 'make it')), { stopReason: 'end_turn' });
  assert.equal(said('agent_message_chunk'), 'I make it. It is made.');
  assert.ok(existsSync(`${cwd}/made`));
  assert.ok(seen.some((u) => u.sessionUpdate === 'tool_call_update' && u.status === 'completed'));
  console.log('a session, a question, an answer: ok');
  assert.deepEqual(await conn.request(agent.session.prompt, prompt(session, 'and then?')), { stopReason: 'end_turn' });
  const { sessions } = await conn.request(agent.session.list, {});
  assert.equal(sessions[0].sessionId, session);
  console.log('a second prompt, and the list: ok');
});

await editor(async (conn, { said }) => {
  await conn.request(agent.session.load, { sessionId: session, cwd, mcpServers: [] });
  assert.equal(said('user_message_chunk'), 'make itand then?');
  assert.equal(said('agent_message_chunk'), 'I make it. It is made.Nothing more.');
  console.log('a load by another process: ok');
  await conn.request(agent.session.setMode, { sessionId: session, modeId: 'auto' });
  const end = conn.request(agent.session.prompt, prompt(session, 'wait'));
  while (!existsSync(`${cwd}/waits`)) await new Promise((done) => setTimeout(done, 20));
  await conn.notify(agent.session.cancel, { sessionId: session });
  assert.deepEqual(await end, { stopReason: 'cancelled' });
  console.log('a cancel: ok');
});

await editor(async (conn) => {
  const fresh = (await conn.request(agent.session.new, { cwd, mcpServers: [] })).sessionId;
  assert.deepEqual(await conn.request(agent.session.prompt, prompt(fresh, 'make other')), { stopReason: 'end_turn' });
  assert.ok(!existsSync(`${cwd}/other`));
  console.log('a no: ok');
}, (options) => options.find((o) => o.kind === 'reject_once').optionId);
