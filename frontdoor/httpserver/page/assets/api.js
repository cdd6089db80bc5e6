// Requests to the worker.

async function request(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.status === 401) location.reload(); // the server says what to do
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error?.message ?? `the worker has answered ${response.status}`);
  return answer;
}

const scopes = document.querySelector('meta[name=scopes]').content.split(' ');

// may says whether who has logged in may do what takes a scope: run, approve or owner. The
// server looks at each request by itself.
export const may = (scope) => scopes.includes('owner') || scopes.includes(scope);

// pace is how long to wait before something is asked for again: at least so many ms, and more
// where the answer has taken long since it was asked for.
export const pace = (least, begun) => Math.max(least, 4 * (performance.now() - begun));

export const get = (path) => request('GET', path);
export const post = (path, body) => request('POST', path, body);

export const answerApproval = (approvalId, answer, feedback = '') => post('/page/approvals', { approvalId, answer, feedback });
export const answerQuestion = (approvalId, answers) => post('/page/approvals', { approvalId, answer: 'answer', answers });
export const stop = (id) => request('DELETE', `/v1/sessions/${encodeURIComponent(id)}`);
export const stopCommand = (id, command) => post(`/v1/sessions/${encodeURIComponent(id)}/commands/${encodeURIComponent(command)}/stop`);
export const send = (sessionId, message) => post('/v1/tasks/send', { sessionId, message });
export const background = (sessionId, command = false) => post('/v1/tasks/background', { sessionId, command });
export const start = (agentType, prompt) => post('/v1/tasks', { description: prompt.slice(0, 60), prompt, agentType, background: true });
export const apply = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/apply`);
export const discard = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/discard`);
export const changes = (id) => get(`/v1/sessions/${encodeURIComponent(id)}/changes`);
export const revert = (id, files, force) => post(`/v1/sessions/${encodeURIComponent(id)}/revert`, { files, force });
export const erase = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/delete`);
export const summarise = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/summary`);
export const startTalk = (agent, prompt) => post('/page/conversations', { agent, prompt });
export const say = (id, message) => post(`/page/conversations/${encodeURIComponent(id)}`, { message });
