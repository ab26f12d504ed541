// Each verb of the installed `lxc` has a row in docs/daemon/lxc-verbs.md, and does what its row says, over the socket and over TLS.
import { chmod, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lxcVerbs, type VerbState } from '../../../docs/generate/lxc-verbs.ts';
import { makeDaemon, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { clientMissing, lxcClient, runProgram } from '../../support/hosts/lxd-clients.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { isLongRun } from '../../support/left-out.ts';
import { containerProofs } from './containers.ts';
import { deviceProofs, objectProofs, profile } from './objects.ts';
import { serverProofs } from './server.ts';
import { storageProofs } from './storage.ts';
import { container, made, type Proof, type World } from './world.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = clientMissing('lxc') ?? busyboxMissing();
if (missing !== undefined) console.log(`skipped: the verbs of lxc: ${missing}`);

const allProofs: Readonly<Record<string, Proof>> = {
  ...objectProofs,
  ...deviceProofs('config', async (world) => {
    const name = await made(world);
    return { name, read: () => container(world, name) };
  }),
  ...deviceProofs('profile', profile),
  ...containerProofs,
  ...serverProofs,
  ...storageProofs,
};
const verbsThat = (...states: VerbState[]): string[] =>
  [...lxcVerbs].flatMap(([verb, { state }]) => (states.includes(state) ? [verb] : []));

describe('the table of verbs', () => {
  test('has a proof for each verb that works, and a reason for each that is refused', () => {
    expect(Object.keys(allProofs)).toEqual(expect.arrayContaining(verbsThat('works', 'works differently')));
    expect([...lxcVerbs.keys()]).toEqual(expect.arrayContaining(Object.keys(allProofs)));
    for (const verb of verbsThat('refused'))
      expect([verb, lxcVerbs.get(verb)?.says]).toEqual([verb, expect.any(RegExp)]);
  });

  test.skipIf(missing !== undefined)(
    'has a row for each verb that lxc --all --help or its manual pages list',
    async () => {
      expect((await verbsOfLxc()).toSorted()).toEqual([...lxcVerbs.keys()].toSorted());
    },
  );
});

/** Verbs that stream or transfer run over TLS, the others over the socket; with GANTRY_LONG=1 each runs over both. */
function proofsOver(way: 'socket' | 'TLS'): Readonly<Record<string, Proof>> {
  const working = new Set(verbsThat('works', 'works differently'));
  const streams = /^(?!config |storage (?!volume)|profile|project|alias|network|operation)/;
  return Object.fromEntries(
    Object.entries(allProofs).filter(
      ([verb]) => working.has(verb) && (isLongRun || streams.test(verb) === (way === 'TLS')),
    ),
  );
}

const withoutConfig = { env: { HOME: tmpdir(), LXD_CONF: join(tmpdir(), 'no-such-lxd-conf') } };

async function verbsOfLxc(): Promise<string[]> {
  const { stdout } = await runProgram('lxc', ['--all', '--help'], withoutConfig);
  const [, list = ''] = /Available Commands:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  const lines = list.trim().split('\n');
  const first = lines.map((line) => line.trim().split(' ')[0] ?? '');
  const paged = await verbsOfManual();
  // Verbs that are hidden have no page.
  const hidden = first.filter((name) => !paged.some((verb) => verb.split(' ')[0] === name));
  return [...paged, ...hidden];
}

/** Verbs of the manual pages, including groups; running one program is faster than the help of each verb. */
async function verbsOfManual(): Promise<string[]> {
  const folder = tempFolder('gtym-');
  await runProgram('lxc', ['manpage', folder], withoutConfig);
  const pages = (await readdir(folder)).map((page) => page.replace(/\.1$/, '.'));
  const verbs = pages.filter((page) => !pages.some((other) => other !== page && other.startsWith(page)));
  return verbs.map((page) => page.split('.').slice(1, -1).join(' '));
}

describe.skipIf(missing !== undefined).each(['socket', 'TLS'] as const)('over %s', (way) => {
  const daemons: TestDaemon[] = [];
  let world: World;

  beforeAll(async () => {
    const work = tempFolder('gtyv-');
    await chmod(work, 0o755);
    const sockets = [join(work, 'one', 'unix.socket'), join(work, 'two', 'unix.socket')];
    const addresses: string[] = [];
    const lxc = lxcClient(join(work, 'one'), work);
    const built = await buildBusyboxImage(join(work, 'image'), { busybox: { withoutPrograms: true } });
    for (const [at, socket] of sockets.entries()) {
      const daemon = await makeDaemon({ lxd: { socket } });
      daemons.push(daemon);
      await seed(daemon);
      await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
      const address = `127.0.0.1:${await freePort()}`;
      const own = lxcClient(join(work, at === 0 ? 'one' : 'two'), work);
      await own('config', 'set', `core.https_address=${address}`, 'core.trust_password=pw');
      addresses.push(address);
    }
    for (const [at, remote] of ['a', 'b'].entries())
      await lxc('remote', 'add', remote, `https://${addresses[at]}`, '--accept-certificate', '--password', 'pw');
    if (way === 'TLS') await lxc('remote', 'switch', 'a');
    const [daemon, other] = daemons;
    if (daemon === undefined || other === undefined) throw new Error('two daemons were asked for');
    world = { lxc, daemon, other, work, https: addresses[0] ?? '' };
  });
  afterAll(async () => {
    for (const daemon of daemons) await daemon.cleanUp();
    await rm(world.work, { recursive: true, force: true });
  });

  const proofs = proofsOver(way);
  test.each(Object.keys(proofs))('lxc %s works', async (verb) => {
    await proofs[verb]?.(world);
  });

  test.each(way === 'socket' ? verbsThat('refused') : [])('lxc %s is refused with the reason', async (verb) => {
    const { says = /$^/ } = lxcVerbs.get(verb) ?? {};
    const before = await world.daemon.get('/1.0');
    const refusal = await refusalOf(verb);
    expect([refusal.code, refusal.stderr]).toEqual([1, expect.stringMatching(says)]);
    expect(refusal.stderr).not.toMatch(/panic|goroutine/);
    expect((await world.daemon.get('/1.0')).config).toEqual(before.config);
  });

  /** Passes as many words as the verb needs; without any, lxc prints its usage. */
  async function refusalOf(verb: string) {
    const words = verb.split(' ');
    const exact = await wordsOf(verb);
    if (exact !== undefined) return world.lxc.run([...words, ...exact]);
    const bare = await world.lxc.run(words);
    const [, usage] = /Usage:\n +lxc (.*)/.exec(bare.stdout) ?? [];
    if (usage === undefined) return bare;
    const needed = usage.split(' ').filter((word) => /^\[?</.test(word.replace('[<remote>:]', '')));
    return world.lxc.run([...words, ...needed.map(() => 'none')]);
  }

  /** Arguments of verbs that check them before they contact the server, or that ask the user. */
  async function wordsOf(verb: string): Promise<readonly string[] | undefined> {
    if (verb === 'file mount') return [`${await made(world)}/root`, world.work];
    if (verb === 'cluster update-certificate') return ['/etc/hostname', '/etc/hostname'];
    if (verb === 'cluster evacuate' || verb === 'cluster restore') return ['none', '--force'];
    if (verb !== 'storage volume info') return undefined;
    await world.lxc.run(['storage', 'volume', 'create', 'default', 'refused']);
    return ['default', 'refused'];
  }
});
