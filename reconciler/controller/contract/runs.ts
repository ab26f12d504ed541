// Runs, operations, log lines and previews of plans.
import { Type, type Static } from 'typebox';
import { Count, says, Text, Texts, Time, when, type Shape } from './shape.ts';
import { Difference, Effect } from './status.ts';

export const ChangeCounts = Type.Object({ create: Count, update: Count, delete: Count });
export const runOutcomes = ['running', 'done', 'failed', 'partial', 'cancelled', 'rolled-back'] as const;
export const RunRecord = Type.Object({
  id: Text,
  at: Time,
  endedAt: Type.Optional(Time),
  revision: Text,
  previousRevision: Type.Optional(Text),
  by: Text,
  reason: says('commit, drift, sync, rollback, resume ... with the words of who asked for it.'),
  outcome: Type.Enum(runOutcomes),
  hosts: Texts,
  changes: ChangeCounts,
  message: Type.Optional(Text),
  tries: Type.Optional(Type.Integer({ minimum: 2, description: 'So many tries failed alike; absent: one.' })),
  since: Type.Optional(when('The first of these tries.')),
  isKept: Type.Optional(Type.Boolean({ description: 'The set can go back to its revision; absent: it cannot.' })),
});
export type RunRecord = Shape<typeof RunRecord>;

export const operationKinds = ['sync', 'heal', 'rollback', 'resync'] as const;
export const Operation = Type.Object({
  id: says('The id of its run in the history.'),
  set: Text,
  kind: Type.Enum(operationKinds),
  status: Type.Enum(['waiting', 'running', 'done', 'failed', 'cancelled']),
  startedAt: Time,
  endedAt: Type.Optional(Time),
  revision: Type.Optional(Text),
  by: Text,
  message: Type.Optional(Text),
  hosts: Type.Array(
    Type.Object({
      host: Text,
      status: Type.Enum(['waiting', 'running', 'done', 'failed', 'skipped']),
      steps: Type.Object({ total: Count, done: Count, failed: Count }),
      current: Type.Array(Text, { description: 'Running steps: `container/web1#create`.' }),
      message: Type.Optional(Text),
    }),
  ),
});
export type Operation = Shape<typeof Operation>;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export const LogLevel = Type.Enum(logLevels);
export type LogLevel = Static<typeof LogLevel>;
export const LogLine = Type.Object({
  at: Time,
  level: LogLevel,
  message: Text,
  set: Type.Optional(Text),
  host: Type.Optional(Text),
  source: Type.Optional(Text),
});
export type LogLine = Shape<typeof LogLine>;

export const PreviewChange = Type.Object({
  address: Text,
  kind: Text,
  name: Text,
  action: Type.Enum(['create', 'update', 'replace', 'delete', 'no-op']),
  power: Type.Optional(Type.Enum(['start', 'stop', 'restart'])),
  effect: Effect,
  reasons: Texts,
  guard: Type.Optional(says('Why it would be refused.')),
  differences: Type.Array(Difference),
});
export type PreviewChange = Shape<typeof PreviewChange>;

export const Preview = Type.Object({
  revision: Text,
  problems: Type.Array(Type.Object({ message: Text, place: Type.Optional(says('file:line:column')) })),
  hosts: Type.Array(
    Type.Object({
      host: Text,
      error: Type.Optional(Text),
      changes: ChangeCounts,
      restarts: Count,
      objects: Type.Array(PreviewChange, { description: 'Without unchanged ones.' }),
    }),
  ),
});
export type Preview = Shape<typeof Preview>;
