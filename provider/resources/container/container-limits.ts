// The time that a container's own limits allow in addition to the default limit of an operation: waits, commands, a clean stop. Pure.
import { parseDuration } from '../../framework/duration.ts';
import type { OperationName } from '../../framework/timeouts.ts';
import type { ContainerState, ExecSpec, WaitFor } from './container-attributes.ts';

const minuteMs = 60_000;

export function addedLimitMs(
  operation: OperationName,
  { wait_for: waits, exec, stop_timeout: stop }: Pick<ContainerState, 'wait_for' | 'exec' | 'stop_timeout'>,
): number {
  if (operation === 'read') return 0;
  const stopMs = operation === 'create' ? 0 : (stop ?? 30) * 1000;
  if (operation === 'delete') return stopMs;
  return sum([stopMs, ...(waits ?? []).map(waitMs), ...Object.values(exec ?? {}).map(commandMs)]);
}

const waitMs = ({ type, delay, timeout }: WaitFor): number =>
  parseDuration((type === 'delay' ? delay : timeout) ?? '') ?? minuteMs;

const commandMs = ({ enabled, timeout }: ExecSpec): number =>
  enabled === false ? 0 : (parseDuration(timeout ?? '') ?? 5 * minuteMs);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
