// Projects as documents, and documents in projects: on a stock LXD and on gantryd with real containers.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, realRuntimeMissing, type Json } from '../../support/daemons/daemon.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { writeQuickstartImage } from '../../support/images/quickstart.ts';
import { isLongRun } from '../../support/left-out.ts';
import { repository } from '../../support/cli/programs.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { startStockLxd, stockLxdMissing } from '../../support/hosts/stock-lxd.ts';

/** The interface of a server for these tests. */
interface Server {
  readonly socketPath: string;
  get(path: string): Promise<Json>;
  call(method: string, path: string, body?: object): Promise<{ readonly status: number }>;
  cleanUp(): Promise<void>;
}

const noRuntime = await realRuntimeMissing();
const servers: readonly { readonly name: string; readonly missing?: string; readonly start: () => Promise<Server> }[] =
  [
    { name: 'a stock LXD', ...absent(stockLxdMissing()), start: startStockLxd },
    { name: 'gantryd with real containers', ...absent(noRuntime), start: () => makeDaemon({ runtime: 'lxc' }) },
    ...(isLongRun || noRuntime !== undefined
      ? [{ name: 'gantryd with simulated containers', start: () => makeDaemon({ runtime: 'sim' }) }]
      : []),
  ];
function absent(missing: string | undefined): { readonly missing?: string } {
  return missing === undefined ? {} : { missing };
}
for (const { name, missing } of servers)
  if (missing !== undefined) console.log(`skipped: projects on ${name}: ${missing}`);

