// How an etcd is: its alarms, and how much of its file is in use.
import type { EtcdHealth } from './backend.ts';
import type { EtcdLink } from './link.ts';

export async function readHealth(link: EtcdLink): Promise<EtcdHealth> {
  const [{ dbSize, dbSizeInUse }, { alarms }] = await Promise.all([
    link.call('Status', {}),
    link.call('Alarm', { action: 'GET' }),
  ]);
  const names = [...new Set(alarms.map(({ alarm }) => alarm))].filter((name) => name !== 'NONE');
  return { alarms: names, sizeBytes: Number(dbSize), usedBytes: Number(dbSizeInUse) };
}
