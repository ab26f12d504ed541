// Entry of the SQLite worker thread: one call at a time from the port, tidying in between. Keeps the disk off the main thread.
import { parentPort } from 'node:worker_threads';
import { loadDriver, sqliteError } from './driver.ts';
import { type Engine, openEngine } from './engine.ts';
import { buffersOf, type PackedRecords } from './packing.ts';
import type { CallMessage, OpenRequest, ReplyMessage, WireError } from './protocol.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** Delay between a write and the check of history, and the pause between two steps of a longer tidying. */
const tidyDelayMs = 5_000;
const tidyPauseMs = 20;

const port = parentPort;
if (port === null) throw new Error('sqlite-worker must run in a worker thread');

let engine: Engine | undefined;
let path = '';
let tidyTimer: NodeJS.Timeout | undefined;

port.on('message', (message: CallMessage) => void answer(message));

async function answer({ id, kind, request }: CallMessage): Promise<void> {
  try {
    const reply = kind === 'open' ? await open(request as OpenRequest) : call(kind, request);
    send({ id, reply });
  } catch (error) {
    send({ id, error: wireError(error) });
  }
}

async function open(request: OpenRequest): Promise<unknown> {
  path = request.path;
  engine = openEngine(await loadDriver(), request);
  const { rev, compactRev } = engine.status(undefined);
  scheduleTidy(tidyDelayMs);
  return { rev, compactRev };
}

function call(kind: Exclude<CallMessage['kind'], 'open'>, request: unknown): unknown {
  if (engine === undefined) throw new Error('the store is not open');
  const handler = engine[kind] as (request: unknown) => unknown;
  const reply = handler(request);
  if (kind === 'write' || kind === 'compact') scheduleTidy(tidyDelayMs);
  if (kind === 'close') shutDown();
  return reply;
}

function shutDown(): void {
  clearTimeout(tidyTimer);
  engine = undefined;
  port?.unref();
}

function scheduleTidy(delayMs: number): void {
  tidyTimer ??= setTimeout(tidy, delayMs);
}

function tidy(): void {
  tidyTimer = undefined;
  try {
    if (engine?.tidyStep()) scheduleTidy(tidyPauseMs);
    else engine?.forget();
  } catch {
    // The next writer reports a full disk; tidying is tried again after it.
  }
}

function send(message: ReplyMessage): void {
  port?.postMessage(message, 'reply' in message ? handedOver(message.reply) : []);
}

function handedOver(reply: unknown): ArrayBuffer[] {
  const isPacked = typeof reply === 'object' && reply !== null && 'packed' in reply;
  return isPacked ? buffersOf(reply.packed as PackedRecords) : [];
}

function wireError(raw: unknown): WireError {
  const error = sqliteError(raw, path);
  return {
    code: error.code,
    message: error.message,
    ...(error.cause instanceof Error ? { cause: error.cause.message } : {}),
    ...withoutUndefined({ compactRev: error.compactRev }),
  };
}
