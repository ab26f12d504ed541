// Decides whether a container moves, with its processes or without, or stops when its member is evacuated. Pure.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { deviceHome } from '../../../api/devices/index.ts';
import { evacuateKeys } from '../../containers/shared/evacuate-keys.ts';

export const evacuationModes = ['auto', 'migrate', 'live-migrate', 'stop'] as const;

export const isEvacuationMode = (text: string): text is (typeof evacuationModes)[number] =>
  (evacuationModes as readonly string[]).includes(text);

/** `live`: its processes move with it if it runs. */
export type WayOut = 'move' | 'live' | 'stop';

/** `wish`: of the request; empty: the container's `cluster.evacuate` decides. */
export function wayOut(
  { config, devices }: { readonly config: ConfigMap; readonly devices: DeviceMap },
  wish: string,
): WayOut {
  const own = wish === '' ? (config['cluster.evacuate'] ?? 'auto') : wish;
  if (own === 'live-migrate') return 'live';
  if (own !== 'auto') return own === 'stop' ? 'stop' : 'move';
  return Object.values(devices).every((device) => deviceHome(device) === 'any') ? 'move' : 'stop';
}

/** Whether it should run afterwards: it runs now, or did before. */
export const isToRun = (config: ConfigMap, isRunning: boolean): boolean =>
  isRunning || config[evacuateKeys.power] === 'RUNNING';

/** The config of a container about to leave for a while. `origin` absent: unchanged. */
export const leaving = (
  config: ConfigMap,
  isRunning: boolean,
  { origin, isLive = false }: { readonly origin?: string | undefined; readonly isLive?: boolean },
): ConfigMap => ({
  ...config,
  ...(isLive ? { [evacuateKeys.live]: 'true' } : {}),
  ...(origin === undefined ? {} : { [evacuateKeys.origin]: origin }),
  ...(isToRun(config, isRunning) ? { [evacuateKeys.power]: 'RUNNING' } : {}),
});

/** The config once it is back. */
export const returned = (config: ConfigMap): ConfigMap =>
  Object.fromEntries(
    Object.entries(config).filter(([key]) => key !== evacuateKeys.origin && key !== evacuateKeys.live),
  );