const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: running containers in a project: ${noImage}`);

const folder = new StackFolder();
const { dir } = folder;
afterAll(() => folder.remove());

const daemonLibrary = { GANTRY_DAEMON_LIBRARY: join(repository, 'server', 'daemon', 'embedded.ts') };

const project = (more = ''): string => `kind: project\nname: team\ndescription: A team\n${more}`;
const limits = 'config: { limits.containers: 3, user.owner: me }\n';

const gantry = folder.gantry.bind(folder);

const inTeam = [
  project(limits),
  'kind: storage_pool\nname: p1\ndriver: dir\n',
  'kind: image\nname: base\nproject: team\nfile: image.tar.gz\naliases: [base]\n',
  'kind: profile\nname: small\nproject: team\nconfig: { limits.memory: 64MiB }\ndevices: { root: { type: disk, path: /, pool: p1 } }\n',
  'kind: profile\nname: small\ndescription: Of the project default\n',
  'kind: storage_volume\nname: data\npool: p1\nproject: team\n',
  'kind: container\nname: c1\nproject: team\nprofiles: [small]\nsource: { type: image, alias: base }\nstate: stopped\ndevices: { data: { type: disk, pool: p1, source: data, path: /data } }\n',
];

describe.each(servers.filter(({ missing }) => missing === undefined))('on $name', ({ name, start }) => {
  let server: Server;
  const run = async (verb: string, parts: readonly string[], ...more: readonly string[]): Promise<CliRun> =>
    gantry(server.socketPath, verb, parts, ...more);
  const apply = async (parts: readonly string[], ...more: readonly string[]): Promise<CliRun> => {
    const applied = await run('apply', parts, '--auto-approve', ...more);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const flags = more.filter((_, index) => more[index] === '--project' || more[index - 1] === '--project');
    const second = await run('plan', parts, '--detailed-exitcode', ...flags);
    expect(second.code, `a second plan\n${second.stdout}${second.stderr}`).toBe(0);
    return applied;
  };
  /** The output of a dry run on a copy, which leaves the server unchanged. */
  const tried = async (parts: readonly string[], ...more: readonly string[]): Promise<string> => {
    const file = join(dir, 'tried.yaml');
    writeFileSync(file, parts.join('---\n').replaceAll('file: ', `file: ${dir}/`));
    const host = ['--host', `unix://${server.socketPath}`];
    const shown = await cli(['apply', '-f', file, '--dry-run=server', ...host, ...more], { env: daemonLibrary });
    expect(shown.code, shown.stdout + shown.stderr).toBe(0);
    return shown.stdout;
  };
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.cleanUp(), 120_000);

  test('a project is created, changed, found unchanged, pruned of undeclared config, and deleted', async () => {
    await apply([project(limits)]);
    const live = await server.get('/1.0/projects/team');
    expect(live).toMatchObject({
      description: 'A team',
      config: { 'limits.containers': '3', 'features.images': 'true' },
    });
    await apply([project('config: { limits.containers: 5, features.networks: false }\n')]);
    expect((await server.get('/1.0/projects/team')).config).toMatchObject({ 'limits.containers': '5' });
    expect((await server.get('/1.0/projects/team')).config).not.toHaveProperty('user.owner');
    // A PATCH of this server replaces all of the config.
    const { config, description } = await server.get('/1.0/projects/team');
    const changed = { description, config: { ...config, 'limits.containers': '9' } };
    expect((await server.call('PUT', '/1.0/projects/team', changed)).status).toBe(200);
    expect((await run('drift', [project('config: { limits.containers: 5 }\n')])).stdout).toContain('limits.containers');
    const gone = await run('destroy', [project('config: { limits.containers: 5 }\n')], '--auto-approve');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    expect(await server.get('/1.0/projects')).toEqual(['/1.0/projects/default']);
  });

  test('documents stay in their project, may share names with other projects, and are applied in order', async () => {
    expect(await tried(inTeam)).toContain('Dry run: 8 would succeed.');
    await apply(inTeam);
    const ours = await server.get('/1.0/containers/c1?project=team');
    expect(ours).toMatchObject({ name: 'c1', profiles: ['small'] });
    expect(await server.get('/1.0/containers')).toEqual([]);
    expect((await server.get('/1.0/profiles/small?project=team')).config).toMatchObject({ 'limits.memory': '64MiB' });
    expect((await server.get('/1.0/profiles/small')).config).not.toHaveProperty('limits.memory');
    expect(await server.get('/1.0/storage-pools/p1/volumes/custom')).toEqual([]);

    expect((await run('status', inTeam)).stdout).toMatch(/container\/c1@team\s/);
    const shown = await cli(['show', 'container/c1@team', '--host', `unix://${server.socketPath}`]);
    expect(shown.stdout).toContain('project: team');
    const graph = await cli(['graph', '-f', join(dir, 'stack.yaml')]);
    expect(graph.stdout).toContain('container/c1@team');

    // A reviewed change applies only to the reviewed state, and inside the project.
    const edited = inTeam.map((part) => part.replace('limits.memory: 64MiB', 'limits.memory: 96MiB'));
    const kept = join(dir, 'kept.plan');
    expect(await tried(edited)).toContain('Dry run: 1 would succeed.');
    expect((await run('plan', edited, '--out', kept)).code).toBe(0);
    const saved = JSON.parse(readFileSync(kept, 'utf8')) as { readonly changes: readonly object[] };
    expect(saved.changes).toMatchObject([{ address: 'profile/small@team', etag: expect.stringMatching(/./) }]);
    const bound = await cli(['apply', kept, '--host', `unix://${server.socketPath}`]);
    expect(bound.code, bound.stdout + bound.stderr).toBe(0);
    expect((await server.get('/1.0/profiles/small?project=team')).config).toMatchObject({ 'limits.memory': '96MiB' });
    await apply(inTeam);

    // A set with only the project cannot delete it while it has contents, nor change its features.
    const stuck = await run('destroy', [project(limits)], '--auto-approve');
    expect(stuck.code, stuck.stdout + stuck.stderr).toBe(4);
    expect(stuck.stdout + stuck.stderr).toContain('container/c1@team');
    const features = await run('plan', [
      project('config: { limits.containers: 3, user.owner: me, features.profiles: false }\n'),
      ...inTeam.slice(1, 2),
    ]);
    expect(features.code, features.stdout + features.stderr).toBe(4);
    expect(features.stdout + features.stderr).toContain('can be changed only while it is empty');

    const exported = await cli(['export', '--host', `unix://${server.socketPath}`]);
    expect(exported.stdout).toContain('project: team');
    writeFileSync(join(dir, 'exported.yaml'), exported.stdout);
    const again = await cli([
      'plan',
      '-f',
      join(dir, 'exported.yaml'),
      '--host',
      `unix://${server.socketPath}`,
      '--detailed-exitcode',
    ]);
    expect(again.code, again.stdout + again.stderr + exported.stdout).toBe(0);

    // Undeclared objects are pruned in their project.
    await apply(inTeam.slice(0, -2), '--set', 'default', '--prune', '--allow-destroy');
    expect(await server.get('/1.0/containers?project=team')).toEqual([]);
    const gone = await run('destroy', inTeam, '--auto-approve');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    expect(await server.get('/1.0/projects')).toEqual(['/1.0/projects/default']);
    expect(await server.get('/1.0/storage-pools')).toEqual([]);
  });

  test('an existing project is adopted, and only declared objects are removed from default', async () => {
    expect(
      (await server.call('POST', '/1.0/projects', { name: 'team', description: 'A team', config: {} })).status,
    ).toBeLessThan(300);
    const adopted = await run('adopt', [project()], '--all');
    expect(adopted.code, adopted.stdout + adopted.stderr).toBe(0);
    expect((await run('destroy', [project()], '--auto-approve')).code).toBe(0);
    const ours = ['kind: project\nname: default\nconfig: { user.owner: me }\n'];
    await apply(ours);
    expect((await run('destroy', ours, '--auto-approve')).code).toBe(0);
    const live = await server.get('/1.0/projects/default');
    expect(Object.keys(live.config as object).filter((key) => key.startsWith('user.'))).toEqual([]);
  });

  // Commands of a simulated container are pretended.
  test.skipIf(noImage !== undefined || name.includes('simulated'))(
    'containers work in a project: started, waited for, given files and commands, replaced with a new image',
    async () => {
      writeQuickstartImage(join(dir, 'first.tar.gz'));
      const other =
        'gunzip -c first.tar.gz >second.tar && mkdir -p rootfs/etc && echo second >rootfs/etc/which && ' +
        'tar -rf second.tar rootfs/etc/which && gzip -f second.tar';
      execFileSync('sh', ['-c', other], { cwd: dir });
      const stack = (image: string, nesting: boolean): readonly string[] => [
        project(),
        'kind: storage_pool\nname: p1\ndriver: dir\n',
        `kind: profile\nname: default\nproject: team\nconfig: { security.nesting: ${nesting} }\ndevices: { root: { type: disk, path: /, pool: p1 } }\n`,
        `kind: image\nname: ${image}\nproject: team\nfile: ${image}.tar.gz\naliases: [box]\n`,
        `kind: container
name: box
project: team
source: { type: image, alias: box }
files: [{ path: /etc/greeting, content: "hello\\n" }]
exec: [{ name: mark, command: [touch, /marked], creates: /marked }]
manage: { image: rebuild, wait: [{ exec: [test, -e, /etc/greeting], timeout: 30s }] }
`,
      ];
      await apply(stack('first', false));
      expect((await run('status', stack('first', false))).stdout).toMatch(/container\/box@team\s+Running/);
      const restarted = await run('plan', stack('first', true));
      expect(restarted.stdout).toContain('container/box@team (restart)');
      const before = (await server.get('/1.0/containers/box?project=team')) as { config: Record<string, string> };
      await apply(stack('second', false));
      const after = (await server.get('/1.0/containers/box?project=team')) as { config: Record<string, string> };
      expect(after.config['volatile.base_image']).not.toBe(before.config['volatile.base_image']);
      expect(await server.get('/1.0/containers?project=team')).toHaveLength(1);
      // The first image is no longer declared, and would keep the project.
      await apply(stack('second', false), '--set', 'default', '--prune');
      const gone = await run('destroy', stack('second', false), '--auto-approve');
      expect(gone.code, gone.stdout + gone.stderr).toBe(0);
      expect(await server.get('/1.0/projects')).toEqual(['/1.0/projects/default']);
    },
  );

  test('a connection in a project refers to that project with plain names, and to default by its name', async () => {
    expect((await server.call('POST', '/1.0/projects', { name: 'team', config: {} })).status).toBeLessThan(300);
    const parts = [
      'kind: profile\nname: mine\ndescription: Of the team\n',
      'kind: profile\nname: mine\nproject: default\ndescription: Of all\n',
      'kind: storage_pool\nname: p2\ndriver: dir\n',
      'kind: storage_volume\nname: v\npool: p2\nproject: team\n',
    ];
    expect(await tried(parts, '--project', 'team')).toContain('Dry run: 4 would succeed.');
    await apply(parts, '--project', 'team');
    expect(await server.get('/1.0/profiles/mine?project=team')).toMatchObject({ description: 'Of the team' });
    expect(await server.get('/1.0/profiles/mine')).toMatchObject({ description: 'Of all' });
    expect(await server.get('/1.0/storage-pools/p2/volumes/custom?project=team')).toHaveLength(1);
    const gone = await run('destroy', parts, '--auto-approve', '--project', 'team');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    expect((await server.call('DELETE', '/1.0/projects/team')).status).toBeLessThan(300);
    expect(await server.get('/1.0/profiles')).toEqual(['/1.0/profiles/default']);
  });

  test('a kind that the project shares with default is refused in the project', async () => {
    const shared = await run('plan', [
      project('config: { features.profiles: false }\n'),
      'kind: profile\nname: small\nproject: team\n',
    ]);
    expect(shared.code).toBe(1);
    expect(shared.stderr).toContain('the project team has no object of kind profile of its own');
    expect(shared.stderr).toContain('project: team');
  });
});

describe('without a server', () => {
  test('an invalid project is reported offline', async () => {
    const file = join(dir, 'wrong.yaml');
    writeFileSync(file, project('config: { features.image: true, limits.containers: many }\n'));
    const checked = await cli(['validate', '-f', file]);
    expect(checked.stderr).toContain('features.images');
    expect(checked.stderr).toContain('limits.containers');
  });
});
