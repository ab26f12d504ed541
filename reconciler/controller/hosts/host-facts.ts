// Reads the usage and the warnings of a host.
import type { Resources } from '../../../server/api/server/server.ts';
import type { Warning } from '../../../server/api/server/warning.ts';
import type { Client } from '../../../server/client/client.ts';
import type { HostStatus, HostWarning } from '../contract/index.ts';

export type HostFacts = Pick<HostStatus, 'capacity' | 'warnings'>;

const maxWarnings = 20;
const severities = ['high', 'moderate', 'low'];

/** A fact is absent when the host does not have it, or does not show it to this certificate. */
export async function readFacts(client: Client, signal: AbortSignal): Promise<HostFacts> {
  const { metadata } = await client.server(signal);
  const has = (extension: string): boolean => metadata.api_extensions.includes(extension);
  const [resources, warnings] = await Promise.all([
    has('resources') ? readResources(client, signal) : undefined,
    has('warnings') ? client.warnings(signal).catch(() => undefined) : undefined,
  ]);
  const open = warningsOf(warnings ?? []);
  return {
    ...(resources === undefined ? {} : { capacity: capacityOf(resources) }),
    ...(open.length === 0 ? {} : { warnings: open }),
  };
}

const readResources = (client: Client, signal: AbortSignal): Promise<Resources | undefined> =>
  client.http.send<Resources>({ method: 'GET', path: '/1.0/resources' }, signal).then(
    ({ metadata }) => metadata,
    () => undefined,
  );

const capacityOf = ({ cpu, memory }: Resources): NonNullable<HostFacts['capacity']> => ({
  cpus: cpu.total,
  memoryBytes: memory.total,
  memoryUsedBytes: memory.used,
});

export function warningsOf(warnings: readonly Warning[]): HostWarning[] {
  return (
    warnings
      // A host may answer anything, so warnings with an unknown severity or an invalid time are left out.
      .filter((one) => one.status === 'new' && severities.includes(one.severity) && isTime(one.last_seen_at))
      .map(({ severity, last_message: message, entity_url: about, count, last_seen_at: lastSeenAt }) => ({
        severity,
        message,
        ...(about === '' ? {} : { about }),
        count,
        lastSeenAt,
      }))
      .toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity))
      .slice(0, maxWarnings)
  );
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
