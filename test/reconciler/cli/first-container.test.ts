// `gantry init` on a terminal and with --yes: three questions at most, then a container that runs, also where no image server is reached.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';

const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the first container of gantry init: ${noImage}`);

const daemon = await fileDaemon();
beforeAll(async () => {
  mkdirSync(join(daemon.dir, 'home/gantry'), { recursive: true });
  // An address without a listener simulates a host without a network.
  const remotes = { images: { url: 'http://127.0.0.1:1', protocol: 'simplestreams' } };
  writeFileSync(join(daemon.dir, 'home/gantry/remotes.json'), JSON.stringify(remotes));
});

const gantry = (words: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(words, { ...setting, env: { GANTRY_SOCKET: daemon.socketPath, XDG_CONFIG_HOME: join(daemon.dir, 'home') } });
const folder = (name: string): string => join(daemon.dir, name);

test.skipIf(noImage !== undefined)(
  'init --yes on a host without a network says so and ends in a running container of its busybox',
  async () => {
    const made = await gantry(['init', folder('one'), '--yes']);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('http://127.0.0.1:1 is not reached')]);
    expect(made.stderr).toContain('Next: gantry shell first');
    expect(await gantry(['fmt', '--check', folder('one')])).toMatchObject({ code: 0, stdout: '' });
    expect(await daemon.get('/1.0/containers/first')).toMatchObject({ status: 'Running', profiles: ['base'] });
    expect((await gantry(['plan', folder('one'), '--detailed-exitcode'])).code).toBe(0);
    const again = await gantry(['init', folder('one'), '--yes']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('stack.yaml already exists: not changed')]);
    const destroyed = await gantry(['destroy', folder('one'), '-y']);
    expect([destroyed.code, destroyed.stderr]).toEqual([0, destroyed.stderr]);
  },
);

test.skipIf(noImage !== undefined)(
  'init --yes beside the networks of other daemons takes the next free name',
  async () => {
    const other = await makeDaemon({
      adapt: (host) => {
        const own = host.network.interfaces.bind(host.network);
        const others = ['gantry0', 'gantry1'].map((name) => ({ name, type: 'bridge' }) as const);
        host.network.interfaces = async () => [...(await own()), ...others];
        return host;
      },
    });
    try {
      const made = await gantry(['init', folder('beside'), '--yes', '--host', `unix://${other.socketPath}`]);
      expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('the network of the stack is gantry2')]);
      expect((await other.call('GET', '/1.0/networks/gantry2')).metadata).toMatchObject({ managed: true });
    } finally {
      await other.cleanUp();
    }
  },
);

test('init on a terminal asks three questions, and leaves the apply to the user who wants that', async () => {
  const made = await gantry(['init', folder('two'), '--host', `unix://${daemon.socketPath}`], {
    typed: 'ubuntu:22.04\nweb\nno\n',
  });
  expect([made.code, made.stderr.match(/\[[^\]]*\]: /g)?.length]).toEqual([0, 3]);
  expect(made.stderr).toContain(`Next: gantry apply ${folder('two')} --host unix://${daemon.socketPath}\n`);
  const stack = readFileSync(join(folder('two'), 'stack.yaml'), 'utf8');
  expect(stack).toContain('server: "https://cloud-images.ubuntu.com/releases"');
  expect(stack).toContain('name: "web"');
  expect((await gantry(['validate', folder('two')])).code).toBe(0);
  expect(await gantry(['fmt', '--check', folder('two')])).toMatchObject({ code: 0, stdout: '' });
  const host = ['--host', 'unix:///nowhere'];
  const other = await gantry(['init', folder('two'), '--image', 'busybox', '--yes', ...host]);
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('--image and --name have no effect')]);
  expect(other.stderr).toContain(`run gantry apply ${folder('two')} ${host.join(' ')}, delete it`);
  expect(readFileSync(join(folder('two'), 'stack.yaml'), 'utf8')).toBe(stack);
  expect((await gantry(['init', folder('two')])).stderr).toContain(`Next: gantry apply ${folder('two')}`);
  expect(await daemon.get('/1.0/containers')).toEqual([]);
});

