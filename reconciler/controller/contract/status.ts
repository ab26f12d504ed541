// Sources, hosts, sets and objects as the controller sees them.
import { Type, type Static } from 'typebox';
import { Count, says, Text, Texts, Time, when, type Shape } from './shape.ts';

export const Mode = Type.Enum(['heal', 'report', 'ignore'], { description: 'The answer to a difference.' });
export type Mode = Static<typeof Mode>;

export const setStatuses = ['synced', 'drifted', 'syncing', 'failed', 'waiting', 'suspended', 'unknown'] as const;
export const SetStatusName = Type.Enum(setStatuses, { description: 'The worst of its hosts.' });
export type SetStatusName = Static<typeof SetStatusName>;

export const objectStatuses = [
  'synced',
  'drifted',
  'syncing',
  'failed',
  'waiting',
  'suspended',
  'missing',
  'undeclared',
  'unknown',
] as const;
export const ObjectStatusName = Type.Enum(objectStatuses);
export type ObjectStatusName = Static<typeof ObjectStatusName>;

export const ControllerStatus = Type.Object({
  name: Text,
  version: Text,
  startedAt: Time,
  isActive: Type.Boolean({ description: 'False: another controller holds the lock of the sets, and this one waits.' }),
  holder: Type.Optional(says('The active controller.')),
  config: Type.Optional(
    Type.Object({
      readAt: when('When gantry.yaml and the hosts file in use were taken.'),
      problems: Type.Array(Text, { description: 'Why newer contents of these files are not in use.' }),
    }),
  ),
});
export type ControllerStatus = Shape<typeof ControllerStatus>;

export const sourceKinds = ['git', 'directory', 'archive', 'oci', 'bucket'] as const;
export const SourceStatus = Type.Object({
  name: Text,
  kind: Type.Enum(sourceKinds),
  url: says('Without credentials.'),
  revision: Type.Optional(says('The revision that sets take: a commit, a digest.')),
  message: Type.Optional(says('First line of the commit message.')),
  by: Type.Optional(says('Author of the revision.')),
  checkedAt: Type.Optional(when('When the source last answered.')),
  verified: Type.Optional(says('The key whose signature was verified; absent: no signature is asked for.')),
  error: Type.Optional(says('Why the last check failed; the last good revision stays in use.')),
});
export type SourceStatus = Shape<typeof SourceStatus>;

export const HostCapacity = Type.Object(
  { cpus: Count, memoryBytes: Count, memoryUsedBytes: Count },
  { description: 'Read every five minutes; absent: the host does not tell.' },
);
export type HostCapacity = Shape<typeof HostCapacity>;
export const HostWarning = Type.Object({
  severity: says('low, moderate or high.'),
  message: Text,
  about: Type.Optional(says('The object; absent: the host itself.')),
  count: Count,
  lastSeenAt: Text,
});
export type HostWarning = Shape<typeof HostWarning>;

export const hostStatuses = ['online', 'offline', 'unknown'] as const;
export const HostStatus = Type.Object({
  name: Text,
  labels: Type.Record(Text, Text),
  status: Type.Enum(hostStatuses),
  message: Type.Optional(says('Why it is offline.')),
  capacity: Type.Optional(HostCapacity),
  warnings: Type.Optional(
    Type.Array(HostWarning, {
      description: 'Unacknowledged warnings of the host: the first 20, the worst first.',
    }),
  ),
});
export type HostStatus = Shape<typeof HostStatus>;

export const ObjectCounts = Type.Object({
  total: Count,
  synced: Count,
  drifted: Count,
  failed: Count,
  undeclared: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Objects of the host that no manifest declares, not part of total.' }),
  ),
});
export type ObjectCounts = Shape<typeof ObjectCounts>;

export const SetHostStatus = Type.Object({
  host: Text,
  status: SetStatusName,
  appliedRevision: Type.Optional(Text),
  lastSyncAt: Type.Optional(Time),
  error: Type.Optional(Text),
  objects: ObjectCounts,
});
export type SetHostStatus = Shape<typeof SetHostStatus>;

export const Suspension = Type.Object({
  id: Text,
  set: Text,
  host: Type.Optional(says('Absent: on all hosts.')),
  address: Type.Optional(says('Absent: the whole set.')),
  path: Type.Optional(says('One field of the object; absent: the whole object.')),
  reason: Text,
  by: Text,
  since: Time,
  until: Type.Optional(when('When it ends by itself.')),
});
export type Suspension = Shape<typeof Suspension>;

export const PruneGate = Type.Object(
  {
    revision: says('The revision that no longer declares them; an approval is for it alone.'),
    hosts: Type.Array(
      Type.Object({ host: Text, count: Count, objects: Type.Array(Text, { description: 'The first 50 addresses.' }) }),
    ),
  },
  { description: 'Objects that are deleted after an approval only: they are more than prune.max.' },
);
export type PruneGate = Shape<typeof PruneGate>;

