// HTTP/1.1 by hand, for what a well-behaved client cannot send or would hide.
import net from 'node:net';
import { once } from 'node:events';

/** Opens a connection; `end`, `destroy` and `write` are the socket's own. */
export async function connect(server) {
  const socket = net.connect(server.port, server.host);
  // A refused client may be reset while it still writes; reading says what happened.
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The head of a chat request. */
export function chatHead(headers) {
  const lines = Object.entries({
    Host: 'localhost',
    'Content-Type': 'application/json',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A whole chat request. */
export function chatBytes(body, headers = {}) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return Buffer.concat([Buffer.from(chatHead({ 'Content-Length': bytes.length, ...headers })), bytes]);
}

/** Collects what a socket receives until the other side is done. */
export function readToEnd(socket) {
  return new Promise((resolve) => {
    const pieces = [];
    socket.on('data', (piece) => pieces.push(piece));
    socket.once('close', () => resolve(Buffer.concat(pieces).toString('utf8')));
  });
}

/** Reads until what was received holds `text`; leaves the socket paused. */
export function readUntil(socket, text) {
  return new Promise((resolve, reject) => {
    let received = '';
    const onData = (piece) => {
      received += piece.toString('latin1');
      if (!received.includes(text)) return;
      socket.pause();
      socket.off('data', onData);
      resolve(received);
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error(`closed before "${text}": ${received}`)));
  });
}

/** {status, headers, body} of the text of one response with a Content-Length. */
export function parseResponse(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no response head in "${text.slice(0, 200)}"`);
  const [statusLine, ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) };
}

/** Posts a body as it is; gives {status, headers, text, json}. */
export function post(server, body, headers = {}) {
  return postTo(server, '/v1/chat/completions', body, headers);
}

/** The same to another path. */
export async function postTo(server, path, body, headers = {}) {
  const response = await fetch(`${server.origin}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  let json = null;
  try {
    json = JSON.parse(text);
  } catch {
    // The caller's assertions show the text.
  }
  return { status: response.status, headers: response.headers, text, json };
}

/**
 * Reads a whole stream of server-sent events, strictly as OpenAI frames them.
 * @return  {events, done}: the parsed data of each event, and how often [DONE] came (last)
 */
export function parseEvents(text) {
  const events = [];
  let done = 0;
  for (const event of text.split('\n\n').slice(0, -1)) {
    if (!event.startsWith('data: ') || event.includes('\n')) throw new Error(`odd event: ${event}`);
    if (done > 0) throw new Error(`after [DONE]: ${event}`);
    const data = event.slice('data: '.length);
    if (data === '[DONE]') ++done;
    else events.push(JSON.parse(data));
  }
  return { events, done };
}

/** Posts a streamed chat and reads it to its end. */
export async function postStream(server, body, headers = {}) {
  const answer = await post(server, { ...body, stream: true }, headers);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return { ...parseEvents(answer.text), headers: answer.headers, tail: answer.text.slice(-2) };
}

/** The text of one choice of a stream. */
export function streamedText(events, choice = 0) {
  return events
    .flatMap((event) => event.choices ?? [])
    .filter(({ index }) => index === choice)
    .map(({ delta }) => delta.content ?? '')
    .join('');
}

/** The finish reasons that a stream said, in order. */
export function finishReasons(events) {
  return events
    .flatMap((event) => event.choices ?? [])
    .map((choice) => choice.finish_reason)
    .filter((reason) => reason !== null);
}
