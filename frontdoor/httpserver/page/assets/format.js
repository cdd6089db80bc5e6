// How figures and states read.

export function age(ms) {
  const sec = Math.max(0, Math.round(ms / 1000));
  if (sec < 60) return `${sec}s`;
  if (sec < 3600) return `${Math.floor(sec / 60)}m ${sec % 60}s`;
  if (sec < 86400) return `${Math.floor(sec / 3600)}h ${Math.floor((sec % 3600) / 60)}m`;
  return `${Math.floor(sec / 86400)}d ${Math.floor((sec % 86400) / 3600)}h`;
}

export function count(n) {
  if (!n) return '0';
  if (n < 1000) return String(n);
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

export const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

export function cost(usage) {
  if (usage.cost === undefined || usage.cost === '') return usage.inputTokens || usage.outputTokens ? 'unknown' : '';
  const n = Number(usage.cost);
  return `$${n.toFixed(n < 1 ? 4 : 2)}`;
}

export function tokens(usage) {
  if (!usage.inputTokens && !usage.outputTokens) return '';
  const cached = usage.cacheReadTokens ? ` · ${count(usage.cacheReadTokens)} cached` : '';
  return `${count(usage.inputTokens)} in · ${count(usage.outputTokens)} out${cached}`;
}

const words = {
  streaming: 'thinks', executing_tool: 'runs a tool', waiting_approval: 'asks', paused: 'paused', idle: 'idle', queued: 'queued',
  running: 'running', completed: 'completed', failed: 'failed', cancelled: 'cancelled', timed_out: 'out of time', interrupted: 'interrupted',
};

const ends = { steps: 'at its step limit', length: 'cut at the output limit', budget: 'over its budget' };

// state is what a session does, in a word for its class and for people.
export function state(row) {
  if (row.endedAt) return { name: row.status, text: [words[row.status] ?? row.status, ends[row.stopReason]].filter(Boolean).join(' ') };
  if (row.stalled) return { name: 'stalled', text: 'stalled' };
  if (row.pause) return { name: 'paused', text: 'paused' };
  if (row.status === 'waiting_approval') return { name: 'waiting_approval', text: 'asks' };
  if (row.status === 'queued') return { name: 'queued', text: 'queued' };
  if (row.doing === 'idle') return { name: 'idle', text: row.agent ? 'idle' : '' };
  return { name: 'running', text: words[row.doing] ?? 'running' };
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

export const title = (row) => row.agent || 'caller';
export const shortModel = (model) => (model ?? '').replace(/^[^/]*\//, '');
