// Ends an etcd that an earlier daemon left behind: where the host cannot end programs with their parent, it would keep the data locked.
import { readFile, rm } from 'node:fs/promises';
import { pause } from '../../lib/shared/deadline.ts';

const killAfterMs = 5_000;
const lookAgainMs = 50;

/** Ends only a process that still uses this data. */
export async function endLeftover(pidFile: string, dataDir: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  const end = performance.now() + killAfterMs;
  for (let round = 0; await worksOn(pid, dataDir); round += 1) {
    if (round === 0) signal(pid, 'SIGTERM');
    else if (performance.now() > end) signal(pid, 'SIGKILL');
    await pause(lookAgainMs, undefined);
  }
  await rm(pidFile, { force: true });
}

async function worksOn(pid: number, dataDir: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return args.split('\0').includes(`--data-dir=${dataDir}`);
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended since.
  }
}
