// Notifies systemd that the daemon is ready, if it runs as a unit of Type=notify: units and packages that wait for its start find it
// answering.
import { exec } from '../lib/exec.ts';
import type { Log } from '../lib/log.ts';
import { programEnv } from '../lib/program-env.ts';
import { errorText } from '../lib/shared/reason.ts';

export async function notifySystemd(
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
  program = 'systemd-notify',
): Promise<void> {
  const socket = env['NOTIFY_SOCKET'] ?? '';
  if (socket === '') return;
  try {
    await exec([program, '--ready'], { env: { ...programEnv, NOTIFY_SOCKET: socket } });
  } catch (error) {
    log.warn(`systemd does not know that the daemon is ready, and keeps waiting for it: ${errorText(error)}`);
  }
}
