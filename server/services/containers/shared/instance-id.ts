// The identity of a container for cloud-init: a new one makes cloud-init set the machine up again at its next boot. Pure but for the random
// id.
import { randomUUID } from 'node:crypto';
import { isNic } from '../../../api/devices/index.ts';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { ExpandedSettings } from '../../shared/expand.ts';
import { plainName } from '../../../api/project/project-names.ts';

/** Absent: the container is older than the key, and its name stays its identity. */
export const instanceIdKey = 'volatile.cloud-init.instance-id';

/** The keys that trigger cloud-init, as measured on LXD 5.0.2: user.meta-data is not among them. */
const readKeys = ['user-data', 'vendor-data', 'network-config'].flatMap((key) => [`user.${key}`, `cloud-init.${key}`]);

const readBy = ({ config, devices }: ExpandedSettings): string => {
  const nics = Object.entries(devices).filter(([, device]) => isNic(device));
  const names = nics
    .map(([device, { name = '' }]) => [device, name])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return JSON.stringify([readKeys.map((key) => config[key] ?? ''), names]);
};

export const withNewInstanceId = (config: ConfigMap): Record<string, string> => ({
  ...config,
  [instanceIdKey]: randomUUID(),
});

/** The config with a new identity if cloud-init's input changed; else unchanged. */
export const renewedInstanceId = (config: ConfigMap, before: ExpandedSettings, after: ExpandedSettings): ConfigMap =>
  readBy(before) === readBy(after) ? config : withNewInstanceId(config);

/** The document under its new name, with its new identity. */
export function renamedInstance<T extends { readonly config: ConfigMap }>(
  document: T,
  { from, to, instanceId }: { readonly from: string; readonly to: string; readonly instanceId: string | undefined },
): T {
  const isRenamed = plainName(from) !== plainName(to);
  if (!isRenamed || instanceId === undefined || document.config[instanceIdKey] === undefined) return document;
  return { ...document, config: { ...document.config, [instanceIdKey]: instanceId } };
}

/** A machine from elsewhere keeps its identity if it keeps its name. */
export function arrivedInstanceId(sent: ConfigMap, isSameName: boolean): ConfigMap {
  if (!isSameName) return { [instanceIdKey]: randomUUID() };
  const id = sent[instanceIdKey] ?? '';
  return /^[0-9a-f-]{36}$/.test(id) ? { [instanceIdKey]: id } : {};
}
