// Entry of the thread that evaluates Terraform JSON: one configuration, one result, then it ends.
import { parentPort } from 'node:worker_threads';
import { withFence } from '../text/fence.ts';
import type { EvaluationOrder } from './evaluate-aside.ts';
import { evaluate } from './evaluate-here.ts';

const port = parentPort;
if (port === null) throw new Error('terraform-worker must run in a worker thread');

port.once('message', ({ configuration, answers, fence }: EvaluationOrder) => {
  const answer = (): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    port.postMessage(evaluate(configuration, answers));
  };
  if (fence === undefined) answer();
  else withFence(fence, answer);
});
