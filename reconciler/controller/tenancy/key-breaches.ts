// Finds paths that a tenant may not write: those that gantry.yaml excludes, and those that no tenant may write. Pure.
import type { JsonObject } from '../../core/documents/document.ts';
import { isMap, mapOf } from '../../core/documents/json-values.ts';
import { isIgnored, parseIgnore } from '../../core/ownership/ignored-paths.ts';
import type { Breach, Subject } from './subject.ts';
import type { Tenant } from './tenant.ts';

/** Members that `keys` governs; the others belong to every object or have separate rules. */
const governed: ReadonlySet<string> = new Set(['config', 'devices', 'files', 'exec', 'snapshots', 'instance_type']);

/** Other keys of networks and volumes reach the host's interfaces, routes, firewall, file systems and ids. */
const allowedConfig: Readonly<Partial<Record<Subject['kind'], RegExp>>> = {
  network: /^(?:user\..+|dns\.(?:domain|mode|search)|ipv[46]\.(?:address|nat|dhcp|dhcp\.expiry|dhcp\.stateful))$/,
  storage_volume: /^(?:user\..+|size|snapshots\..+|security\.shifted)$/,
};

export function keyBreaches({ keys }: Tenant, { kind, values }: Subject): readonly Breach[] {
  const paths = pathsOf(values);
  const isGoverned = (path: string): boolean => governed.has(path.split('.')[0] ?? '');
  const [allow, deny] = [keys.allow, keys.deny].map((list) => (list === undefined ? undefined : parseIgnore(list)));
  const own = paths.flatMap((path): readonly Breach[] => {
    if (!isGoverned(path)) return [];
    if (deny !== undefined && isIgnored(deny, path)) return [breach(path, 'is denied by keys.deny')];
    const isFree = allow === undefined || isIgnored(allow, path);
    return isFree ? [] : [breach(path, `is not in keys.allow: ${(keys.allow ?? []).join(', ')}`)];
  });
  return [...own, ...paths.flatMap((path) => neverAllowed(kind, path)), ...fixedAddresses(kind, values)];
}

const breach = (path: string, why: string): Breach => ({ rule: 'keys', path, message: `${path} ${why}` });

function neverAllowed(kind: Subject['kind'], path: string): readonly Breach[] {
  if (path === 'member_overrides') return [breach(path, 'is only for the administrator of the cluster')];
  if (!path.startsWith('config.')) return [];
  const key = path.slice('config.'.length);
  if (/^user\.gantry(?:\.|$)/.test(key)) return [breach(path, 'is a record of Gantry: no document writes it')];
  if (key.startsWith('volatile.') && !/^volatile\.[^.]+\.hwaddr$/.test(key))
    return [breach(path, 'is state of the server: no tenant writes it')];
  if (/^security\.syscalls\.(?!intercept)/.test(key)) return [breach(path, 'changes the filter of system calls')];
  return allowedConfig[kind]?.test(key) === false
    ? [breach(path, `reaches the host: a tenant's ${kind} may not have it`)]
    : [];
}

/** Refuses fixed subnets, which could be in use by the host or others. */
const fixedAddresses = (kind: Subject['kind'], values: JsonObject): readonly Breach[] =>
  kind !== 'network'
    ? []
    : ['ipv4.address', 'ipv6.address'].flatMap((key): readonly Breach[] => {
        const value = mapOf(values['config'])[key] ?? 'auto';
        return value === 'auto' || value === 'none'
          ? []
          : [breach(`config.${key}`, 'must be auto or none for a tenant')];
      });

/** `config.KEY`, `devices.NAME.PROPERTY`, and names of other members, including nulls (must be absent). */
const pathsOf = (values: JsonObject): readonly string[] =>
  Object.entries(values).flatMap(([member, value]) => {
    if (member === 'config') return Object.keys(mapOf(value)).map((key) => `config.${key}`);
    if (member !== 'devices') return [member];
    return Object.entries(mapOf(value)).flatMap(([name, device]) =>
      isMap(device) ? Object.keys(device).map((property) => `devices.${name}.${property}`) : [`devices.${name}`],
    );
  });
