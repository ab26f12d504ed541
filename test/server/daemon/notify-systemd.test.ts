// The notification of systemd that the daemon is ready, and cases without one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { notifySystemd } from '../../../server/daemon/notify-systemd.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let program: string;
let said: string;
let warnings: string[];
const warn = (text: string): void => void warnings.push(text);
const log = { debug: warn, info: warn, warn, error: warn, writesDebug: () => true };

beforeEach(() => {
  const folder = tempFolder('gantry-notify-');
  [program, said, warnings] = [join(folder, 'notify'), join(folder, 'said'), []];
  writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >${said}\n`, { mode: 0o755 });
});

test('a unit of systemd is notified through its socket that the daemon is ready', async () => {
  await notifySystemd({ NOTIFY_SOCKET: '/run/systemd/notify' }, log, program);
  expect(readFileSync(said, 'utf8')).toBe('/run/systemd/notify --ready\n');
  expect(warnings).toEqual([]);
});

test('a daemon that is no unit of systemd starts no program', async () => {
  await notifySystemd({}, log, program);
  expect(existsSync(said)).toBe(false);
});

test('a daemon that cannot notify systemd logs it and keeps running', async () => {
  await notifySystemd({ NOTIFY_SOCKET: '/run/systemd/notify' }, log, `${program}-missing`);
  expect(warnings).toEqual([expect.stringContaining('systemd does not know that the daemon is ready')]);
});
