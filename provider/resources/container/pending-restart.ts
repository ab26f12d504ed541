// Remembers that a change of a running container takes effect at a start which has not come yet, so that a later plan restarts it: the
// config on the server does not show what the container runs with. A note in private data and one on the container say it: the first also
// where a change of a profile needs the restart, the second also when the provider dies amid an apply.
import type { Container } from '../../../server/api/container/container.ts';
import { isUp } from '../../../server/client/facts/containers.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import type { PrivateData } from '../../framework/object-type.ts';
import { equalValues } from '../../framework/value.ts';
import { notedRestartKey } from '../shared/noted-restart.ts';
import { costOf, withoutComputed } from './container-state.ts';

const key = 'restart';

/** The time of the last start, after which the change was made. */
export const startOf = ({ last_used_at: startedAt }: Pick<Container, 'last_used_at'>): string => startedAt ?? '';

/** False once anybody has stopped or restarted it. */
export const isRestartPending = (privateData: PrivateData, live: Container): boolean =>
  isUp(live.status) && [privateData[key], live.config[notedRestartKey]].includes(startOf(live));

export function noteRestart(privateData: PrivateData, live: Container): void {
  privateData[key] = startOf(live);
}

export function forgetRestart(privateData: PrivateData): void {
  delete privateData[key];
}

/** After a write that the server refused, the note is as before. */
export function restoreNote(privateData: PrivateData, earlier: PrivateData): void {
  forgetRestart(privateData);
  if (earlier[key] !== undefined) privateData[key] = earlier[key];
}

interface WrittenContainer {
  readonly config: TextMap;
  readonly devices: TextMaps;
  readonly profiles: readonly string[];
}

/** Whether the write may need a restart. Other profiles may: only the container as it is afterwards shows it. */
export function mayNeedRestart(live: Container, { config, devices, profiles }: WrittenContainer): boolean {
  if (!isUp(live.status)) return false;
  if (!equalValues(live.profiles ?? [], profiles)) return true;
  const before = { config: withoutComputed(live.config), devices: live.devices ?? {} };
  return costOf(before, { config: withoutComputed(config), devices }).effect !== 'live';
}
