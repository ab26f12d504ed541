// A host that two teams share: the project of a tenant with a restricted client certificate, and the project of a victim with one object
// of each kind. For tests that try to cross over.
import { randomBytes } from 'node:crypto';
import { Agent } from 'node:https';
import { type Answer, type Json, makeSeeded, type TestDaemon } from '../daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../daemons/projects.ts';
import { callTls, makeClient, type ClientCertificate } from '../daemons/tls.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../images/hostile.ts';

export interface SharedHost {
  readonly admin: TestDaemon;
  readonly client: ClientCertificate;
  /** The fingerprint of the victim's private image. */
  readonly fingerprint: string;
  /** The fingerprint of its certificate. */
  readonly otherFingerprint: string;
  /** As the tenant, over TLS. */
  tenant(method: string, path: string, body?: object | Buffer, headers?: Record<string, string>): Promise<Answer>;
  /** Everything that an administrator can read of the victim's world and of the server. */
  world(): Promise<string>;
  /** The same without the names of the tenant's own objects. */
  others(): Promise<string>;
  cleanUp(): Promise<void>;
}

const mine = 'mine';
const theirs = 'theirs';

export async function openSharedHost(): Promise<SharedHost> {
  const admin = await makeSeeded({ https: '127.0.0.1:0' });
  const must = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await admin.call(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
    if (answer.status === 202 && answer.body.operation !== undefined) await admin.wait(answer.body.operation as string);
    return answer;
  };
  for (const name of ['lan', 'secretnet'])
    await must('POST', '/1.0/networks', {
      name,
      config: { 'ipv4.address': name === 'lan' ? '10.9.8.1/24' : '10.9.7.1/24' },
    });
  const open = { 'restricted.snapshots': 'allow', 'restricted.backups': 'allow', 'restricted.networks.access': 'lan' };
  await makeProject(admin, mine, { restricted: 'true', ...open });
  await makeProject(admin, theirs, { 'user.secret': 'of-theirs' });
  await makeContainerIn(admin, mine, 'own');
  await makeContainerIn(admin, theirs, 'own');
  await makeContainerIn(admin, theirs, 'victim', {
    config: { 'user.secret': 'of-victim' },
    devices: { eth0: { type: 'nic', network: 'lan', 'ipv4.address': '10.9.8.77', hwaddr: '00:16:3e:11:22:33' } },
  });
  await makeContainerIn(admin, 'default', 'base');
  await must('POST', `/1.0/containers/victim/snapshots?project=${theirs}`, { name: 'snap' });
  await must('POST', `/1.0/containers/victim/backups?project=${theirs}`, { name: 'back' });
  await must('POST', `/1.0/profiles?project=${theirs}`, { name: 'hidden', config: { 'user.secret': 'of-profile' } });
  await must('POST', `/1.0/storage-pools/default/volumes/custom?project=${theirs}`, { name: 'vol' });
  await must('POST', `/1.0/storage-pools/default/volumes/custom?project=${mine}`, { name: 'data' });
  await must('POST', `/1.0/storage-pools/default/volumes/custom/vol/snapshots?project=${theirs}`, { name: 'vsnap' });
  await must('POST', `/1.0/storage-pools/default/volumes/custom/vol/backups?project=${theirs}`, { name: 'back' });
  const fingerprint = await upload(admin);
  await must('POST', `/1.0/images/aliases?project=${theirs}`, { name: 'img', target: fingerprint });
  const trust = async (projects: readonly string[] | undefined): Promise<ClientCertificate> => {
    const made = await makeClient();
    const certificate = made.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    const restriction = projects === undefined ? {} : { restricted: true, projects };
    await must('POST', '/1.0/certificates', { type: 'client', name: 'tenant', certificate, ...restriction });
    return made;
  };
  const client = await trust([mine]);
  const other = await trust([theirs]);
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  return {
    admin,
    client,
    fingerprint,
    otherFingerprint: other.fingerprint,
    tenant: (method, path, body, headers = {}) =>
      callTls(admin.daemon.httpsAddress() ?? '', method, path, body, { client, headers, agent }),
    world: () => worldOf(admin),
    others: async () => {
      const lines = (await worldOf(admin)).split('\n').filter((line) => !line.includes(`?project=${mine}`));
      return lines.map((line) => line.replace(/,$/, '')).join('\n');
    },
    cleanUp: async () => {
      agent.destroy();
      await admin.cleanUp();
    },
  };
}

async function upload(admin: TestDaemon): Promise<string> {
  const tar = imageTar();
  const answer = await admin.call('POST', `/1.0/images?project=${theirs}`, tar, {
    'content-type': 'application/octet-stream',
  });
  if (answer.status !== 202) throw new Error(`the upload answered ${answer.status}: ${answer.bytes.toString()}`);
  const ended = await admin.wait(answer.body.operation as string);
  return (ended.metadata as { fingerprint: string }).fingerprint;
}

/** No two are equal. */
export function imageTar(): Buffer {
  return tarOf({ ...metadataFile, content: `${goodMetadata}# ${randomBytes(8).toString('hex')}\n` }, rootfsDirectory);
}

const lists = [
  'containers?recursion=2&',
  'profiles?recursion=1&',
  'images?recursion=1&',
  'images/aliases?recursion=1&',
  'storage-pools/default/volumes?recursion=1&',
  'containers/own/snapshots?recursion=1&',
];
const theirLists = [
  'containers/victim/snapshots?recursion=1&',
  'containers/victim/backups?recursion=1&',
  'containers/victim/logs?',
  'containers/victim/metadata?',
  'storage-pools/default/volumes/custom/vol/snapshots?recursion=1&',
  'storage-pools/default/volumes/custom/vol/backups?recursion=1&',
];
const global = [
  '',
  '/certificates?recursion=1',
  '/networks?recursion=1',
  '/storage-pools?recursion=1',
  '/projects?recursion=1',
];

async function worldOf(admin: TestDaemon): Promise<string> {
  const read: [string, Json][] = [];
  for (const project of [theirs, 'default'])
    for (const list of [...lists, ...(project === theirs ? theirLists : [])]) {
      const path = `/1.0/${list}project=${project}`;
      const answer = await admin.call('GET', path);
      read.push([path, answer.metadata ?? answer.bytes.toString()]);
    }
  for (const path of global) read.push([path, (await admin.call('GET', `/1.0${path}`)).metadata]);
  return JSON.stringify(read, (key, value: Json) => (changing.has(key) ? undefined : value), 1);
}

/** Figures that change by themselves, and the tenant's own objects. */
const changing = new Set(['last_used_at', 'event_loop', 'longest_hold_ms', 'holds']);
