// Deletes whatever a test made on a simulated daemon, so that the next test of the file can use the daemon as if it were new: a tenth
// of the work of a start.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { makeDaemon, type Json, type TestDaemon, type TestDaemonOptions } from './daemon.ts';

/** Gives each test of a file or block its daemon, before its own hooks: an empty one that the tests share. Called at its top. */
export function useDaemon(give: (daemon: TestDaemon) => void, options: TestDaemonOptions = {}): void {
  const daemons = sharedDaemons(options);
  beforeEach(async () => (await daemons(1)).forEach(give));
}

/** Daemons that the tests of a file share; each is empty when a test gets it. Called once at the top of the file. */
export function sharedDaemons(options: TestDaemonOptions = {}): (count: number) => Promise<readonly TestDaemon[]> {
  const started: TestDaemon[] = [];
  let used = 0;
  afterEach(async () => {
    for (const daemon of started.slice(0, used)) await emptied(daemon);
    used = 0;
  });
  afterAll(async () => {
    for (const daemon of started) await daemon.cleanUp();
  });
  return async (count) => {
    while (started.length < count) started.push(await makeDaemon(options));
    used = count;
    return started.slice(0, count);
  };
}

async function emptied(daemon: TestDaemon): Promise<void> {
  const list = async (path: string): Promise<readonly string[]> => (await daemon.get(path)) as string[];
  const drop = async (url: string): Promise<void> => {
    const { status, body, bytes } = await daemon.call('DELETE', url);
    if (typeof body?.operation === 'string') await daemon.wait(body.operation);
    else if (status >= 300 && status !== 404) throw new Error(`DELETE ${url} answered ${status}: ${bytes.toString()}`);
  };
  const projects = ((await daemon.get('/1.0/projects?recursion=1')) as Json[]).map(({ name }) => name as string);
  const inProjects = async (path: string): Promise<readonly string[]> =>
    (await Promise.all(projects.map((name) => list(`${path}?project=${name}`)))).flat();
  for (const url of await inProjects('/1.0/containers')) {
    const { config } = (await daemon.get(url)) as { config: Readonly<Record<string, string>> };
    if (config['security.protection.delete'] !== undefined)
      await daemon.call('PATCH', url, { config: { 'security.protection.delete': '' } });
    await daemon.run('PUT', url.replace(/(\?|$)/, '/state$1'), { action: 'stop', force: true });
    await drop(url);
  }
  const isOther = (url: string): boolean => !/\/profiles\/default(\?|$)/.test(url);
  const profiles = new Set(await inProjects('/1.0/profiles'));
  for (const url of profiles) await (isOther(url) ? drop(url) : daemon.call('PUT', url, {}));
  for (const url of new Set(await inProjects('/1.0/images'))) await drop(url);
  for (const pool of await list('/1.0/storage-pools')) {
    for (const url of new Set(await inProjects(`${pool}/volumes/custom`))) await drop(url);
    await drop(pool);
  }
  const networks = (await daemon.get('/1.0/networks?recursion=1')) as Json[];
  for (const { name, managed } of networks) if (managed === true) await drop(`/1.0/networks/${name}`);
  for (const url of await list('/1.0/network-acls')) await drop(url);
  for (const name of projects) if (name !== 'default') await drop(`/1.0/projects/${name}`);
  for (const url of await list('/1.0/certificates')) await drop(url);
  await daemon.call('PUT', '/1.0', { config: {} });
  daemon.logged.length = 0;
}