test('init names the next commands with the folder of an embedded daemon', async () => {
  const made = await gantry(['init', folder('lone'), '--image', 'busybox', '--embedded', folder('lab')], {
    typed: 'first\nno\n',
  });
  expect([made.code, made.stderr]).toEqual([
    0,
    expect.stringContaining(`Next: gantry apply ${folder('lone')} --embedded ${folder('lab')}\n`),
  ]);
});

test('init in a folder with manifests applies none of them', async () => {
  mkdirSync(folder('four'));
  writeFileSync(join(folder('four'), 'other.yml'), 'kind: profile\nname: other\n');
  const refused = await gantry(['init', folder('four'), '--image', 'busybox', '--yes']);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`gantry init ${folder('four')}/first`)]);
  expect(readdirSync(folder('four'))).toEqual(['other.yml']);
  expect(await daemon.get('/1.0/profiles')).toEqual(['/1.0/profiles/default']);
});

test('a wrong answer and the end of input change nothing', async () => {
  for (const [typed, text] of [
    ['imagse:debian\n', 'did you mean images?'],
    ['busybox\na/b\n', 'cannot be the name of a container'],
  ] as const) {
    const ran = await gantry(['init', folder('three')], { typed });
    expect([ran.code, ran.stderr]).toEqual([64, expect.stringContaining(text)]);
  }
  expect(existsSync(folder('three'))).toBe(false);
  const both = await gantry(['init', folder('three'), '--template', 'fleet', '--image', 'busybox']);
  expect(both.code).toBe(64);
});

test('init that is interrupted at a question ends with a line of its own: nothing was changed', async () => {
  let interrupt = (): void => {};
  const ran = await gantry(['init', folder('halted'), '--host', 'https://127.0.0.1:1'], {
    typed: '',
    interrupts: (give) => (interrupt = give),
    onStderr: (text) => {
      if (text.includes(']: ')) interrupt();
    },
  });
  expect(ran.code).toBe(130);
  expect(ran.stderr).toMatch(/: \nError: Interrupted: nothing was changed\n$/);
  expect(ran.stderr).not.toContain('finishing');
  expect(existsSync(folder('halted'))).toBe(false);
});

test('init without a terminal writes the first manifest only', async () => {
  const made = await gantry(['init', folder('four')]);
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('Next: gantry plan')]);
  expect(await daemon.get('/1.0/containers')).toEqual([]);
});

test('init builds a Debian with debootstrap, offers it without an image server, and reports why it failed', async () => {
  const programs = folder('programs');
  mkdirSync(programs);
  const PATH = `${programs}:${process.env['PATH'] ?? ''}`;
  const stub = (text: string): void =>
    writeFileSync(join(programs, 'debootstrap'), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const init = (...words: readonly string[]): Promise<CliRun> =>
    cli(['init', ...words], {
      typed: 'debootstrap\ndebian\nno\n',
      env: {
        PATH,
        MIRROR: 'http://mirror.test/debian',
        GANTRY_SOCKET: daemon.socketPath,
        XDG_CONFIG_HOME: folder('home'),
      },
    });
  stub('echo "E: no mirror $5"; exit 1');
  const failed = await init(folder('five'));
  expect(failed.stderr).toContain('a Debian with debootstrap, from the mirror of apt (--image debootstrap)');
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('no mirror http://mirror.test/debian')]);
  expect(existsSync(join(folder('five'), 'stack.yaml'))).toBe(false);
  // Like debootstrap, which cannot resolve the virtual package that systemd-resolved needs.
  stub(
    'case $2 in *,dbus,*) ;; *) exit 1 ;; esac; mkdir -p "$4/etc" "$4/var/lib/apt/lists"; echo "$3" > "$4/etc/suite"',
  );
  const made = await init(folder('five'));
  expect(made.code, made.stderr).toBe(0);
  const listed = execFileSync('tar', ['-tzf', join(folder('five'), 'debian.tar.gz')], { encoding: 'utf8' });
  expect(listed.split('\n')).toEqual(
    expect.arrayContaining(['./metadata.yaml', './rootfs/etc/suite', './rootfs/etc/systemd/network/eth0.network']),
  );
  expect(readFileSync(join(folder('five'), 'stack.yaml'), 'utf8')).toContain('file: debian.tar.gz');
  expect((await gantry(['validate', folder('five')])).code).toBe(0);
});
