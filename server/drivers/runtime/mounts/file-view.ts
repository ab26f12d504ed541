// The path on the host to a running container's files, with all its mounts. Opens none of them.
import { readFileSync } from 'node:fs';
import type { FileView, IdMapEntry } from '../driver.ts';
import { isSameProcess } from '../../../lib/shared/processes.ts';
import { entryOf } from '../idmap/id-map.ts';

/** `init` identifies its mounts while it lives. Undefined if it is dead. */
export function viewThrough(
  init: { readonly initPid: number; readonly initStartTime: number } | undefined,
): FileView | undefined {
  if (init === undefined) return undefined;
  const { initPid: pid, initStartTime } = init;
  const isCurrent = (): boolean => isSameProcess(pid, initStartTime);
  try {
    const idmap = [...readMap(pid, 'uid'), ...readMap(pid, 'gid')];
    return isCurrent() ? { path: `/proc/${pid}/root/.`, idmap, isCurrent } : undefined;
  } catch {
    return undefined;
  }
}

function readMap(pid: number, kind: 'uid' | 'gid'): readonly IdMapEntry[] {
  return parseKernelMap(readFileSync(`/proc/${pid}/${kind}_map`, 'utf8'), kind);
}

/** Text of uid_map or gid_map; empty if ids are the same inside and outside. Pure. */
export function parseKernelMap(text: string, kind: 'uid' | 'gid'): readonly IdMapEntry[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter((numbers) => numbers.length === 3);
  if (lines.every(([inside, outside]) => inside === outside)) return [];
  return lines.map(([nsid = 0, hostid = 0, maprange = 0]) => entryOf(kind, hostid, nsid, maprange));
}
