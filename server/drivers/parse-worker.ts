// Entry of the thread that parses untrusted text: one request, one reply, then it ends.
import { parentPort } from 'node:worker_threads';
import { runParseJob, type ParseRequest } from './parse-jobs.ts';

const port = parentPort;
if (port === null) throw new Error('parse-worker must run in a worker thread');

port.once('message', (request: ParseRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  port.postMessage(runParseJob(request));
});
