// `lxc remote add` of the stock client with a one-time token.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = clientMissing('lxc');
if (missing !== undefined) console.log(`skipped: tokens with lxc: ${missing}`);

describe.skipIf(missing !== undefined)('lxc', () => {
  let home = '';
  let daemon: TestDaemon;
  let admin: ReturnType<typeof lxcClient>;
  let user: ReturnType<typeof lxcClient>;
  beforeEach(async () => {
    home = tempFolder('gtlt-');
    const socket = join(home, 'lxd', 'unix.socket');
    daemon = await makeDaemon({ lxd: { socket, https: '127.0.0.1:0' } });
    for (const name of ['admin', 'user']) mkdirSync(join(home, name));
    admin = lxcClient(dirname(socket), join(home, 'admin'));
    user = lxcClient(join(home, 'nowhere'), join(home, 'user'));
  });
  afterEach(() => daemon.cleanUp());

  test('makes a token, lists it, joins with it once, and is trusted', async () => {
    const printed = await admin('config', 'trust', 'add', '--name', 'laptop');
    const token = printed.trim().split('\n').at(-1) ?? '';
    expect(await admin('config', 'trust', 'list-tokens')).toContain('laptop');

    await user('remote', 'add', 'there', token);
    expect(await user('profile', 'list', 'there:')).toContain('default');
    expect(await admin('config', 'trust', 'list')).toContain('laptop');

    const again = lxcClient(join(home, 'nowhere'), join(home, 'admin'));
    const second = await again.run(['remote', 'add', 'other', token]);
    expect(second.code).not.toBe(0);
    expect(second.stderr).toMatch(/the token is not valid/);
  });
});
