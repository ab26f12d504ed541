// gantryd store: moves the records of a stopped host into an etcd, writes them to a file, takes them from a file.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type HostTask, runHostCommand } from '../host-command.ts';
import { makeDirectories } from '../state-directories.ts';
import { type EtcdChoice, readStoreFlags, storeFlagOptions } from './store-choice.ts';
import { backUp, migrate, restore, type StoreTask } from './store-tasks.ts';

export const storeUsage = `Usage: gantryd store migrate --state-dir DIR --to etcd://HOST:PORT[,...][/NAME] [--store-ca FILE ...]
       gantryd store backup --state-dir DIR FILE [--store ...]
       gantryd store restore --state-dir DIR FILE [--replace] [--store ...]

migrate ends a running daemon, copies every record into an empty store and makes it the store of this host. Containers run on.
restore needs a stopped daemon, and --replace when there are records. --store and its flags are those of gantryd.
`;

export const runStoreCommand = (argv: readonly string[]): Promise<number> =>
  runHostCommand({ name: 'store', usage: storeUsage, argv }, readTask);

function readTask(args: string[]): HostTask | string {
  const options = {
    'state-dir': { type: 'string' },
    to: { type: 'string' },
    replace: { type: 'boolean', default: false },
    ...storeFlagOptions,
  } as const;
  const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals: true });
  const [verb, file, ...more] = positionals;
  const dir = values['state-dir'];
  if (dir === undefined) return '--state-dir is required';
  if (more.length > 0) return `${more.join(' ')} is not understood`;
  if (values.replace && verb !== 'restore') return '--replace belongs to restore';
  const stateDir = resolve(dir);
  const say = (text: string): void => void process.stderr.write(`gantryd store: ${text}\n`);
  const runOn = (etcd: EtcdChoice | undefined, work: (task: StoreTask) => Promise<string>) => async () => ({
    text: await work({ stateDir, databaseDir: (await makeDirectories(stateDir)).database, etcd, say }),
  });
  if (verb === 'migrate') {
    if (values.store !== undefined) return 'migrate takes --to, not --store';
    if (file !== undefined) return `${file} is not understood`;
    const to = readStoreFlags({ ...values, store: values.to });
    if (to === undefined) return '--to is required';
    return { verb, run: runOn(to, migrate) };
  }
  if (values.to !== undefined) return '--to belongs to migrate';
  const etcd = readStoreFlags(values);
  if (verb !== 'backup' && verb !== 'restore') return 'migrate, backup or restore is required';
  if (file === undefined) return `${verb} needs a FILE`;
  const path = join(resolve(file));
  if (verb === 'backup') return { verb, run: runOn(etcd, (task) => backUp(task, path)) };
  return { verb, run: runOn(etcd, (task) => restore(task, path, values.replace)) };
}
