// Files of containers over the real daemon on the simulation; the rules of all runtimes are in conformance/files.ts.
import { beforeAll, expect, test } from 'vitest';
import { filesConformance } from '../../../conformance/files.ts';
import { createContainer, setState } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();

beforeAll(async () => {
  await createContainer(daemon, 'web');
});

filesConformance({ daemon: () => daemon });

test('a running container has the same files', async () => {
  const at = (path: string): string => `/1.0/containers/web/files?path=${path}`;
  await daemon.call('POST', at('/while-stopped'), 'one');
  await setState(daemon, 'web', 'start');
  expect((await daemon.call('GET', at('/while-stopped'))).bytes.toString()).toBe('one');
  expect((await daemon.call('POST', at('/while-running'), 'two')).status).toBe(200);
  await setState(daemon, 'web', 'stop', { force: true });
  expect((await daemon.call('GET', at('/while-running'))).bytes.toString()).toBe('two');
});
