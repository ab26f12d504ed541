// Sources of containers and images, on the simulation: backup files, containers, snapshots.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createContainer, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and sources');

const rootfs = (daemon: TestDaemon, container: string): string =>
  join(daemon.dir, 'storage-pools', 'default', 'containers', container, 'rootfs');

const ownKeys = (config: object): readonly string[] =>
  Object.keys(config)
    .filter((key) => !/^(volatile|image)\./.test(key))
    .toSorted();

describe.skipIf(missing !== undefined)('a container of a backup file', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));
  beforeEach(() => seed(daemon));

  /** Backs up a new container and writes the backup to the file. */
  const backUp = async (file: string, content: string, config: Record<string, string> = {}): Promise<string> => {
    const name = `of-${content}`;
    await createContainer(daemon, name, { config: { 'user.old': content, ...config }, description: 'of old' });
    writeFileSync(join(rootfs(daemon, name), 'mark'), content);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 'before' });
    await daemon.ok('POST', `/1.0/containers/${name}/backups`, { name: 'b' });
    const { bytes } = await daemon.call('GET', `/1.0/containers/${name}/backups/b/export`);
    const path = join(terraform.dir, file);
    writeFileSync(path, bytes);
    return path;
  };
  const container = (file: string, more = '', source = ''): string => `
resource "gantry_container" "c" {
  name         = "again"
  stop_timeout = 0
  source       = { type = "backup", file = "${file}"${source} }
  ${more}
}
`;
  const mark = (): string => readFileSync(join(rootfs(daemon, 'again'), 'mark'), 'utf8');

  test('A container from a backup has its files and snapshots and the configured keys, and a changed file replaces it', async () => {
    const file = await backUp('web.backup', 'one');
    terraform.write(container(file, 'config = { "user.new" = "1" }'));
    await terraform.settle();
    const live = await daemon.get('/1.0/containers/again');
    expect(live).toMatchObject({ profiles: ['default'], description: '', status: 'Running' });
    expect(ownKeys(live.config)).toEqual(['user.new']);
    expect(await daemon.get('/1.0/containers/again/snapshots')).toHaveLength(1);
    expect(mark()).toBe('one');
    // The same content at another path is the same backup, and so is a file that is gone.
    const moved = join(terraform.dir, 'moved.backup');
    copyFileSync(file, moved);
    terraform.write(container(moved));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    rmSync(moved);
    await terraform.expectNoChanges();
    copyFileSync(await backUp('other.backup', 'two'), moved);
    expect((await terraform.plan()).output).toContain('gantry_container.c must be replaced');
    await terraform.settle();
    expect(mark()).toBe('two');
    expect(terraform.state('gantry_container.c').source.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test('An import never replaces a container from a backup, with the file in the id or without', async () => {
    const file = await backUp('web.backup', 'one');
    terraform.write(container(file));
    await terraform.apply();
    writeFileSync(join(rootfs(daemon, 'again'), 'mark'), 'written since');
    for (const id of ['again', `again,backup=${file}`, 'again,image=else']) {
      await terraform.forget('gantry_container.c');
      await terraform.import('gantry_container.c', id);
      expect(await terraform.settle(), id).toMatch(/0 added, \d changed, 0 destroyed/);
    }
    expect(mark()).toBe('written since');
  });

  test('A backup with access to the host is refused, and accepted when the configuration allows it', async () => {
    const file = await backUp('web.backup', 'one', { 'security.privileged': 'true' });
    terraform.write(container(file));
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toContain('the key security.privileged');
    expect(said).toContain('source.allow_host_access = true');
    expect(await daemon.get('/1.0/containers')).not.toContain('/1.0/containers/again');
    terraform.write(container(file, '', ', allow_host_access = true'));
    await terraform.settle();
    // In both cases the container has only the configured keys.
    expect(ownKeys((await daemon.get('/1.0/containers/again')).config)).toEqual([]);
    terraform.write(container(file, 'config = { "security.privileged" = "true" }'));
    await terraform.settle();
    expect(mark()).toBe('one');
  });

  test('The plan refuses a backup without its file, with an instance type, and an unreadable one', async () => {
    writeFileSync(join(terraform.dir, 'noise.backup'), 'noise');
    const typed = container(join(terraform.dir, 'noise.backup'), 'instance_type = "t2.micro"');
    terraform.write(container('', '') + typed.replace('"c"', '"typed"'));
    const said = await terraform.fails('plan');
    expect(said).toContain('The backup file is missing');
    expect(said).toContain('instance_type cannot be combined with a backup');
    terraform.write(container('gone.backup', ''));
    expect(await terraform.fails('plan')).toContain('Cannot read the backup file gone.backup');
    terraform.write(container(join(terraform.dir, 'noise.backup')));
    await terraform.fails('apply', '-auto-approve');
    expect(await daemon.get('/1.0/containers')).toEqual([]);
  });
});

describe.skipIf(missing !== undefined)('a copy of a snapshot', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));
  beforeEach(async () => {
    await seed(daemon);
    await createContainer(daemon, 'web', { config: { 'user.old': '1' } });
    writeFileSync(join(rootfs(daemon, 'web'), 'mark'), 'before');
    for (const name of ['before', 'later']) {
      await daemon.ok('POST', '/1.0/containers/web/snapshots', { name });
      writeFileSync(join(rootfs(daemon, 'web'), 'mark'), 'since');
    }
  });

  const copy = (source: string): string => `
resource "gantry_container" "c" {
  name         = "copy"
  stop_timeout = 0
  source       = { type = "copy", ${source} }
}
`;
  const ofBefore = copy('source = "web", snapshot = "before"');
  const mark = (): string => readFileSync(join(rootfs(daemon, 'copy'), 'mark'), 'utf8');

  test('A copy of a snapshot has its state, and another snapshot replaces it', async () => {
    terraform.write(ofBefore);
    await terraform.settle();
    expect(mark()).toBe('before');
    expect((await daemon.get('/1.0/containers/copy')).config).toMatchObject({ 'user.old': '1' });
    expect(await daemon.get('/1.0/containers/copy/snapshots')).toEqual([]);
    // The notation of the API for the same snapshot.
    terraform.write(copy('source = "web/before"'));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    terraform.write(copy('source = "web", snapshot = "later"'));
    expect((await terraform.plan()).output).toContain('gantry_container.c must be replaced');
    await terraform.settle();
    expect(mark()).toBe('since');
  });

  test('A copy of a snapshot stays when it is imported, and when its snapshot or container is renamed', async () => {
    terraform.write(ofBefore);
    await terraform.apply();
    writeFileSync(join(rootfs(daemon, 'copy'), 'mark'), 'written since');
    await terraform.forget('gantry_container.c');
    await terraform.import('gantry_container.c', 'copy,copy=web/before');
    await terraform.settle();
    const all = (container: string, snapshot: string): string => `
resource "gantry_container" "w" {
  name    = "${container}"
  running = false
}
resource "gantry_snapshot" "s" {
  container = gantry_container.w.name
  name      = "${snapshot}"
}
${copy('source = gantry_container.w.name, snapshot = gantry_snapshot.s.name')}`;
    terraform.write(all('web', 'before'));
    await terraform.import('gantry_container.w', 'web');
    await terraform.import('gantry_snapshot.s', 'web/before');
    await terraform.apply();
    for (const [container, snapshot] of [
      ['web', 'then'],
      ['shop', 'then'],
    ] as const) {
      terraform.write(all(container, snapshot));
      expect(await terraform.apply()).toMatch(/0 added, [23] changed, 0 destroyed/);
      await terraform.expectNoChanges();
    }
    expect(mark()).toBe('written since');
  });

  test('A snapshot that is set twice, set without a copy, or missing is refused with a message', async () => {
    const twice = copy('source = "web/before", snapshot = "before"');
    terraform.write(twice + ofBefore.replace('"copy", source = "web"', '"none"').replace('"c"', '"other"'));
    const wrong = await terraform.fails('plan');
    expect(wrong).toContain('The snapshot to copy is set twice');
    expect(wrong).toContain('source.snapshot is only for copies');
    terraform.write(copy('source = "web", snapshot = "never"'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('web/never');
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/web']);
  });
});

