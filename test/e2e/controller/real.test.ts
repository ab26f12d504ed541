// The controller over gantryd with real containers: a commit becomes a running container, drift by LXC tools and by hand is healed,
// and the console of the HTTP API is a shell in the container.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import type { HttpListener } from '../../../reconciler/controller/http/listener.ts';
import { listenFor } from '../../../reconciler/controller/serve.ts';
import { LxcPaths } from '../../../server/drivers/runtime/lxc-paths.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { makeSeeded, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { startGitServer, type GitServer } from '../../support/git/git-server.ts';
import { Repository } from '../../support/git/repository.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = await realRuntimeMissing();
const token = 'operate-token-0123456789abcdef';
const web = (memory: string): string => `kind: container
name: web
source: { type: image, alias: busybox }
config: { limits.memory: ${memory} }
manage: { wait: [running, { exec: [test, -e, /etc/hostname], timeout: 30s }] }
`;

describe.skipIf(missing !== undefined)('a controller over real containers', () => {
  const folder = tempFolder('gantry-real-');
  let daemon: TestDaemon;
  let world: ControllerWorld;
  let repository: Repository;
  let git: GitServer;
  let api: HttpListener | undefined;

  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    const built = await buildBusyboxImage(join(folder, 'image'), { busybox: { dhcp: false } });
    await daemon.ok('POST', '/1.0/images', readFileSync(built.metadataPath), { 'x-svc-aliases': 'alias=busybox' });
    mkdirSync(join(folder, 'served'));
    repository = new Repository(join(folder, 'served'));
    repository.commit({ 'a.yaml': web('64MiB') });
    git = await startGitServer(join(folder, 'served'));
    world = await openControllerWorld(0);
    const host = `  - { name: h1, address: "unix://${daemon.socketPath}" }`;
    writeFileSync(join(world.folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${host}\n`);
    writeFileSync(join(world.folder, 'token'), `${token}\n`, { mode: 0o600 });
    await world.start(`controller:
  listen: 127.0.0.1:0
  console: true
  auth: { tokens: [{ name: ann, role: operate, file: token }] }
hosts: { file: hosts.yaml }
sources: [{ name: site, git: { url: "${git.url}/site.git", branch: main, interval: 300ms } }]
sets: [{ name: web, source: site, retry: { first: 500ms } }]
`);
    const { config } = await readConfig(join(world.folder, 'gantry.yaml'));
    if (config === undefined) throw new Error('the config cannot be read');
    api = await listenFor(config, world.engine, world.hub, join(world.folder, 'no-page'));
  });
  afterAll(async () => {
    await api?.close();
    await world?.close();
    await git?.close();
    await daemon?.cleanUp();
  });

  const initOf = async (): Promise<number> => (await daemon.get('/1.0/containers/web/state')).pid as number;
  const isRunning = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  test('a commit becomes a running container, and the next one changes it while it runs', async () => {
    await hasStatus(world, 'web', 'synced');
    const pid = await initOf();
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain('init');
    const next = repository.commit({ 'a.yaml': web('96MiB') });
    await until(() => world.engine.overview().sets[0]?.hosts[0]?.appliedRevision === next, waitMs);
    expect((await daemon.get('/1.0/containers/web')).config).toMatchObject({ 'limits.memory': '96MiB' });
    expect(await initOf()).toBe(pid);
  });

  test('a container that lxc-stop ended is started again, and a changed limit is put back', async () => {
    const before = await initOf();
    const paths = new LxcPaths(join(realpathSync(daemon.dir), 'runtime'));
    execFileSync('lxc-stop', ['-P', paths.lxcPath, '-n', paths.key('web'), '-k']);
    await until(async () => {
      const pid = await initOf();
      return pid > 0 && pid !== before && isRunning(pid);
    }, waitMs);
    await hasStatus(world, 'web', 'synced');
    await daemon.call('PATCH', '/1.0/containers/web', { config: { 'limits.memory': '32MiB' } });
    await until(async () => (await daemon.get('/1.0/containers/web')).config['limits.memory'] === '96MiB', waitMs);
    await until(() => world.engine.drift('web').filter(({ action }) => action === 'healed').length >= 2, waitMs);
    const changed = world.engine.drift('web').flatMap(({ paths: own }) => own);
    expect(changed).toEqual(expect.arrayContaining(['state', 'config.limits.memory']));
  });

  test('the console of the API is a shell in the container', async () => {
    await hasStatus(world, 'web', 'synced');
    const url = `${(api?.url ?? '').replace(/^http/, 'ws')}/api/v1/hosts/h1/containers/web/console?command=sh`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    let shown = '';
    let ended: unknown;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) shown += data.toString('latin1');
      else ended = JSON.parse(data.toString());
    });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    socket.send(Buffer.from('echo "name=$(hostname) first=$(cat /proc/1/comm) id=$(id -u)"; exit 7\r'));
    await until(() => ended !== undefined, waitMs);
    expect(shown).toMatch(/name=web first=\w*init\w* id=0/);
    expect(ended).toEqual({ exit: 7 });
    expect(readlinkSync(`/proc/${await initOf()}/ns/pid`)).not.toBe(readlinkSync('/proc/self/ns/pid'));
  });
});
