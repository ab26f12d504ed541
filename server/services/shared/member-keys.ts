// Separates member-specific config keys of pools and networks from those of the whole cluster. Pure.
import { isMemberKey, type MemberKind } from '../../api/cluster/cluster-member-keys.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';

export interface MemberKeys {
  isOwn(key: string): boolean;
  split(config: ConfigMap): { readonly shared: ConfigMap; readonly own: ConfigMap };
}

function keysOf(kind: MemberKind): MemberKeys {
  const isOwn = (key: string): boolean => isMemberKey(kind, key) || key.startsWith('volatile.');
  const part = (config: ConfigMap, isWanted: (key: string) => boolean): ConfigMap =>
    Object.fromEntries(Object.entries(config).filter(([key]) => isWanted(key)));
  return { isOwn, split: (config) => ({ shared: part(config, (key) => !isOwn(key)), own: part(config, isOwn) }) };
}

export const poolKeys = keysOf('storage_pool');
export const networkKeys = keysOf('network');
