// Evaluates a configuration in a thread of its own: however long a hostile one takes and however much memory it wants, the event loop
// of the caller is not blocked.
import { askThread, compiledBeside } from '../../../server/lib/shared/ask-thread.ts';
import { ConcurrencyLimit } from '../../../server/lib/shared/concurrency-limit.ts';
import { fenceHere } from '../text/fence.ts';
import { EvaluationLimitError, type Answers, type Configuration, type Evaluate, type Evaluated } from './evaluation.ts';

export interface EvaluationOrder {
  readonly configuration: Configuration;
  readonly answers: Answers;
  /** The folder that files are read from; undefined: any. */
  readonly fence: string | undefined;
}

/** Each takes a processor and up to this memory. */
const threads = new ConcurrencyLimit(2);
const memoryMb = 512;

export const evaluateAside: Evaluate = async (configuration, answers, limitMs, signal) => {
  const message: EvaluationOrder = { configuration, answers, fence: fenceHere() };
  const entry = compiledBeside(import.meta.url, './terraform-worker.js');
  const found = await threads.run(() => askThread<Evaluated>({ entry, message, timeoutMs: limitMs, memoryMb }, signal));
  if ('exceeded' in found) throw new EvaluationLimitError(found.exceeded);
  return found.answer;
};

/** For loads of files that do not change meanwhile: configurations with equal values are evaluated once. A thread costs 70 ms. */
export function evaluateAsideOnce(): Evaluate {
  const known = new Map<string, Promise<Evaluated>>();
  return (configuration, answers, limitMs, signal) => {
    const files = configuration.files.map(({ file }) => file);
    const key = JSON.stringify([files, [...configuration.given], [...answers]]);
    const evaluated = known.get(key) ?? evaluateAside(configuration, answers, limitMs, signal);
    known.set(key, evaluated);
    return evaluated;
  };
}
