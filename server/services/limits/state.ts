// A project's limits and their usage, as the API shows them. Pure.
import { limitOf, limitKeys, poolOfLimit, setLimits, useOf, type LimitKey } from '../../api/project/project-limits.ts';
import type { ProjectState } from '../../api/project/project.ts';
import type { Records } from '../../records/records.ts';
import { contentsOf } from './contents-of.ts';
import { RecordView } from './view.ts';

export function stateOf(records: Records, project: string): ProjectState {
  const contents = contentsOf(new RecordView(records, []), project);
  if (contents === undefined) return { resources: {} };
  const pools = setLimits(contents.config).filter((key) => poolOfLimit(key) !== undefined);
  const rows = [...limitKeys, ...pools].map((key: LimitKey) => {
    const pool = poolOfLimit(key);
    const name = pool === undefined ? key.slice('limits.'.length) : `disk.${pool}`;
    return [name, { Limit: limitOf(contents.config, key) ?? -1, Usage: useOf(contents, key) }] as const;
  });
  return { resources: Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1))) };
}
