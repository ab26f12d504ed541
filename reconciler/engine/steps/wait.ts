// Waits until a container is running or has an address; when that does not happen, says what it has instead.
import type { ContainerState } from '../../../server/api/container.ts';
import { statusCodes } from '../../../server/api/status.ts';
import type { WaitCondition } from '../../core/document.ts';
import type { WaitStep } from '../../core/plan.ts';
import { NotReadyError, type Note, type StepContext } from './context.ts';

const firstPauseMs = 100;
const longestPauseMs = 1000;

export async function waitFor(context: StepContext, step: WaitStep, signal: AbortSignal): Promise<Note> {
  const { condition } = step;
  const endMs = context.nowMs() + condition.timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const { metadata: state } = await context.client.containerState(step.name, signal);
    if (holds(condition, state)) return undefined;
    if (state.status_code === statusCodes.stopped || state.status_code === statusCodes.error) {
      throw new NotReadyError(`it stopped instead of getting ready: ${describeState(state)}`);
    }
    const leftMs = endMs - context.nowMs();
    if (leftMs <= 0) {
      const limit = `${condition.timeoutMs / 1000} s`;
      throw new NotReadyError(`${wanted(condition)} did not come in ${limit}: ${describeState(state)}`);
    }
    context.onProgress(`waiting for ${wanted(condition)}: ${describeState(state)}`);
    await context.pause(Math.min(pauseMs, leftMs), signal);
  }
}

const wanted = (condition: WaitCondition): string =>
  condition.type === 'running'
    ? 'the running state'
    : `an IPv4 address${condition.nic === undefined ? '' : ` on ${condition.nic}`}`;

export function holds(condition: WaitCondition, state: ContainerState): boolean {
  if (state.status_code !== statusCodes.running) return false;
  if (condition.type === 'running') return true;
  return globalAddresses(state, condition.nic).some(({ family }) => family === 'inet');
}

/** Addresses that others can reach, of one interface or of all but the loopback. */
export function globalAddresses(
  state: ContainerState,
  nic?: string,
): readonly { readonly nic: string; readonly family: string; readonly address: string }[] {
  return Object.entries(state.network ?? {})
    .filter(([name]) => (nic === undefined ? name !== 'lo' : name === nic))
    .flatMap(([name, { addresses }]) =>
      addresses
        .filter(({ scope }) => scope === 'global')
        .map(({ family, address }) => ({ nic: name, family, address })),
    );
}

/** `Running, 12 processes, eth0 up without an address`. */
export function describeState(state: ContainerState): string {
  const nics = Object.entries(state.network ?? {})
    .filter(([name]) => name !== 'lo')
    .map(([name, { state: link, addresses }]) => {
      const shown = addresses.filter(({ scope }) => scope === 'global').map(({ address }) => address);
      return `${name} ${link} ${shown.length === 0 ? 'without an address' : `with ${shown.join(', ')}`}`;
    });
  const interfaces = nics.length > 0 ? nics : state.status_code === statusCodes.running ? ['no interfaces'] : [];
  const processes = state.processes > 0 ? [`${state.processes} processes`] : [];
  return [state.status, ...processes, ...interfaces].join(', ');
}
