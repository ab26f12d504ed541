// Shared by devices that are nodes in /dev: owner, mode and target of a node, from its properties. Pure.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { NodeRun } from '../device-parts.ts';
import type { NodeNumbers } from './host-paths.ts';

/** Ids as seen in the container. */
export function nodeRun(device: string, properties: ConfigMap, target: string, numbers: NodeNumbers): NodeRun {
  return {
    device,
    ...numbers,
    target,
    uid: Number(set(properties['uid']) ?? '0'),
    gid: Number(set(properties['gid']) ?? '0'),
    mode: Number.parseInt(set(properties['mode']) ?? '0660', 8),
  };
}

/** An empty text means unset. */
export const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** Compares ids without 0x and letter case. */
export const sameId = (wanted: string | undefined, found: string): boolean =>
  set(wanted) === undefined || hexId(wanted ?? '') === hexId(found);

const hexId = (text: string): string => text.toLowerCase().replace(/^0x/, '');
