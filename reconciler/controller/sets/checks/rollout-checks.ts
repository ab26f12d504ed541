// Watches metrics after each batch of a rollout: the rollout continues when they hold for long enough, and stops when they do not.
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { asText } from '../../../core/documents/json-values.ts';
import { expandVariables } from '../../../manifest/variables/variables.ts';
import type { MetricCheck } from '../../config/config.ts';
import { judgeMetric } from '../../decide/judge-metric.ts';
import { authorizationOf, bodyText, dispatcherFor, get } from '../../sources/http/download.ts';
import { pause, withLimit } from '../../../../server/lib/shared/deadline.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface CheckedBatch {
  readonly set: string;
  readonly revision: string;
  /** All hosts that have the revision. */
  readonly hosts: readonly string[];
}

const maxBytes = 1024 * 1024;
const longestLookMs = 30_000;

/** Why the rollout must stop; undefined: all checks hold. Rejects when `signal` fires. */
export async function watchMetrics(
  checks: readonly MetricCheck[],
  batch: CheckedBatch,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (checks.length === 0) return undefined;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  try {
    return await new Promise((resolve, reject) => {
      const watching = checks.map(async (check) => {
        const why = await watchOne(check, batch, either);
        if (why !== undefined) resolve(why);
      });
      Promise.all(watching).then(() => resolve(undefined), reject);
    });
  } finally {
    stop.abort(new Error('another check failed'));
  }
}

async function watchOne(check: MetricCheck, batch: CheckedBatch, signal: AbortSignal): Promise<string | undefined> {
  const { name, forMs, intervalMs, failures } = check;
  let failed = 0;
  for (let passedMs = 0; passedMs < forMs;) {
    const waitMs = Math.min(intervalMs, forMs - passedMs);
    await pause(waitMs, signal);
    passedMs += waitMs;
    const why = await problemOf(check, batch, signal);
    failed = why === undefined ? 0 : failed + 1;
    if (failed >= failures) return `the check ${name} does not hold: ${why ?? ''}`;
  }
  return failed === 0 ? undefined : `the check ${name} does not hold at its end`;
}

/** A server that does not answer also stops the rollout: whether the revision works is unknown. */
async function problemOf(check: MetricCheck, batch: CheckedBatch, signal: AbortSignal): Promise<string | undefined> {
  const what = `the check ${check.name}`;
  const { tokenFile, caFile } = check;
  const credentials = {
    ...withoutUndefined({ passwordFile: tokenFile, caFile }),
  };
  const unchanged = (path: string): string => path;
  const limited = withLimit(signal, longestLookMs);
  try {
    const dispatcher = await dispatcherFor(credentials, unchanged);
    try {
      const authorization = await authorizationOf(credentials, unchanged);
      const url = new URL(`${check.url.replace(/\/+$/, '')}/api/v1/query`);
      url.searchParams.set('query', queryOf(check.query, batch));
      const okStatuses = [400, 422];
      const response = await get(url, { what, authorization, dispatcher, okStatuses }, limited);
      const text = (await bodyText(response, maxBytes, what)).toString('utf8');
      return judgeMetric(JSON.parse(text), check);
    } finally {
      await dispatcher.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    return reasonOf(error);
  }
}

function queryOf(query: string, { set, revision, hosts }: CheckedBatch): string {
  const variables = new Map([
    ['SET', set],
    ['REVISION', revision],
    ['HOSTS', hosts.map((name) => name.replaceAll('.', String.raw`\\.`)).join('|')],
  ]);
  return asText(expandVariables(query, variables).value);
}
