// Projects of a test daemon, ready for containers.
import type { Operation } from '../../../server/api/operation.ts';
import { emptySource, type TestDaemon } from './daemon.ts';

const root = { type: 'disk', path: '/', pool: 'default' };

/** Creates a project; if it has its own profiles, `default` gets a root disk. Returns its path. */
export async function makeProject(
  daemon: Pick<TestDaemon, 'call'>,
  name: string,
  config: Readonly<Record<string, string>> = {},
  devices: object = {},
): Promise<string> {
  const made = await daemon.call('POST', '/1.0/projects', { name, config });
  if (made.status >= 300) throw new Error(`making the project ${name} failed: ${made.bytes.toString()}`);
  if (config['features.profiles'] !== 'false') {
    const put = await daemon.call('PUT', `/1.0/profiles/default?project=${name}`, { devices: { root, ...devices } });
    if (put.status >= 300) throw new Error(`changing the profile default of ${name} failed: ${put.bytes.toString()}`);
  }
  return `/1.0/projects/${name}`;
}

/** Without files. */
export const makeContainerIn = (
  daemon: Pick<TestDaemon, 'ok'>,
  project: string,
  name: string,
  more: object = {},
): Promise<Operation> =>
  daemon.ok('POST', `/1.0/containers?project=${project}`, { name, source: emptySource, ...more });
