// What the scripts of the package gantryd do to units and to files of host ids, run below a directory in place of the host's root.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.ts';

let root: string;
beforeEach(() => {
  root = tempFolder('gantry-scripts-');
  for (const path of ['bin', 'etc', 'run/systemd/system', 'var/lib/gantry-package'])
    mkdirSync(join(root, path), { recursive: true });
  const names = [
    'deb-systemd-helper',
    'deb-systemd-invoke',
    'systemctl',
    'sysctl',
    'getent',
    'groupdel',
    'ip',
    'nft',
    'umount',
  ];
  for (const name of names) {
    writeFileSync(join(root, 'bin', name), `#!/bin/sh\necho ${name} "$@" >>${root}/calls\n`);
    chmodSync(join(root, 'bin', name), 0o755);
  }
});

/** The calls of `deb-systemd-invoke`. */
function run(name: 'postinst' | 'prerm' | 'postrm', ...args: readonly string[]): readonly string[] {
  writeFileSync(join(root, 'calls'), '');
  const script = readFileSync(`packaging/debian/gantryd.${name}`, 'utf8').replaceAll(
    /(?<![\w./*}])\/(?=(?:etc|run|sys|var)\b)/g,
    `${root}/`,
  );
  const env = { PATH: `${root}/bin:${process.env['PATH']}` };
  const { status, stderr } = spawnSync('sh', ['-s', ...args], { input: script, env, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const calls = readFileSync(join(root, 'calls'), 'utf8').split('\n');
  return calls.filter((call) => call.startsWith('deb-systemd-invoke')).map((call) => call.slice(19));
}

const both = 'start gantryd.service gantry-containers.service';
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

test('an upgrade restarts the daemon alone, and a reinstall after a removal starts what the removal stopped', () => {
  expect(run('postinst', 'configure', '')).toEqual([both]);
  expect(run('prerm', 'upgrade', '1.1.0')).toEqual([]);
  expect(run('postinst', 'configure', '1.0.0')).toEqual(['try-restart gantryd.service']);
  expect(run('prerm', 'remove')).toEqual(['stop gantry-containers.service', 'stop gantryd.service']);
  run('postrm', 'remove');
  expect(run('postinst', 'configure', '1.1.0')).toEqual([both]);
  expect(run('postinst', 'configure', '1.1.0')).toEqual(['try-restart gantryd.service']);
});

test('the units are known to systemd as they are after they were unmasked when they are started', () => {
  run('postinst', 'configure', '');
  const calls = read('calls').split('\n');
  const last = (text: string): number => calls.findLastIndex((call) => call.startsWith(text));
  expect(last('deb-systemd-helper')).toBeLessThan(last('systemctl --system daemon-reload'));
  expect(last('systemctl --system daemon-reload')).toBeLessThan(last('deb-systemd-invoke'));
});

test('host ids are reserved on a line of their own, and a purge takes away only what was reserved', () => {
  write('etc/subuid', 'somebody:100000:65536');
  write('etc/subgid', 'root:1000000:1000000000\n');
  run('postinst', 'configure', '');
  expect(read('etc/subuid')).toBe('somebody:100000:65536\nroot:1000000:1000000000\n');
  run('postrm', 'purge');
  expect(read('etc/subuid')).toBe('somebody:100000:65536\n');
  expect(read('etc/subgid')).toBe('root:1000000:1000000000\n');
  expect(existsSync(join(root, 'var/lib/gantry-package'))).toBe(false);
});

test('a purge goes on where a file of host ids has gone', () => {
  run('postinst', 'configure', '');
  rmSync(join(root, 'etc/subgid'));
  run('postrm', 'purge');
  expect(existsSync(join(root, 'var/lib/gantry-package'))).toBe(false);
});
