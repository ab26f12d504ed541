// SIGKILL at random moments of gantry, and of the daemon, while a client whose certificate is restricted to a project applies or destroys:
// the next run finishes, the next plan is empty, and the objects and notes of others stay. GANTRY_SEED repeats a run.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { buildPrograms, runGantry, type RunSetting } from '../../support/cli/programs.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeTenant, type Tenant } from '../../support/cli/tenant.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { remove } from '../../support/hosts/remains.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';

const random = seededRandom();
const folder = new StackFolder();
const programs = buildPrograms();
let gantryd: Gantryd;
let tenant: Tenant;
let before: unknown;

const other = join(folder.dir, 'other', 'stack.yaml');
const stack = join(folder.dir, 'stack.yaml');
const words = (verb: string, file = stack, set = 'default'): readonly string[] => [
  verb,
  '-f',
  file,
  '--project',
  'red',
  '--set',
  set,
  ...tenant.flags(gantryd.https ?? ''),
];
const team = (verb: string, ...more: readonly string[]): Promise<CliRun> => cli([...words(verb), ...more]);
const killed = (verb: string, setting: RunSetting): ReturnType<typeof runGantry> =>
  runGantry(programs, [...words(verb), '-y'], setting);

beforeAll(async () => {
  gantryd = await startGantryd(programs, { runtime: 'sim', https: `127.0.0.1:${await freePort()}` });
  await gantryd.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  await makeProject(gantryd, 'red');
  await makeProject(gantryd, 'blue');
  tenant = await makeTenant(gantryd, join(gantryd.dir, 'server.crt'), ['red']);
  const containers = ['c1', 'c2', 'c3'].map(
    (name) => `kind: container\nname: ${name}\nsource: { type: image, alias: base }\n`,
  );
  const shared = [
    'kind: profile\nname: web\nconfig: { user.a: one }\n',
    'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n',
  ];
  writeFileSync(stack, [...shared, ...containers].join('---\n'));
  mkdirSync(join(folder.dir, 'other'));
  writeFileSync(other, 'kind: profile\nname: other\nconfig: { user.b: two }\n');
  const made = await cli([...words('apply', other, 'other'), '-y']);
  expect(made.code, made.stderr).toBe(0);
  await gantryd.call('POST', '/1.0/profiles?project=blue', { name: 'web', config: { 'user.a': 'blue' } });
  before = await ofOthers();
});
afterAll(async () => {
  tenant.remove();
  await remove(gantryd, []);
  folder.remove();
  rmSync(folder.dir, { recursive: true, force: true });
});

/** Objects and notes outside the set. */
async function ofOthers(): Promise<unknown> {
  const { config } = (await gantryd.get('/1.0/profiles/gantry-notes?project=red')) as {
    config: Record<string, string>;
  };
  const own = Object.fromEntries(Object.entries(config).filter(([key]) => !key.includes('default@red')));
  const profiles = await Promise.all(
    ['red&name=other', 'blue&name=web'].map((one) => {
      const [project, name] = one.split('&name=');
      return gantryd.get(`/1.0/profiles/${name}?project=${project}`) as Promise<unknown>;
    }),
  );
  return { own, profiles, server: ((await gantryd.get('/1.0')) as { config: unknown }).config };
}

async function expectFinished(verb: 'apply' | 'destroy', when: string): Promise<void> {
  const again = await team(verb, '-y');
  expect(again.code, `${when}: ${verb} again\n${again.stdout}${again.stderr}`).toBe(0);
  const plan = await team('plan', '--detailed-exitcode', ...(verb === 'destroy' ? ['--destroy'] : []));
  expect(plan.code, `${when}: plan after ${verb}\n${plan.stdout}${plan.stderr}`).toBe(0);
  expect(await ofOthers(), when).toEqual(before);
}

const verbs = isLongRun ? (['destroy', 'apply', 'destroy', 'apply'] as const) : (['destroy', 'apply'] as const);

test('A restricted apply or destroy that is killed is finished by the next one', async () => {
  console.log(`kills of a restricted gantry: seed ${random.seed}`);
  const wholeMs = (await killed('apply', {})).elapsedMs;
  for (const [round, verb] of verbs.entries()) {
    const when = `seed ${random.seed}, round ${round}`;
    const atMs = (0.3 + 0.7 * random.next()) * wholeMs;
    const ran = await killed(verb, { started: (child) => void sleep(atMs).then(() => child.kill('SIGKILL')) });
    expect([0, -1], when).toContain(ran.code);
    await expectFinished(verb, when);
  }
});

test('A restricted apply or destroy whose daemon is killed is finished by the next one', async () => {
  for (const verb of verbs) {
    const startedAt = performance.now();
    const running = team(verb, '-y');
    await sleep(random.next() * 400);
    await gantryd.kill();
    const when = `seed ${random.seed}, daemon killed after ${performance.now() - startedAt} ms of ${verb}`;
    expect([0, 7], when).toContain((await running).code);
    await gantryd.start();
    await expectFinished(verb, when);
  }
});
