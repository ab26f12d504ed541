// Images of a cluster: each exists once regardless of which members have its files, and is copied to members that need it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { testMinutes } from '../../support/daemons/clock.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { splitUpload } from '../../support/images/split-upload.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

describe.skipIf(etcdMissing() !== undefined || busyboxMissing() !== undefined)('images of a cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  let three: TestMember;
  const dir = tempFolder('gantry-cluster-images-');
  const minutes = new Map<string, ReturnType<typeof testMinutes>>();

  beforeAll(async () => {
    cluster = await makeCluster(3, 1, (name) => {
      // Certificates use the clock of the host, so they must be valid at this frozen time.
      const own = testMinutes(new Date(Date.now() + 600_000).toISOString());
      minutes.set(name, own);
      return { time: own.time };
    });
    [one, two, three] = cluster.members as [TestMember, TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  });
  afterAll(() => cluster.cleanUp());

  /** Uploads a new unique image to the member. */
  async function upload(member: TestMember, word: string, split = false): Promise<string> {
    const metadata = `architecture: x86_64\ncreation_date: 1700000000\nproperties: {os: ${word}}\n`;
    const built = await buildBusyboxImage(join(dir, word), {
      metadata,
      split,
      busybox: { withoutPrograms: true },
    });
    const bytes = await readFile(built.metadataPath);
    const sent =
      built.rootfsPath === undefined
        ? { body: bytes, headers: { 'content-type': 'application/octet-stream' } }
        : splitUpload(bytes, await readFile(built.rootfsPath));
    await member.ok('POST', '/1.0/images', sent.body, sent.headers);
    return built.fingerprint;
  }

  const container = (name: string, source: object) => ({
    name,
    source: { type: 'image', ...source },
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  });

  const fingerprints = async (member: TestMember): Promise<readonly string[]> =>
    (await member.get('/1.0/images?recursion=1')).map((image: { fingerprint: string }) => image.fingerprint);

  test.each([false, true])(
    'a member without the image creates a container from it (in two files: %s)',
    async (split) => {
      const word = split ? 'apart' : 'whole';
      const image = await upload(two, word, split);
      const alias = `alias-${word}`;
      await three.call('POST', '/1.0/images/aliases', { name: alias, target: image.slice(0, 12) });
      for (const member of cluster.members) {
        expect(await member.get(`/1.0/images/aliases/${alias}`)).toMatchObject({ target: image });
        expect(await fingerprints(member)).toEqual([image]);
      }
      await one.ok('POST', '/1.0/containers?target=m1', container('c1', { alias }));
      await three.ok('POST', '/1.0/containers?target=m3', container('c3', { fingerprint: image }));
      expect(await two.get('/1.0/containers/c1')).toMatchObject({ location: 'm1', config: { 'image.os': word } });
      expect(await two.get('/1.0/containers/c3')).toMatchObject({ location: 'm3' });
      for (const member of cluster.members) {
        expect(await fingerprints(member)).toEqual([image]);
        expect(await member.get(`/1.0/images/${image}`)).toMatchObject({
          properties: { os: word },
          aliases: [{ name: alias }],
        });
      }
      for (const name of ['c1', 'c3']) await two.ok('DELETE', `/1.0/containers/${name}`);
      await three.ok('DELETE', `/1.0/images/${image}`);
      for (const member of cluster.members) {
        expect(await member.get('/1.0/images')).toEqual([]);
        expect(await member.get('/1.0/images/aliases')).toEqual([]);
        expect((await member.call('GET', `/1.0/images/${image}`)).status).toBe(404);
      }
    },
  );

  test('a change through any member shows on every member, and checks the ETag', async () => {
    const image = await upload(three, 'changing');
    await one.ok('POST', '/1.0/containers?target=m1', container('c2', { fingerprint: image }));
    const changed = await two.call('PATCH', `/1.0/images/${image}`, { properties: { os: 'changed' }, public: true });
    expect(changed.status).toBe(200);
    for (const member of cluster.members)
      expect(await member.get(`/1.0/images/${image}`)).toMatchObject({ public: true, properties: { os: 'changed' } });
    const stale = await three.call('PUT', `/1.0/images/${image}`, { properties: {} }, { 'if-match': 'another' });
    expect(stale.status).toBe(412);
    await one.ok('DELETE', '/1.0/containers/c2');
    await three.ok('POST', '/1.0/containers?target=m3', container('c4', { properties: { os: 'changed' } }));
    expect(await one.get('/1.0/containers/c4')).toMatchObject({ location: 'm3', config: { 'image.os': 'changed' } });
    await one.ok('DELETE', '/1.0/containers/c4');
    await one.ok('DELETE', `/1.0/images/${image}`);
    expect(await fingerprints(three)).toEqual([]);
  });

  test('any member publishes a container or snapshot of another one, which keeps the image', async () => {
    const image = await upload(two, 'published');
    await two.ok('POST', '/1.0/containers?target=m2', container('c5', { fingerprint: image }));
    await two.ok('POST', '/1.0/containers/c5/snapshots', { name: 's1' });
    for (const source of [
      { type: 'container', name: 'c5' },
      { type: 'snapshot', name: 'c5/s1' },
    ]) {
      await one.ok('POST', '/1.0/images', { source, aliases: [{ name: source.type }] });
      const { target } = await three.get(`/1.0/images/aliases/${source.type}`);
      expect((await one.get(`/1.0/images/${target}`)).locations).toContain('m2');
      await one.ok('DELETE', `/1.0/images/${target}`);
    }
    await one.ok('DELETE', '/1.0/containers/c5');
    await one.ok('DELETE', `/1.0/images/${image}`);
  });

  test('any member hands out the files, and refuses the same image once more', async () => {
    const image = await upload(two, 'exported');
    let bytes: Buffer = Buffer.alloc(0);
    for (const member of cluster.members) {
      const answer = await member.call('GET', `/1.0/images/${image.slice(0, 16)}/export`);
      expect(answer.status).toBe(200);
      expect(createHash('sha256').update(answer.bytes).digest('hex')).toBe(image);
      bytes = answer.bytes;
    }
    const again = await one.call('POST', '/1.0/images', bytes, { 'content-type': 'application/octet-stream' });
    const ended = await one.get(`${again.body.operation as string}/wait`);
    expect(ended).toMatchObject({ status_code: 400, err: expect.stringContaining('exists') });
    expect(await fingerprints(one)).toEqual([image]);
    await two.ok('DELETE', `/1.0/images/${image}`);
  });

  const copies = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const member of cluster.members) {
      const own = await readdir(join(member.dir, 'images')).catch(() => []);
      found.push(...own.filter((file) => /^[0-9a-f]{64}$/.test(file)).map(() => member.name));
    }
    return found.toSorted();
  };
  const pass = (): void => minutes.forEach((own) => own.pass(60_000));

  test('cluster.images_minimal_replica members get a copy in the background, and a deletion removes all copies', async () => {
    await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '2' } });
    const image = await upload(three, 'copied');
    pass();
    await until(async () => (await copies()).length === 2);
    await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '-1' } });
    pass();
    await until(async () => (await copies()).join() === 'm1,m2,m3');
    await one.ok('DELETE', `/1.0/images/${image}`);
    pass();
    expect(await copies()).toEqual([]);
    expect(await fingerprints(two)).toEqual([]);
  });

  test('an image that is deleted during a fetch does not come back', async () => {
    await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '1' } });
    for (let round = 0; round < 4; round += 1) {
      const raced = await upload(two, `raced${round}`);
      const made = three.call('POST', '/1.0/containers?target=m3', container('r', { fingerprint: raced }));
      await one.ok('DELETE', `/1.0/images/${raced}`);
      const { body } = await made;
      if (body.operation !== undefined) await three.wait(String(body.operation));
      expect([round, await fingerprints(one), await copies()]).toEqual([round, [], []]);
      await one
        .call('DELETE', '/1.0/containers/r')
        .then(async (answer) => answer.status === 202 && one.wait(answer.body.operation));
    }
  });
});
