// Suggests a verb for an unknown word, by its meaning in other tools or by its spelling. Pure.
import { nearestName } from '../../../server/api/text/nearest-word.ts';

/** Verbs of docker, kubectl, lxc and terraform, and our command line for each. A verb of a group follows a blank. */
const elsewhere: Readonly<Record<string, string>> = {
  add: 'launch',
  'api-resources': 'explain',
  attach: 'console',
  auth: 'login',
  bash: 'shell',
  build: 'image publish',
  check: 'validate',
  commit: 'image publish',
  compose: 'import compose',
  config: 'set',
  contexts: 'context list',
  cordon: 'cluster evacuate',
  create: 'launch',
  describe: 'info',
  df: 'get storage_pool',
  drain: 'cluster evacuate',
  enter: 'shell',
  format: 'fmt',
  freeze: 'pause',
  images: 'image list',
  inspect: 'info',
  instances: 'list',
  kill: 'stop --force',
  load: 'image import',
  log: 'logs',
  man: 'docs',
  manpage: 'docs',
  manual: 'docs',
  monitor: 'events',
  namespace: 'get project',
  network: 'get network',
  networks: 'get network',
  nodes: 'cluster list',
  operation: 'events',
  output: 'show',
  pods: 'list',
  port: 'port-forward',
  poweroff: 'stop',
  profile: 'get profile',
  profiles: 'get profile',
  project: 'get project',
  projects: 'get project',
  providers: 'schema',
  proxy: 'port-forward',
  ps: 'list',
  publish: 'image publish',
  pull: 'file pull, or gantry image copy',
  push: 'file push',
  query: 'show',
  reboot: 'restart',
  refresh: 'drift',
  remove: 'delete',
  rename: 'move',
  restore: 'snapshot restore',
  rmi: 'image delete',
  rollout: 'history, or gantry rollback',
  save: 'image export',
  sh: 'shell',
  shutdown: 'stop',
  snapshots: 'snapshot list',
  ssh: 'shell',
  state: 'show',
  stats: 'top',
  storage: 'get storage_pool',
  taint: 'apply --replace KIND/NAME',
  test: 'validate',
  thaw: 'start',
  uncordon: 'cluster restore',
  unfreeze: 'start',
  unpause: 'start',
  volume: 'get storage_volume',
  volumes: 'get storage_volume',
  warning: 'doctor',
  warnings: 'doctor',
  'context select': 'context use',
  'context switch': 'context use',
  'file edit': 'file pull',
  'image info': 'show image/NAME',
  'image show': 'show image/NAME',
  'import docker-compose': 'import compose',
  'import terraform': 'import lxd-terraform',
  'remote switch': 'context use',
  'snapshot info': 'snapshot show',
};

/** Shorter words resemble too many verbs for a useful hint; a group has few. */
const shortest = { ofAll: 4, ofGroup: 3 };

/** ` (did you mean gantry list?)`, or empty text. `group`: the words before it. */
export function verbHint(group: string, word: string, known: readonly string[]): string {
  const head = group === '' ? '' : `${group} `;
  const path = `${head}${word}`;
  const meant = Object.hasOwn(elsewhere, path) ? elsewhere[path] : undefined;
  if (meant !== undefined) return ` (did you mean gantry ${meant}?)`;
  const near =
    word.length < (group === '' ? shortest.ofAll : shortest.ofGroup)
      ? undefined
      : nearestName(word, [...known, ...(group === '' ? Object.keys(elsewhere) : [])]);
  if (near === undefined) return '';
  return ` (did you mean gantry ${known.includes(near) ? `${head}${near}` : (elsewhere[near] ?? near)}?)`;
}
