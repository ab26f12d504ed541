// A run that somebody asked for: hosts compare and apply now, and it ends when they have.
import type { Run } from './run.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';

export async function resync(run: Run, hosts: readonly SetOnHost[], nowMs: () => number): Promise<void> {
  for (const host of hosts) {
    run.include(host.name);
    host.link.lookNow();
    host.look(true);
  }
  await Promise.all(hosts.map((host) => host.looked()));
  for (const { name, status } of hosts)
    run.hostEnded(name, undefined, undefined, status.status === 'failed' ? status.error : undefined);
  const failed = hosts.filter(({ status }) => status.status === 'failed');
  run.end(failed.length === 0 ? 'done' : 'failed', nowMs());
}
