// npm run hosts: boots stock releases with the product installed from its package, and reports which checks pass.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { errorText } from '../../server/lib/shared/reason.ts';
import { baseDisk, cacheFolder } from './base-disk.ts';
import { extrasDisk, pathOf } from './extras-disk.ts';
import { endOnSignals, interrupted, interruptedCode } from './interrupt.ts';
import { Machine } from './machine.ts';
import { startOuterCluster, type OuterCluster } from './outer-cluster.ts';
import { packagesDisk } from './packages-disk.ts';
import { productDisk } from './product-disk.ts';
import { releases, type Release } from './releases.ts';
import { suiteDisk } from './suite-disk.ts';
import { scenarios, type Scenario } from './scenarios.ts';

const listed = (all: readonly { readonly name: string; readonly long: boolean }[]): string =>
  all.map(({ name, long }) => `${name}${long ? ' (--long)' : ''}`).join(', ');

const usage = `Usage: npm run hosts -- [--release NAME]... [--only MACHINE]... [--check TEXT]... [--long] [--keep]

Releases: ${listed(releases)}
Machines: ${listed(scenarios)}
--check runs only the checks whose names have TEXT, and those that the others need.
--keep leaves the consoles of machines whose checks passed, too.
`;

const needed = ['qemu-system-x86_64', 'debootstrap', 'mke2fs', 'modprobe', 'cpio', 'npm', 'dpkg-deb'];
const consoles = resolve('dist/hosts');

interface Count {
  passed: number;
  failed: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      release: { type: 'string', multiple: true },
      only: { type: 'string', multiple: true },
      check: { type: 'string', multiple: true },
      long: { type: 'boolean' },
      keep: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const choose = <T extends { readonly name: string; readonly long: boolean }>(
    all: readonly T[],
    names: readonly string[] | undefined,
  ): readonly T[] => all.filter(({ name, long }) => names?.includes(name) ?? (!long || values.long === true));
  const wanted = choose(releases, values.release);
  const texts = values.check ?? [''];
  const machines = choose(scenarios, values.only).map((scenario) => ({
    ...scenario,
    checks: scenario.checks.filter(({ name, vital }) => vital === true || texts.some((text) => name.includes(text))),
  }));
  if (values.help === true || wanted.length === 0 || machines.length === 0) {
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
    for (const release of wanted) {
      const short = tooLate(release);
      if (short !== undefined) console.log(`skipped: hosts: ${release.name}: ${short}`);
      else
        for (const scenario of machines)
          if (!interrupted.aborted) await runScenario(release, scenario, product, values.keep === true, count);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  console.log(`\n${count.passed} passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

/** GANTRY_HOSTS_DEADLINE: seconds since 1970, when a whole run has to be over. */
function tooLate({ minutes }: Release): string | undefined {
  const deadline = Number(process.env['GANTRY_HOSTS_DEADLINE'] ?? Infinity);
  const left = Math.floor((deadline * 1000 - Date.now()) / 60_000);
  return left >= minutes || minutes === 0 ? undefined : `it takes ${minutes} minutes, and ${left} are left`;
}

async function missingHere(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'root is needed to make the disks of machines';
  if (process.arch !== 'x64') return `the lane boots x86-64 machines, this one is ${process.arch}`;
  for (const name of needed) {
    if ((await pathOf(name)) === '') return `${name} is not installed`;
  }
  return undefined;
}

async function runScenario(
  release: Release,
  scenario: Scenario,
  product: string,
  keep: boolean,
  count: Count,
): Promise<void> {
  const title = `${release.name} ${scenario.name}`;
  if (scenario.extras?.includes('terraform') === true && (await pathOf('terraform')) === '') {
    console.log(`skipped: hosts: ${title}: terraform is not on the PATH`);
    return;
  }
  const console_ = join(consoles, `${release.name}-${scenario.name}.console`);
  let host: Machine | undefined;
  let cluster: OuterCluster | undefined;
  const failedBefore = count.failed;
  try {
    const base = await baseDisk(release, console.log, scenario.base);
    const more: string[] = scenario.packages.length === 0 ? [] : [await packagesDisk(release, base, scenario.packages)];
    if (scenario.suite === true) more.push(await suiteDisk(`${product}-suite`));
    if (scenario.extras !== undefined)
      more.push(await extrasDisk(release, `${product}-extras`, scenario.extras, console.log));
    if (scenario.cluster === true) cluster = await startOuterCluster(base);
    const began = Date.now();
    host = await Machine.boot(base, [product, ...more], console_, {
      cache: scenario.cache,
      network: scenario.cluster,
    });
    console.log(`${title}: up after ${seconds(began)}`);
    await cluster?.introduce(host);
    await runChecks(title, scenario, host, count);
  } catch (error) {
    count.failed += 1;
    console.log(`✗ ${title}: ${errorText(error)}`);
  } finally {
    await host?.remove();
    await cluster?.close();
  }
  if (count.failed > failedBefore) console.log(`The end of ${console_}:\n${await tail(console_)}`);
  else if (!keep) await rm(console_, { force: true });
}

async function runChecks(title: string, { checks }: Scenario, host: Machine, count: Count): Promise<void> {
  for (const check of checks) {
    interrupted.throwIfAborted();
    const began = Date.now();
    try {
      await check.run(host);
      count.passed += 1;
      console.log(`✓ ${title}: ${check.name} (${seconds(began)})`);
    } catch (error) {
      interrupted.throwIfAborted();
      count.failed += 1;
      console.log(`✗ ${title}: ${check.name} (${seconds(began)})\n${errorText(error)}`);
      const journal = await host.run(lastWords).catch(errorText);
      console.log(`The end of its journal:\n${journal}`);
      if (check.vital === true) return;
    }
  }
}

function seconds(began: number): string {
  return `${((Date.now() - began) / 1000).toFixed(0)} s`;
}

/** AppArmor denials often explain a failure. */
const lastWords = `journalctl -b -k -o cat --no-pager | grep 'apparmor="DENIED"' | tail -15 || true
  journalctl -b -o short-monotonic --no-pager | tail -40`;

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'latin1').catch(() => '(no console)');
  return stripVTControlCharacters(text).replaceAll('\r', '').split('\n').slice(-40).join('\n');
}

endOnSignals();
const code = await main().catch((error: unknown) => {
  if (!interrupted.aborted) throw error;
  console.log(errorText(error));
  return 1;
});
process.exitCode = interruptedCode() ?? code;
