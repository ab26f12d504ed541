// A run that somebody asked for: hosts compare and apply now, and it ends when they have.
import { namesText } from '../../../server/api/text/names-text.ts';
import type { Run } from './run.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';

export async function resync(run: Run, hosts: readonly SetOnHost[], nowMs: () => number): Promise<void> {
  for (const host of hosts) {
    run.include(host.name);
    host.link.lookNow();
    host.look(true);
  }
  await Promise.all(hosts.map((host) => host.looked()));
  const late = hosts.filter(({ link }) => !link.isOnline).map(({ name }) => name);
  for (const { name, status } of hosts)
    if (!late.includes(name))
      run.hostEnded(name, undefined, undefined, status.status === 'failed' ? status.error : undefined);
  const failed = hosts.filter(({ status }) => status.status === 'failed');
  const message = late.length === 0 ? undefined : `Not yet on ${namesText(late)}: they get it later.`;
  run.end(failed.length === 0 ? 'done' : 'failed', nowMs(), message);
}
