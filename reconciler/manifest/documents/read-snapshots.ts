// Reads `snapshots:` of a container or volume document, or reports its problems.
import { snapshotPolicyKeys } from '../../../server/api/container/snapshot.ts';
import { snapshotName } from '../../../server/api/names.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import type { SnapshotSpec } from '../../core/documents/inside.ts';
import { asText, isMap } from '../../core/documents/json-values.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { listOf } from './entries.ts';

export interface Snapshots {
  readonly named?: Readonly<Record<string, SnapshotSpec>>;
  readonly config: Readonly<Record<string, Json>>;
}

export function readSnapshots(value: Json | undefined, config: JsonObject, findings: Finding[]): Snapshots {
  if (value === undefined || value === null) return { config: {} };
  if (!isMap(value)) return { named: readNamed(listOf(value), 'snapshots', findings), config: {} };
  const policy: Record<string, Json> = {};
  for (const [name, key] of Object.entries(snapshotPolicyKeys)) {
    const said = value[name];
    if (said === undefined) continue;
    if (key in config) findings.push(wrong('duplicate', `snapshots.${name}`, `config has ${key} already: say it once`));
    policy[key] = asText(said);
    for (const { message } of coreKind('container').validate({ config: { [key]: asText(said) } }, '')) {
      findings.push(wrong('bad-value', `snapshots.${name}`, `snapshots.${name} ${message}`));
    }
  }
  const named = value['named'];
  return {
    config: policy,
    ...(named === undefined ? {} : { named: readNamed(listOf(named), 'snapshots.named', findings) }),
  };
}

export function readNamed(
  items: readonly JsonObject[],
  at: string,
  findings: Finding[],
): Readonly<Record<string, SnapshotSpec>> {
  const named: Record<string, SnapshotSpec> = {};
  for (const [index, item] of items.entries()) {
    const name = asText(item['name']);
    const broken = snapshotName(name) ?? (/^[0-9]+$/.test(name) ? 'must not be a number' : undefined);
    if (broken !== undefined)
      findings.push(wrong('bad-name', `${at}.${index}.name`, `the name ${JSON.stringify(name)} ${broken}`));
    if (name in named) findings.push(wrong('duplicate', `${at}.${index}.name`, `there are two snapshots ${name}`));
    const until = item['expires_at'];
    const untilMs = typeof until === 'string' ? Date.parse(until) : undefined;
    if (Number.isNaN(untilMs)) {
      const message = `${at}.${index}.expires_at must be a time such as 2030-12-31 or 2030-12-31T06:00:00Z`;
      findings.push(wrong('bad-value', `${at}.${index}.expires_at`, message));
    }
    const isTime = untilMs !== undefined && !Number.isNaN(untilMs);
    named[name] = {
      ...(typeof item['description'] === 'string' ? { description: item['description'] } : {}),
      ...(isTime ? { expires_at: new Date(untilMs).toISOString() } : {}),
      ...(item['stateful'] === true ? { stateful: true } : {}),
    };
  }
  return named;
}
