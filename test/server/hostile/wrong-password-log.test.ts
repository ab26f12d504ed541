// A wrong trust password leaves a line in the log that names the address, so that guessing can be noticed and stopped.
import { beforeAll, expect, test } from 'vitest';
import { callTls, makeClient } from '../../support/daemons/tls.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await fileDaemon({ https: '127.0.0.1:0' });
beforeAll(() => daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'right one' } }));

const lines = (): string[] => daemon.logged.filter((line) => line.includes('trust password'));

test('a wrong password is logged with the address and without the password; the right one leaves no such line', async () => {
  const client = await makeClient();
  const trust = (password: string) =>
    callTls(daemon.daemon.httpsAddress() ?? '', 'POST', '/1.0/certificates', { type: 'client', password }, { client });
  expect((await trust('a guess')).status).toBe(403);
  expect(lines()).toEqual([expect.stringMatching(/warn.*127\.0\.0\.1.*wrong trust password/)]);
  expect(daemon.logged.join('\n')).not.toContain('a guess');
  expect((await trust('right one')).status).toBe(200);
  expect(lines()).toHaveLength(1);
});
