// npm run hosts: boots stock releases with the product installed from its package and says what holds on them.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { errorText } from '../../server/lib/shared/reason.ts';
import { baseDisk, cacheFolder } from './base-disk.ts';
import type { Check } from './check.ts';
import { confinementChecks } from './checks/confinement.ts';
import { fenceChecks } from './checks/fences.ts';
import { lifeChecks, startChecks } from './checks/containers.ts';
import { installChecks } from './checks/install.ts';
import { Machine } from './machine.ts';
import { productDisk } from './product-disk.ts';
import { program } from './program.ts';
import { releases, type Release } from './releases.ts';

const usage = `Usage: npm run hosts -- [--release NAME]... [--long] [--keep]

Releases: ${releases.map(({ name, long }) => `${name}${long ? ' (--long)' : ''}`).join(', ')}
--keep leaves the consoles of machines whose checks passed, too.
`;

const needed = ['qemu-system-x86_64', 'debootstrap', 'mke2fs', 'modprobe', 'cpio', 'npm', 'dpkg-deb'];
const checks: readonly Check[] = [
  ...installChecks,
  ...startChecks,
  ...confinementChecks,
  ...fenceChecks,
  ...lifeChecks,
];
const consoles = resolve('dist/hosts');

interface Count {
  passed: number;
  failed: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      release: { type: 'string', multiple: true },
      long: { type: 'boolean' },
      keep: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const wanted = releases.filter(({ name, long }) => values.release?.includes(name) ?? (!long || values.long === true));
  if (values.help === true || wanted.length === 0) {
    console.log(usage);
    return values.help === true ? 0 : 64;
  }
  const missing = await missingHere();
  if (missing !== undefined) {
    console.log(`skipped: hosts: ${missing}`);
    return process.env['GANTRY_ALL_PROGRAMS'] === '1' ? 1 : 0;
  }
  const count: Count = { passed: 0, failed: 0 };
  await mkdir(cacheFolder, { recursive: true });
  await mkdir(consoles, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'product-'));
  try {
    const product = join(work, 'disk');
    await productDisk(product);
    for (const release of wanted) await runRelease(release, product, values.keep === true, count);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  console.log(`\n${count.passed} passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

async function missingHere(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'root is needed to make the disks of machines';
  if (process.arch !== 'x64') return `the lane boots x86-64 machines, this one is ${process.arch}`;
  for (const name of needed) {
    const found = await program('sh', ['-c', `command -v ${name}`]).catch(() => '');
    if (found === '') return `${name} is not installed`;
  }
  return undefined;
}

async function runRelease(release: Release, product: string, keep: boolean, count: Count): Promise<void> {
  const console_ = join(consoles, `${release.name}.console`);
  let host: Machine | undefined;
  const failedBefore = count.failed;
  try {
    const base = await baseDisk(release, console.log);
    const began = Date.now();
    host = await Machine.boot(base, [product], console_);
    console.log(`${release.name}: up after ${seconds(began)}`);
    await runChecks(release, host, count);
  } catch (error) {
    count.failed += 1;
    console.log(`✗ ${release.name}: ${errorText(error)}`);
  } finally {
    await host?.remove();
  }
  if (count.failed > failedBefore) console.log(`The end of ${console_}:\n${await tail(console_)}`);
  else if (!keep) await rm(console_, { force: true });
}

async function runChecks(release: Release, host: Machine, count: Count): Promise<void> {
  for (const check of checks) {
    const began = Date.now();
    try {
      await check.run(host);
      count.passed += 1;
      console.log(`✓ ${release.name}: ${check.name} (${seconds(began)})`);
    } catch (error) {
      count.failed += 1;
      console.log(`✗ ${release.name}: ${check.name} (${seconds(began)})\n${errorText(error)}`);
      const journal = await host.run(lastWords).catch(errorText);
      console.log(`The end of its journal:\n${journal}`);
      if (check.vital === true) return;
    }
  }
}

function seconds(began: number): string {
  return `${((Date.now() - began) / 1000).toFixed(0)} s`;
}

/** What AppArmor denied often tells why. */
const lastWords = `journalctl -b -k -o cat --no-pager | grep 'apparmor="DENIED"' | tail -15 || true
  journalctl -b -o short-monotonic --no-pager | tail -40`;

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'latin1').catch(() => '(no console)');
  return stripVTControlCharacters(text).replaceAll('\r', '').split('\n').slice(-40).join('\n');
}

process.exitCode = await main();
