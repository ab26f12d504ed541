// Manual work on the containers of a host: figures, power, snapshots, files.
import { Type, type Static } from 'typebox';
import { Count, says, Text, Texts, Time, type Shape } from './shape.ts';
import { object } from './words.ts';

const project = Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'Absent: that of the host.' }));
const reason = Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'For the audit log.' }));

export const ContainerFigures = Type.Object({
  cpuNs: Type.Integer({ minimum: 0, description: 'Processor time since the start, in nanoseconds.' }),
  memoryBytes: Count,
  memoryPeakBytes: Count,
  diskBytes: Type.Optional(Count),
  receivedBytes: Type.Integer({ minimum: 0, description: 'On all interfaces but the loopback.' }),
  sentBytes: Count,
  processes: Count,
});
export type ContainerFigures = Shape<typeof ContainerFigures>;

export const ContainerSnapshot = Type.Object({
  name: Text,
  createdAt: Text,
  description: Type.Optional(Text),
  isStateful: Type.Boolean(),
});
export type ContainerSnapshot = Shape<typeof ContainerSnapshot>;

export const ContainerView = Type.Object({
  name: Text,
  project: Type.Optional(Text),
  status: says('Running, Stopped, Frozen, Error ... as the host says.'),
  description: Type.Optional(Text),
  addresses: Texts,
  profiles: Texts,
  figures: Type.Optional(ContainerFigures),
  snapshots: Type.Array(ContainerSnapshot),
});
export type ContainerView = Shape<typeof ContainerView>;

export const ContainerList = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When the figures were read: two answers give rates.' }),
  containers: Type.Array(ContainerView),
});
export type ContainerList = Shape<typeof ContainerList>;

export const powerActions = ['start', 'stop', 'restart', 'freeze', 'unfreeze'] as const;
export type PowerAction = (typeof powerActions)[number];
export const PowerRequest = object({
  action: Type.Enum(powerActions),
  force: Type.Optional(Type.Boolean({ description: 'Kill its processes instead of asking them to end.' })),
  project,
  reason,
});
export type PowerRequest = Shape<typeof PowerRequest>;

export const snapshotActions = ['take', 'restore', 'delete'] as const;
export const SnapshotRequest = object({
  action: Type.Enum(snapshotActions),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Absent: the host names a new one.' })),
  project,
  reason,
});
export type SnapshotRequest = Shape<typeof SnapshotRequest>;

export const fileTypes = ['file', 'directory', 'symlink', 'other'] as const;
const FileFacts = {
  type: Type.Enum(fileTypes),
  sizeBytes: Type.Optional(Count),
  target: Type.Optional(says('Of a symbolic link.')),
  mode: Type.Optional(says('Permission bits, octal.')),
  uid: Type.Optional(Type.Integer()),
  gid: Type.Optional(Type.Integer()),
};
export const FileRow = Type.Object({ name: Text, ...FileFacts });
export type FileRow = Shape<typeof FileRow>;
export const FileView = Type.Object({
  path: Text,
  ...FileFacts,
  entries: Type.Optional(Type.Array(FileRow, { description: 'Of a directory, by name.' })),
  isCut: Type.Optional(Type.Boolean({ description: 'There are more entries than are shown.' })),
});
export type FileView = Shape<typeof FileView>;

export const Done = Type.Object({ at: Time });
export type Done = Static<typeof Done>;
