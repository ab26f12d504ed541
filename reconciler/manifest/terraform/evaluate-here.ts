// Evaluates a configuration in the thread of the caller, which does nothing else meanwhile.
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import { loadTerraform } from '../terraform-json/load-terraform.ts';
import { EvaluationLimitError, type Answers, type Configuration, type Evaluate, type Evaluated } from './evaluation.ts';
import { withinTime } from './within-time.ts';

export const evaluateHere: Evaluate = (configuration, answers, limitMs) => {
  const evaluated = withinTime(limitMs, () => evaluate(configuration, answers));
  return evaluated === undefined ? Promise.reject(new EvaluationLimitError('time')) : Promise.resolve(evaluated);
};

/** Takes the time that it needs. */
export function evaluate({ files, given, modules }: Configuration, answers: Answers): Evaluated {
  const asked = new Map<string, DataRequest>();
  const read = (request: DataRequest): DataAnswer => {
    const key = JSON.stringify(request);
    if (!answers.has(key)) asked.set(key, request);
    return answers.get(key);
  };
  const begunMs = performance.now();
  const loaded = loadTerraform(files, given, { modules, read });
  return { loaded, asked, tookMs: Math.ceil(performance.now() - begunMs) };
}
