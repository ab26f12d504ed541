// A git source over ssh against a real sshd on loopback: host keys, the used key, and errors for refusals.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { Credentials } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { Repository } from '../../../support/git/repository.ts';
import { knownHost, newKey, startSshServer, whyNoSshServer, type SshServer } from '../../../support/git/ssh-server.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = whyNoSshServer();
if (missing !== undefined) console.warn(`skipped: git over a real sshd, because ${missing}`);

describe.skipIf(missing !== undefined)('a git source over a real sshd', () => {
  const folder = tempFolder('gantry-sshd-');
  let repository: Repository;
  let server: SshServer;
  let opened = 0;
  beforeAll(async () => {
    mkdirSync(join(folder, 'served'));
    repository = new Repository(join(folder, 'served'));
    server = await startSshServer(folder);
  });
  afterAll(() => server?.close());
  beforeEach(() => {
    repository.commit({ 'web/a.yaml': `${(opened += 1)}\n` });
  });

  /** A source that has read nothing yet. */
  function source(credentials: Partial<Credentials> = {}, url = `${server.url}${repository.bare}`): Source {
    const all = { sshKeyFile: server.key, knownHostsFile: server.knownHosts, ...credentials };
    const git = { url, branch: 'main', path: 'web', credentials: all };
    const stateDir = join(folder, `state-${opened}`);
    return openSource({ name: 'site', git }, { stateDir, absolute: (path) => join('/', path), now: () => '' });
  }

  test('follows a branch with the key of the source, and runs only git commands', async () => {
    const site = source();
    expect((await site.check()).revision).toBe(repository.head());
    const next = repository.commit({ 'web/a.yaml': 'two' });
    expect((await site.check()).revision).toBe(next);
    expect(readFileSync(join((await site.checkout(next)).dir, 'a.yaml'), 'utf8')).toBe('two');
    expect(new Set(server.commands())).toEqual(new Set([`git-upload-pack '${repository.bare}'`]));
    expect(site.url).not.toContain('@');
  });

  test('pushes a change with the same key', async () => {
    const base = repository.head();
    const author = { name: 'Gantry', email: 'gantry@example.org' };
    const site = source();
    await site.check();
    const pushed = await site.push?.({ base, files: { 'gantry.lock': 'pinned\n' }, message: 'Pin images', author });
    expect(repository.git('-C', repository.bare, 'rev-parse', 'main', 'main^')).toBe(
      `${pushed?.revision ?? ''}\n${base}`,
    );
    expect(server.commands()).toContain(`git-receive-pack '${repository.bare}'`);
    repository.git('pull', '-q', '--ff-only', 'origin', 'main');
  });

  test('a server with another host key gets no request, and the remedy is named', async () => {
    const before = server.commands().length;
    const port = new URL(server.url).port;
    const another = join(folder, 'another-known-hosts');
    writeFileSync(another, knownHost(port, `${newKey(folder, 'another-host')}.pub`));
    writeFileSync(join(folder, 'no-known-hosts'), '');
    for (const knownHostsFile of [another, join(folder, 'no-known-hosts')])
      await expect(source({ knownHostsFile }).check()).rejects.toMatchObject({
        problem: 'denied',
        message: expect.stringContaining('credentials.knownHostsFile') as string,
      });
    expect(server.commands().length).toBe(before);
    // The known_hosts file with another key stays unchanged.
    expect(readFileSync(join(folder, 'no-known-hosts'), 'utf8')).toBe('');
  });

  test('a key that the server does not know is denied', async () => {
    await expect(source({ sshKeyFile: newKey(folder, 'stranger') }).check()).rejects.toMatchObject({
      problem: 'denied',
      message: expect.stringContaining('credentials.sshKeyFile') as string,
    });
  });

  test('a key that others may read is refused, and a missing one is named', async () => {
    const loose = join(folder, 'loose');
    writeFileSync(loose, readFileSync(server.key));
    for (const mode of [0o640, 0o604, 0o644]) {
      chmodSync(loose, mode);
      await expect(source({ sshKeyFile: loose }).check()).rejects.toMatchObject({
        problem: 'denied',
        message: expect.stringContaining(`${loose} has the mode ${mode.toString(8)}`) as string,
      });
    }
    chmodSync(loose, 0o600);
    expect((await source({ sshKeyFile: loose }).check()).revision).toBe(repository.head());
    await expect(source({ sshKeyFile: join(folder, 'absent') }).check()).rejects.toMatchObject({
      problem: 'unavailable',
      message: expect.stringContaining('credentials.sshKeyFile') as string,
    });
  });

  test('an absent repository is not found, and a server that is gone is unreachable', async () => {
    await expect(source({}, `${server.url}${folder}/served/none.git`).check()).rejects.toMatchObject({
      problem: 'not-found',
    });
    const site = source();
    await site.check();
    await server.close();
    await expect(site.check()).rejects.toMatchObject({ problem: 'unreachable' });
  });
});
