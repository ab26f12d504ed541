// Plays with the modules of Ansible's community.general; each task declares whether it must change something.
export interface Task {
  readonly module: 'lxd_container' | 'lxd_profile' | 'lxd_project';
  readonly args: Readonly<Record<string, unknown>>;
  readonly changes: boolean;
  /** The expected message of a task that must fail. */
  readonly fails?: string;
}

/** Runs as `ansible-playbook PLAY`. `connection`: where the server is, and with which key. */
export function playOf(tasks: readonly Task[], connection: Readonly<Record<string, unknown>>): string {
  const steps = tasks.map(({ module, args, fails }) => ({
    [`community.general.${module}`]: { ...connection, ...args },
    ignore_errors: fails !== undefined,
  }));
  const vars = { ansible_python_interpreter: '/usr/bin/python3' };
  return JSON.stringify([{ hosts: 'localhost', connection: 'local', gather_facts: false, vars, tasks: steps }]);
}

interface TaskResult {
  readonly changed: boolean;
  readonly failed?: boolean;
  readonly msg?: string;
}

/** Parses the output of Ansible's callback `json`, one result per task. */
export function resultsOf(stdout: string): readonly TaskResult[] {
  const { plays } = JSON.parse(stdout) as { plays: { tasks: { hosts: { localhost: TaskResult } }[] }[] };
  return plays.flatMap(({ tasks }) => tasks.map(({ hosts }) => hosts.localhost));
}

const twice = (module: Task['module'], args: Task['args']): readonly Task[] => [
  { module, args, changes: true },
  { module, args, changes: false },
];

const absent = (module: Task['module'], name: string, more: object = {}): readonly Task[] =>
  twice(module, { name, state: 'absent', ...more });

/** Create, again, change, rename or merge, remove, remove again; in the order in which they run. */
export const ansiblePlays = (name: string): Readonly<Record<string, readonly Task[]>> => ({
  lxd_project: [
    {
      module: 'lxd_project',
      args: { name: 'team', description: 'first', config: { 'features.images': 'false' } },
      changes: true,
    },
    {
      module: 'lxd_project',
      args: { name: 'team', description: 'second', config: { 'user.a': '1' }, merge_project: true },
      changes: true,
    },
    { module: 'lxd_project', args: { name: 'team', description: 'second' }, changes: false },
    { module: 'lxd_project', args: { name: 'team', new_name: name }, changes: true },
    {
      module: 'lxd_container',
      args: {
        name,
        project: name,
        state: 'stopped',
        source: { type: 'none' },
        devices: { root: { type: 'disk', path: '/', pool: 'default' } },
      },
      changes: true,
    },
    { module: 'lxd_project', args: { name, state: 'absent' }, changes: false, fails: 'not empty|in use' },
    ...absent('lxd_container', name, { project: name }),
    ...absent('lxd_project', name),
  ],
  lxd_profile: [
    ...twice('lxd_profile', { name: 'p', config: { 'user.a': '1' }, description: 'first', devices: nic }),
    { module: 'lxd_profile', args: { name: 'p', config: { 'user.b': '3' }, merge_profile: true }, changes: true },
    { module: 'lxd_profile', args: { name: 'p', config: { 'user.a': '1', 'user.b': '3' } }, changes: false },
    { module: 'lxd_profile', args: { name: 'p', new_name: name }, changes: true },
    {
      module: 'lxd_profile',
      args: { name, config: { 'limits.memory': 'much' } },
      changes: false,
      fails: 'limits.memory',
    },
    ...absent('lxd_profile', name),
  ],
  lxd_container: containerTasks(name),
  virtual_machine: [
    {
      module: 'lxd_container',
      args: { name, type: 'virtual-machine', source: { type: 'image', alias: 'bb' } },
      changes: false,
      fails: 'virtual-machines',
    },
  ],
});

const nic = { eth0: { type: 'nic', nictype: 'p2p' } };

function containerTasks(name: string): readonly Task[] {
  const source = { type: 'image', mode: 'local', alias: 'bb' };
  const args = { name, source, timeout: 60, profiles: ['default'], config: { 'user.a': '1' } };
  const on = (more: object, changes: boolean): Task => ({
    module: 'lxd_container',
    args: { ...args, ...more },
    changes,
  });
  return [
    ...twice('lxd_container', { ...args, state: 'started' }),
    on({ state: 'started', config: { 'user.a': '2' }, ignore_volatile_options: true }, true),
    on({ state: 'frozen' }, true),
    on({ state: 'restarted', force_stop: true }, true),
    on({ state: 'stopped', force_stop: true }, true),
    ...absent('lxd_container', name, { force_stop: true }),
  ];
}

/** The config of the inventory plugin. */
export const inventoryOf = (socket: string): string =>
  JSON.stringify({ plugin: 'community.general.lxd', url: `unix:${socket}`, snap_url: 'unix:/none' });
