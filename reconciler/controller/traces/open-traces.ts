// Opens the tracer of a controller from gantry.yaml, else from the environment.
import { openTracing, type OpenTracer } from '../../../server/traces/open.ts';
import type { Environment } from '../../../server/traces/target.ts';
import type { TracingConfig } from '../config/config.ts';
import { readSecret } from '../sources/files/secret.ts';

/** Undefined without a collector. Rejects for unusable settings. */
export async function openTraces(
  { endpoint, headers, tokenFile, sampleRatio }: TracingConfig = {},
  env: Environment,
  onProblem: (message: string) => void,
): Promise<OpenTracer | undefined> {
  const token = tokenFile === undefined ? undefined : await readSecret('tracing.tokenFile', tokenFile);
  const sent = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const settings = { endpoint, headers: sent, ratio: sampleRatio };
  return openTracing({ env, service: 'gantry-controller', settings }, onProblem);
}