export const ApprovalGate = Type.Object(
  {
    plan: says('An opaque id for these steps; it changes with the steps.'),
    revision: says('The revision that brings them; an approval is for it alone.'),
    hosts: Type.Array(
      Type.Object({ host: Text, count: Count, steps: Type.Array(Text, { description: 'The first 50.' }) }),
    ),
  },
  { description: 'Plans that wait until a second person approves them.' },
);
export type ApprovalGate = Shape<typeof ApprovalGate>;

export const ApprovalStatus = Type.Object({
  id: Text,
  revision: Text,
  by: Text,
  reason: Text,
  at: Time,
  until: when('When it ends by itself.'),
  hosts: Type.Optional(Type.Array(Text, { description: 'Absent: all hosts of the set.' })),
});
export type ApprovalStatus = Shape<typeof ApprovalStatus>;

export const SetStatus = Type.Object({
  name: Text,
  source: Text,
  path: Type.Optional(says('Folder in the source.')),
  mode: Mode,
  status: SetStatusName,
  revision: Type.Optional(says('The revision that its hosts should have.')),
  message: Type.Optional(says('Why it has that status.')),
  problems: Type.Array(Text, { description: 'Errors of the newest manifests: they are not applied.' }),
  hosts: Type.Array(SetHostStatus),
  suspensions: Type.Array(Suspension),
  nextWindow: Type.Optional(when('When changes are next allowed; absent: now.')),
  dependsOn: Texts,
  pruneGate: Type.Optional(PruneGate),
  approvalGate: Type.Optional(ApprovalGate),
  approvals: Type.Optional(Type.Array(ApprovalStatus, { description: 'Those that hold now.' })),
});
export type SetStatus = Shape<typeof SetStatus>;

export const Overview = Type.Object({
  controller: ControllerStatus,
  sources: Type.Array(SourceStatus),
  hosts: Type.Array(HostStatus),
  sets: Type.Array(SetStatus),
});
export type Overview = Shape<typeof Overview>;

export const ObjectSummary = Type.Object({
  host: Text,
  address: says('kind/name, kind/name@project.'),
  kind: Text,
  name: Text,
  project: Type.Optional(Text),
  status: ObjectStatusName,
  dependsOn: Type.Array(Text, { description: 'Addresses on the same host.' }),
  message: Type.Optional(Text),
});
export type ObjectSummary = Shape<typeof ObjectSummary>;

export const ObjectPage = Type.Object({
  objects: Type.Array(ObjectSummary, { description: 'By host, then by address.' }),
  total: Type.Integer({ minimum: 0, description: 'How many match, on all pages.' }),
  next: Type.Optional(says('`after` of the next page; absent: this is the last one.')),
});
export type ObjectPage = Shape<typeof ObjectPage>;

export const Effect = Type.Enum(['live', 'restart', 'recreate'], { description: 'On a running container.' });
export const Difference = Type.Object({
  path: says('`config.limits.memory`; empty: the object as a whole.'),
  desired: Type.Optional(Type.Unknown({ description: 'Absent: it must be absent.' })),
  live: Type.Optional(Type.Unknown({ description: 'Absent: it is absent.' })),
  effect: Effect,
  isSecret: Type.Boolean({ description: 'Its values are masked.' }),
});
export type Difference = Shape<typeof Difference>;

export const ObjectChange = Type.Object({
  at: Time,
  revision: Type.Optional(Text),
  action: Type.Enum(['create', 'update', 'replace', 'delete', 'start', 'stop', 'restart']),
  by: Text,
  reason: Type.Optional(Text),
  message: Type.Optional(says('Why it failed.')),
});
export type ObjectChange = Shape<typeof ObjectChange>;

export const ObjectDetail = Type.Object({
  summary: ObjectSummary,
  desired: Type.Optional(Type.Record(Text, Type.Unknown(), { description: 'The document, secrets masked.' })),
  live: Type.Optional(Type.Record(Text, Type.Unknown(), { description: 'The live object, secrets masked.' })),
  differences: Type.Array(Difference),
  suspensions: Type.Array(Suspension),
  history: Type.Array(ObjectChange, { description: 'Newest first.' }),
  isHistoryCut: Type.Optional(Type.Boolean({ description: 'What happened to the object before is not kept.' })),
});
export type ObjectDetail = Shape<typeof ObjectDetail>;

export const DriftRecord = Type.Object({
  id: Text,
  at: Time,
  host: Text,
  address: Text,
  paths: Texts,
  by: Type.Optional(says('Who changed it, as the events of the host say.')),
  action: Type.Enum(['healed', 'healing', 'reported', 'ignored', 'suspended', 'failed']),
  healedAt: Type.Optional(Time),
  message: Type.Optional(Text),
});
export type DriftRecord = Shape<typeof DriftRecord>;
