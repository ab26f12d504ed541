// Renders the result of a rollout: a table of hosts and a summary line, or JSON.
import type { Plan } from '../../../core/plan/plan.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import type { Output } from '../../session/context.ts';
import type { ExitCode } from '../../errors/exit-codes.ts';
import type { Counts } from '../../output/outcome.ts';
import { paintFor } from '../../output/paint.ts';
import { jsonLine } from '../../output/render-json.ts';
import { firstLine, renderTable } from '../../output/table.ts';
import { outcomeWord } from '../../hosts/each-host.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface HostResult {
  readonly host: Host;
  readonly code: ExitCode;
  readonly state: 'done' | 'unchanged' | 'not-begun' | 'failed';
  /** Absent when nothing was carried out. */
  readonly counts?: Counts;
  readonly message?: string;
}

const wordFor = ({ state, code }: HostResult): string =>
  state === 'failed'
    ? outcomeWord(code)
    : state === 'not-begun'
      ? 'not started'
      : state === 'unchanged'
        ? 'no changes'
        : 'done';

export function rolloutLine(mode: Plan['mode'], results: readonly HostResult[]): string {
  const named = (state: HostResult['state']): string =>
    results.flatMap((one) => (one.state === state ? [one.host.name] : [])).join(', ');
  const count = (state: HostResult['state']): number => results.filter((one) => one.state === state).length;
  const verb = mode === 'apply' ? 'Apply' : 'Destroy';
  const isWhole = count('failed') + count('not-begun') === 0;
  const hosts = `${count('done')} of ${results.length} ${results.length === 1 ? 'host' : 'hosts'} done`;
  const parts = [
    hosts,
    ...(count('unchanged') > 0 ? [`${count('unchanged')} without changes`] : []),
    ...(count('failed') > 0 ? [`failed: ${named('failed')}`] : []),
    ...(count('not-begun') > 0 ? [`not started: ${named('not-begun')}`] : []),
  ];
  return `${verb} ${isWhole ? 'complete!' : 'incomplete:'} ${parts.join('; ')}.`;
}

export function showRollout(context: Output, mode: Plan['mode'], results: readonly HostResult[]): void {
  const line = rolloutLine(mode, results);
  if (context.isJson) {
    const hosts = results.map((one) => ({
      host: one.host.name,
      address: one.host.address,
      state: one.state,
      exit_code: one.code,
      ...withoutUndefined({ changes: one.counts, message: one.message }),
    }));
    context.json(jsonLine('fleet_summary', line, { operation: mode, hosts }, context.io.nowMs()));
    return;
  }
  const paint = paintFor(context.color);
  const rows = results.map((one) => [
    one.host.name,
    wordFor(one),
    ...(one.counts === undefined ? ['', '', ''] : [one.counts.add, one.counts.change, one.counts.remove].map(String)),
    firstLine(one.message ?? ''),
  ]);
  const isGood = results.every(({ state }) => state === 'done' || state === 'unchanged');
  context.out(`\n${renderTable(['HOST', 'RESULT', 'ADDED', 'CHANGED', 'DESTROYED', 'NOTE'], rows, paint)}`);
  context.out(`\n${isGood ? paint.bold(paint.green(line)) : paint.bold(line)}`);
}