describe.skipIf(missing !== undefined)('an image of a container', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));
  beforeEach(async () => {
    await seed(daemon);
    await createContainer(daemon, 'web');
    writeFileSync(join(rootfs(daemon, 'web'), 'mark'), 'before');
    await daemon.ok('POST', '/1.0/containers/web/snapshots', { name: 'before' });
    writeFileSync(join(rootfs(daemon, 'web'), 'mark'), 'since');
  });

  const made = (source: string): string => `
resource "gantry_image" "i" {
  source     = { ${source} }
  properties = { os = "ours" }
}
resource "gantry_container" "c" {
  name         = "made"
  stop_timeout = 0
  source       = { type = "image", fingerprint = gantry_image.i.fingerprint }
}
`;
  const ofSnapshot = 'type = "snapshot", container = "web", snapshot = "before"';
  const mark = (): string => readFileSync(join(rootfs(daemon, 'made'), 'mark'), 'utf8');

  test('An image of a container or snapshot has the files of that moment, also while the container runs, and another source replaces it', async () => {
    await daemon.run('PUT', '/1.0/containers/web/state', { action: 'start' });
    terraform.write(made(ofSnapshot));
    await terraform.settle();
    expect(mark()).toBe('before');
    await daemon.run('PUT', '/1.0/containers/web/state', { action: 'stop', force: true });
    terraform.write(made('type = "container", container = "web"'));
    expect((await terraform.plan()).output).toContain('gantry_image.i must be replaced');
    await terraform.settle();
    expect(mark()).toBe('since');
    await terraform.destroy();
    expect(await daemon.get('/1.0/images')).toEqual([]);
  });

  test('An image of a container or snapshot stays when it is imported by the documented id', async () => {
    terraform.write(made(ofSnapshot));
    await terraform.apply();
    const { fingerprint } = terraform.state('gantry_image.i');
    await terraform.forget('gantry_image.i');
    await terraform.import('gantry_image.i', `${fingerprint},container=web,snapshot=before`);
    await terraform.expectNoChanges();
    await terraform.forget('gantry_image.i');
    await terraform.import('gantry_image.i', fingerprint);
    expect((await terraform.plan()).output).not.toContain('must be replaced');
    await terraform.settle();
  });

  test('An image of a container or snapshot is refused with a message when a part of its name is missing or does not exist', async () => {
    const other = made('type = "snapshot", snapshot = "before"').replaceAll(/"(i|c)" \{/g, '"$1_other" {');
    terraform.write(made('type = "snapshot", container = "web"') + other);
    const wrong = await terraform.fails('plan');
    expect(wrong).toContain('source.snapshot is missing');
    expect(wrong).toContain('source.container is missing');
    terraform.write(made('type = "snapshot", container = "web", snapshot = "never"'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('web/never');
  });
});
