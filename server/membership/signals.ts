// The keys and values that a member publishes under its lease: its presence, and the status of its containers. Pure.
import type { StatusCode } from '../api/status.ts';
import type { Progress } from './keys/keyring.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

/** How loaded a member is; sizes in bytes. */
export interface MemberLoad {
  readonly memoryTotalBytes: number;
  readonly memoryFreeBytes: number;
  readonly containers: number;
}

export interface PresentSignal {
  readonly version: string;
  /** How many API extensions it has. */
  readonly extensions: number;
  readonly load: MemberLoad;
  /** False: it has no etcd program to run for the cluster. */
  readonly hasEtcd?: boolean;
  /** Fingerprint of the certificate that it serves. */
  readonly certificate?: string;
  /** It refuses changes: its disk is full. */
  readonly isReadOnly?: boolean;
  /** The phase it has reached in a change of the cluster's keys. */
  readonly keys?: Progress;
  /** Warnings about the store, as this member sees it. */
  readonly warnings?: readonly string[];
}

/** A member's promise: when its lease ends, everything on shared storage ends in time, even without its daemon. The key outlives the lease,
 *  and is written again with each new lease. */
export interface FenceSignal {
  readonly ttlSeconds: number;
}

export const fencePrefix = '/signals/fence/';
export const fenceKey = (member: number): string => `${fencePrefix}${member}`;
export const encodeFence = (signal: FenceSignal): Uint8Array => Buffer.from(JSON.stringify(signal));

/** Undefined for an unknown format of another release. */
export function decodeFence(value: Uint8Array): FenceSignal | undefined {
  try {
    const { ttlSeconds } = JSON.parse(Buffer.from(value).toString()) as Partial<FenceSignal>;
    return typeof ttlSeconds === 'number' && ttlSeconds > 0 ? { ttlSeconds } : undefined;
  } catch {
    return undefined;
  }
}

export const presentPrefix = '/signals/present/';
export const statusPrefix = '/signals/status/';

export const presentKey = (member: number): string => `${presentPrefix}${member}`;
export const statusKey = (member: number, container: string): string => `${statusPrefix}${member}/${container}`;

export function memberOfPresentKey(key: string): number | undefined {
  return key.startsWith(presentPrefix) ? Number(key.slice(presentPrefix.length)) : undefined;
}

export function containerOfStatusKey(key: string): { readonly member: number; readonly container: string } | undefined {
  if (!key.startsWith(statusPrefix)) return undefined;
  const rest = key.slice(statusPrefix.length);
  const slash = rest.indexOf('/');
  return { member: Number(rest.slice(0, slash)), container: rest.slice(slash + 1) };
}

export const encodePresent = (signal: PresentSignal): Uint8Array => Buffer.from(JSON.stringify(signal));
export const encodeStatus = (code: StatusCode): Uint8Array => Buffer.from(String(code));
export const decodeStatus = (value: Uint8Array): StatusCode => Number(Buffer.from(value).toString()) as StatusCode;

/** Undefined for an unknown format of another release. */
export function decodePresent(value: Uint8Array): PresentSignal | undefined {
  try {
    const { version, extensions, load, hasEtcd, certificate, isReadOnly, keys, warnings } = JSON.parse(
      Buffer.from(value).toString(),
    ) as Partial<PresentSignal>;
    if (typeof version !== 'string' || load === undefined) return undefined;
    return {
      version,
      extensions: extensions ?? 0,
      load,
      ...withoutUndefined({ hasEtcd }),
      ...(typeof certificate === 'string' ? { certificate } : {}),
      ...(isReadOnly === true ? { isReadOnly } : {}),
      ...(typeof keys?.generation === 'number' ? { keys } : {}),
      warnings: Array.isArray(warnings) ? warnings.map(String) : [],
    };
  } catch {
    return undefined;
  }
}
